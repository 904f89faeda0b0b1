"""A fleet read from its Prometheus, and the same fleet read directly: the same tokens, also where pods come and go."""

from __future__ import annotations

import time
from pathlib import Path

from tests.support.side_by_side import two_collectors

LEAST_SECONDS = 60


def test_the_ledger_from_prometheus_is_the_one_from_the_targets(tmp_path: Path) -> None:
    with two_collectors(tmp_path) as pair:
        start_at = pair.begin()
        ends = pair.disturb(start_at)
        end_at = max(int(time.time()), start_at + LEAST_SECONDS)
        found = pair.differences(start_at, end_at)
    assert {(one.endpoint, one.replica): one.edges - 2 for one in found} == ends
    # an interval of Prometheus's lies across two of the direct collector's, and holds at most what both hold
    assert [str(one) for one in found if one.an_edge > 2] == []
