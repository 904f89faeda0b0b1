"""When replicas are scraped: spread, stable, and never in the past."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.rhythm import next_round, offset_seconds
from tierdeck.fleet import ReplicaKey


def test_offsets_are_stable_and_spread_over_the_interval() -> None:
    offsets = [offset_seconds(ReplicaKey("c", "e", f"r{number}"), 15.0) for number in range(300)]
    assert offsets == [offset_seconds(ReplicaKey("c", "e", f"r{number}"), 15.0) for number in range(300)]
    per_second = [sum(int(offset) == second for offset in offsets) for second in range(15)]
    assert min(per_second) > 5  # 20 on average
    assert max(per_second) < 45


@given(st.floats(1.7e9, 1.9e9), st.floats(0, 14.9), st.sampled_from([1.0, 15.0, 60.0]))
def test_the_next_round_lies_within_one_interval(now: float, offset: float, interval: float) -> None:
    at = next_round(now, offset, interval)
    assert now < at <= now + interval
