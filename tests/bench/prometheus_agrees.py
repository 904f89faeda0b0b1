"""Ten minutes of the simulated fleet at speed 10, counted directly and through a Prometheus, beside each other.

Replicas restart and pods are replaced meanwhile; both collectors look every second, as the Prometheus scrapes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.bench import Measure, measure
from tests.support.side_by_side import two_collectors

_SECONDS = 600


def run() -> list[Measure]:
    with tempfile.TemporaryDirectory() as folder, two_collectors(Path(folder)) as pair:
        start_at = pair.begin()
        pair.disturb(start_at)
        # the ten minutes are what is measured: nothing tells earlier that they are over
        time.sleep(max(0.0, start_at + _SECONDS - time.time()))
        found = pair.differences(start_at, start_at + _SECONDS)
    asked, direct = (
        sum(getattr(one, name) for one in found if one.count == "prompt_tokens") for name in ("asked", "direct")
    )
    furthest = max(found, key=lambda one: one.an_edge)
    return [
        measure(f"tokens of {_SECONDS} s at speed 10, through Prometheus", asked, "tokens", peer=("direct", direct)),
        measure(
            f"furthest apart: {furthest.endpoint}/{furthest.replica} {furthest.count}",
            furthest.an_edge,
            "scrape intervals an edge",
            at_most=1,
        ),
    ]
