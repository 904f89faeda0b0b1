"""The common clock of a replay, and the captures that ship with the product."""

from itertools import pairwise
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab.replay import Replay, path_of
from lab.snapshot import FleetFacts, Snapshot, read_snapshot
from tierdeck.errors import UsageError

CAPTURES = Path(__file__).parents[3] / "lab" / "captures"


def snapshot(name: str, *bodies: str) -> Snapshot:
    return Snapshot(name, tuple(range(len(bodies))), {("A", "vllm"): bodies}, FleetFacts())


def test_snapshots_of_different_length_share_one_clock() -> None:
    now = [100.0]
    replay = Replay([snapshot("two", "a", "b"), snapshot("three", "x", "y", "z")], 5, lambda: now[0])
    assert replay.position("two") == (0, 0)
    now[0] = 116.0  # 16 s in: the fourth moment of 5 s, counted from 0: 3 = lap 1, moment 1 of two
    assert replay.position("two") == (1, 1)
    assert replay.position("three") == (1, 0)
    assert replay.answer("two", "A", "vllm") == b"b"
    replay.rewind()
    assert replay.position("three") == (0, 0)


def test_two_directories_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="called same"):
        Replay([snapshot("same", "a"), snapshot("same", "b")], 5)


def test_a_step_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="above 0"):
        Replay([snapshot("a", "a")], 0)


def test_names_are_quoted_in_addresses() -> None:
    assert path_of("my fleet", "a/b", "vllm") == "/my%20fleet/a%2Fb/vllm/metrics"


@pytest.mark.parametrize("name", ["cross-replica", "pressure"])
def test_the_shipped_captures_stay_valid_and_rise_over_three_laps(name: str) -> None:
    capture = read_snapshot(CAPTURES / name)
    now = [0.0]
    replay = Replay([capture], 1, lambda: now[0])
    for owner, source in capture.bodies:
        played = []
        for now[0] in range(3 * len(capture.moments)):
            body = replay.answer(name, owner, source)
            if body is not None:
                played.append(rising(body.decode()))
        assert played
        for before, after in pairwise(played):
            fallen = {series for series in before if after[series] < before[series]}
            assert not fallen, f"{owner} {source}"


def rising(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Counters of a body, by name and labels, as prometheus_client reads them."""
    return {
        (sample.name, tuple(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        if family.type in ("counter", "histogram", "summary")
        for sample in family.samples
    }
