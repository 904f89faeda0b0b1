"""A ratio's change shared out: the parts add up, and say who it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierdeck.alerts.decomposition import Decomposition, Tally, by_member, by_tier


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    tokens = draw(st.integers(0, 10**9))
    l0 = draw(st.integers(0, tokens))
    l2 = draw(st.integers(0, tokens - l0))
    return Tally(tokens, {"L0": l0, "L2": l2})


sides = st.dictionaries(st.sampled_from("abcdef"), tallies(), max_size=6)


@settings(deadline=None)
@given(sides, sides)
def test_parts_add_up_to_the_change_whoever_came_or_went(before: dict[str, Tally], after: dict[str, Tally]) -> None:
    found = by_member(before, after), by_tier(before, after)
    totals = [sum(one.tokens for one in side.values()) for side in (before, after)]
    if not all(totals):
        assert found == (None, None)
        return
    hits = [sum(one.hits for one in side.values()) for side in (before, after)]
    for whole in found:
        assert whole is not None
        assert whole.change == pytest.approx(hits[1] / totals[1] - hits[0] / totals[0], abs=1e-9)
        assert sum(part.total for part in whole.parts) == pytest.approx(whole.change, abs=1e-9)


@settings(deadline=None)
@given(sides)
def test_nothing_changes_where_all_is_as_it_was(same: dict[str, Tally]) -> None:
    for whole in (by_member(same, same), by_tier(same, same)):
        assert whole is None or all(abs(part.within) + abs(part.mix) < 1e-12 for part in whole.parts)


@settings(deadline=None)
@given(sides, sides)
def test_backwards_it_is_the_same_with_the_other_sign(before: dict[str, Tally], after: dict[str, Tally]) -> None:
    there, back = by_member(before, after), by_member(after, before)
    if there is None or back is None:
        assert there is back
        return
    for part in there.parts:
        other = back.part(part.name)
        assert (part.within, part.mix) == pytest.approx((-other.within, -other.mix), abs=1e-9)


def tally(tokens: float, share: float) -> Tally:
    return Tally(tokens, {"L0": tokens * share})


def whole(before: dict[str, Tally], after: dict[str, Tally]) -> Decomposition:
    found = by_member(before, after)
    assert found is not None
    return found


def test_one_replica_that_fell_has_all_of_it() -> None:
    before = {name: tally(100, 0.8) for name in "abcd"}
    found = whole(before, {**before, "c": tally(100, 0.2)})
    # 60 points of a quarter of the tokens
    assert found.change == pytest.approx(-0.15)
    assert found.part("c").within == pytest.approx(-0.15)
    assert found.part("a").total == pytest.approx(0.0)


def test_a_cold_newcomer_dilutes_and_the_others_are_not_accused() -> None:
    before = {name: tally(100, 0.78) for name in "abc"}
    after = {name: tally(75, 0.78) for name in "abc"} | {"d": tally(75, 0.3)}
    found = whole(before, after)
    # 0.75 * 0.78 + 0.25 * 0.30 = 0.66
    assert found.change == pytest.approx(-0.12)
    # 0.25 * (0.30 - (0.78 + 0.66) / 2)
    assert found.part("d").mix == pytest.approx(-0.105)
    assert all(found.part(name).within == 0 for name in "abcd")


def test_tokens_that_went_to_a_weaker_replica_are_mix() -> None:
    found = whole({"a": tally(90, 0.9), "b": tally(10, 0.1)}, {"a": tally(10, 0.9), "b": tally(90, 0.1)})
    # from 0.81 + 0.01 to 0.09 + 0.09
    assert found.change == pytest.approx(-0.64)
    assert sum(part.within for part in found.parts) == pytest.approx(0.0)
    assert sum(part.mix for part in found.parts) == pytest.approx(-0.64)


def test_a_tier_that_takes_over_counts_against_the_one_that_lost() -> None:
    before, after = {"a": Tally(100, {"L0": 50, "L2": 10})}, {"a": Tally(100, {"L0": 20, "L2": 25})}
    found = by_tier(before, after)
    assert found is not None
    assert {part.name: round(part.total, 9) for part in found.parts} == {"L0": -0.3, "L2": 0.15}


def test_tokens_are_not_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        Tally(-1.0)
