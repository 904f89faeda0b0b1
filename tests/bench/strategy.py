"""Another strategy for the simulated fleet of a running deck: how soon L0's share has risen by ten points."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.bench import Measure, measure
from tests.support.deck import l0_share, tokens, up
from tests.support.processes import wait_until

_POINTS = 0.10


def run() -> list[Measure]:
    with tempfile.TemporaryDirectory() as folder, up(Path(folder), "--speed", "10", "--history", "0") as (deck, _):
        started = time.monotonic()
        wait_until(lambda: tokens(deck.ask("status")).get("chat", 0) > 0, "tokens", deck.log)
        time.sleep(max(0.0, 30 - (time.monotonic() - started)))  # five minutes, simulated
        before = l0_share(deck, "chat", "5m")
        deck.change("strategy", {"endpoint": "chat", "strategy": "prefixaware"})
        switched = time.monotonic()
        wait_until(lambda: l0_share(deck, "chat", "20s") >= before + _POINTS, "ten points more from L0", deck.log)
        took = time.monotonic() - switched
        after = l0_share(deck, "chat", "20s")
    what = f"L0 share of chat {before:.0%} under roundrobin, {after:.0%} under prefixaware, {_POINTS:.0%} more after"
    return [measure(what, took, "s", at_most=60.0)]
