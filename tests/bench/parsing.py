"""Parsing a 2,000-line vLLM exposition, against prometheus_client's parser, side by side."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from collectors.sources.vllm import VllmSource
from tests.bench import Measure, measure

CAPTURE = Path(__file__).parents[2] / "lab" / "captures" / "pressure" / "A" / "180" / "vllm.txt"
ENGINES = 3
ROUNDS = 15


def exposition(added: int = 0) -> str:
    """The capture with the series of three further engines (2,000 lines), all values raised by `added`."""
    lines = CAPTURE.read_text("utf-8").splitlines()
    while len(lines) < 2000:
        engine = len(lines)
        lines += [line.replace('engine="0"', f'engine="{engine}"') for line in lines[:600] if 'engine="0"' in line]
    text = "\n".join(lines[:2000]) + "\n"
    return (
        re.sub(r" (\d+)\.0$", lambda match: f" {int(match[1]) + added}.0", text, flags=re.MULTILINE) if added else text
    )


def run() -> list[Measure]:
    source = VllmSource()
    source.read(exposition())  # from the second scrape on
    texts = [exposition(added) for added in range(1, ROUNDS + 1)]
    ours, theirs = [], []
    for text in texts:
        ours.append(_seconds(lambda text=text: source.read(text)))  # type: ignore[misc]  # bound per turn
        theirs.append(_seconds(lambda text=text: list(text_string_to_metric_families(text))))  # type: ignore[misc]
    peer = ("prometheus_client.parser", statistics.median(theirs) * 1000)
    value = statistics.median(ours) * 1000
    return [measure("read a 2,000-line exposition, values changed", value, "ms", peer=peer, at_most=1 / 20)]


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started
