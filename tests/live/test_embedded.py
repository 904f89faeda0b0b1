"""LMCache's embedded engine standing alone: its real metrics, and what our source reads of them."""

from __future__ import annotations

import re
import time

import yaml

from collectors.body import interpret
from collectors.sources import BY_KIND
from tests.live.fleet import LiveFleet, text_of
from tierdeck.fleet import SourceKind

PATIENCE_SECONDS = 180.0


def value(text: str, name: str) -> float:
    return sum(float(found) for found in re.findall(rf"^lmcache:{name}{{[^}}]*}} (\S+)$", text, re.MULTILINE))


def test_its_metrics_move_and_are_read(fleet: LiveFleet) -> None:
    (alone,) = yaml.safe_load(fleet.config.read_text())["endpoints"][1]["replicas"]
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        text = text_of(alone["targets"]["lmcache"])
        if value(text, "num_remote_read_bytes_total") > 0:  # L1 is full, and the folder serves
            break
        time.sleep(2)
    assert value(text, "num_requested_tokens_total") >= value(text, "num_hit_tokens_total") > 0
    assert value(text, "num_remote_read_bytes_total") > 0
    assert value(text, "num_remote_write_bytes_total") > 0
    assert value(text, "local_cache_usage") > 0
    reading, reason = interpret(BY_KIND[SourceKind.LMCACHE], text)
    assert reading is not None
    assert reason == ""
