"""The life of an alert."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tierdeck.alerts.alert import Acknowledgement, Alert, AlertState, Severity, Subject
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.life import FLAPPING, LifeLimits, advance, inhibited, is_flapping
from tierdeck.alerts.rule import Rule
from tierdeck.alerts.rules import (
    BY_NAME,
    DECK_STALE,
    HIT_RATIO_DRIFT,
    HIT_RATIO_DROP,
    L2_OUTAGE,
    RULES,
    TIER_DROP,
)

CHAT, POOLS = Subject("east", "chat"), Subject("east", "_pool")
# 120 s of hold, 180 s of looking well: 2 and 3 minutes
RULE = replace(HIT_RATIO_DROP, hold_seconds=120, clear_seconds=180)
STATES = list(AlertState)


def said(is_bad: bool | None, *, clear: bool = False, depth: float | None = None, muted_by: str = "") -> Judgement:
    return Judgement(RULE.name, CHAT, is_bad, clear, depth=depth, words=f"depth {depth}", muted_by=muted_by)


BAD, CLEAR, BETWEEN, UNKNOWN = said(True), said(False, clear=True), said(False), said(None)


def lived(judgements: list[Judgement], rule: Rule = RULE, before: Alert | None = None) -> list[Alert | None]:
    """The alert after each minute's judgement."""
    states: list[Alert | None] = []
    for minute, judgement in enumerate(judgements):
        before = advance(before, judgement, rule, 60.0 * minute)
        states.append(before)
    return states


def last(judgements: list[Judgement], rule: Rule = RULE) -> Alert:
    alert = lived(judgements, rule)[-1]
    assert alert is not None
    return alert


def firing(rule: Rule, at: float, subject: Subject = CHAT, suppressed_by: str = "") -> Alert:
    return Alert(rule.name, subject, AlertState.FIRING, Severity.WARNING, at, at, suppressed_by=suppressed_by)


def test_fires_once_its_condition_has_held() -> None:
    states = [alert.state if alert else None for alert in lived([BAD] * 3)]
    assert states == [AlertState.PENDING, AlertState.PENDING, AlertState.FIRING]
    assert last([BAD] * 3).fired_at == 120.0


def test_without_a_hold_it_fires_at_once() -> None:
    assert last([BAD], replace(RULE, hold_seconds=0)).state is AlertState.FIRING


def test_a_pending_one_whose_condition_no_longer_holds_is_gone() -> None:
    assert lived([BAD, BETWEEN, BAD, BAD])[1:3:1] == [None, lived([BETWEEN, BETWEEN, BAD])[2]]


def test_nothing_begins_and_nothing_ends_while_nothing_is_known() -> None:
    assert lived([UNKNOWN])[0] is None
    assert last([BAD, UNKNOWN, BAD]).state is AlertState.FIRING
    assert last([BAD] * 3 + [CLEAR, *[UNKNOWN] * 30]).state is AlertState.FIRING


def test_a_hold_does_not_span_a_long_time_of_which_nothing_is_known() -> None:
    # pending at 0, unknown for 20 minutes, bad at 1260 s: far beyond 120 + 600 s, so the hold begins again
    assert last([BAD, *[UNKNOWN] * 20, BAD]).pending_at == 1260.0
    assert last([BAD, *[UNKNOWN] * 20, BAD, BAD, BAD]).fired_at == 1380.0


def test_resolves_only_after_looking_well_for_a_while_without_a_break() -> None:
    # well from 180 s; between the limits at 300 s begins it anew; well from 360 s, 180 s of that end at 540 s
    judgements = [*[BAD] * 3, CLEAR, CLEAR, BETWEEN, CLEAR, CLEAR, CLEAR, CLEAR]
    assert last(judgements[:-1]).state is AlertState.FIRING
    assert last(judgements).resolved_at == 540.0


def test_its_depth_is_the_deepest_and_its_words_those_of_the_last_bad_minute() -> None:
    alert = last([said(True, depth=9), said(True, depth=25), said(True, depth=14), said(False, depth=3)])
    assert (alert.depth, alert.words) == (25, "depth 14")


def test_a_resolved_one_is_followed_by_another() -> None:
    done = last([*[BAD] * 3, *[CLEAR] * 4])
    assert advance(done, CLEAR, RULE, 1000.0) is None
    follower = advance(replace(done, id=7), BAD, RULE, 1000.0)
    assert follower is not None
    assert (follower.state, follower.id, follower.flips) == (AlertState.PENDING, 0, done.flips)


def test_what_people_added_stays() -> None:
    alert = replace(last([BAD] * 3), acknowledged=Acknowledgement("ann", 130.0), id=7)
    after = advance(alert, BAD, RULE, 180.0)
    assert after is not None
    assert (after.acknowledged, after.id) == (alert.acknowledged, 7)


def test_a_muted_one_that_outlives_its_mute_is_said() -> None:
    muted = said(True, muted_by="warming")
    assert last([muted] * 10).suppressed_by == "warming"
    assert last([*[muted] * 10, BAD]).suppressed_by == ""


def test_the_fourth_firing_within_an_hour_is_flapping_until_it_is_steady() -> None:
    # each round: 3 minutes bad, 4 well. Fires at 2, 9, 16 and 23 minutes; the fourth is steady at 23 + 30 = 53
    rounds = [*[BAD] * 3, *[CLEAR] * 4]
    judgements = [*rounds * 3, *[BAD] * 40]
    states: list[Alert] = []
    newest: Alert | None = None
    for minute, judgement in enumerate(judgements):
        newest = advance(newest, judgement, RULE, 60.0 * minute) or newest
        assert newest is not None
        states.append(newest)
    assert [alert.suppressed_by for alert in (states[16], states[23], states[52], states[53])] == [
        "",
        FLAPPING,
        FLAPPING,
        "",
    ]


def test_an_outage_silences_the_drops_that_follow_in_its_cluster() -> None:
    elsewhere = firing(HIT_RATIO_DROP, 0.0, Subject("west", "chat"))
    alerts = [firing(HIT_RATIO_DROP, 0.0), firing(L2_OUTAGE, 60.0, Subject("east", "_pool", "kv")), elsewhere]
    assert [alert.suppressed_by for alert in inhibited(alerts, 60.0)] == ["l2_outage", "", ""]


def test_a_stale_deck_silences_everything_and_the_first_of_several_is_named() -> None:
    elsewhere = firing(HIT_RATIO_DROP, 0.0, Subject("west", "chat"))
    alerts = [firing(DECK_STALE, 60.0, Subject("east", "")), firing(HIT_RATIO_DROP, 0.0), firing(L2_OUTAGE, 0.0)]
    assert [alert.suppressed_by for alert in inhibited([*alerts, elsewhere], 60.0)] == [
        "",
        "l2_outage",
        "deck_stale",
        "",
    ], "each cluster has a deck of its own"


def test_an_outage_at_one_endpoint_silences_what_follows_there_alone() -> None:
    other = Subject("east", "rag")
    late = [
        firing(BY_NAME[name], 60.0, whose) for whose in (CHAT, other) for name in ("ttft_burn", "requests_deferred")
    ]
    seen_at_chat, of_the_pool = firing(L2_OUTAGE, 0.0), firing(L2_OUTAGE, 0.0, POOLS)
    quiet = [one.suppressed_by for one in inhibited([seen_at_chat, *late], 60.0)[1:]]
    assert quiet == ["l2_outage", "l2_outage", "requests_deferred", ""], "the other one's own go on"
    assert {one.suppressed_by for one in inhibited([of_the_pool, *late], 60.0)[1:]} == {"l2_outage"}


def test_an_outage_of_the_pool_spares_those_that_do_not_use_it_and_speaks_for_those_that_do() -> None:
    plain = firing(BY_NAME["ttft_burn"], 60.0, Subject("east", "plain"))
    pool = replace(firing(L2_OUTAGE, 120.0, POOLS), spared=("plain",))
    alerts = [firing(L2_OUTAGE, 0.0), pool, plain, firing(BY_NAME["ttft_burn"], 60.0)]
    assert [one.suppressed_by for one in inhibited(alerts, 120.0)] == ["l2_outage", "", "", "l2_outage"]


def test_of_two_that_silence_each_other_the_first_one_speaks() -> None:
    drift_first = [firing(HIT_RATIO_DROP, 120.0), firing(HIT_RATIO_DRIFT, 60.0)]
    drop_first = [firing(HIT_RATIO_DROP, 60.0), firing(HIT_RATIO_DRIFT, 120.0)]
    together = [firing(HIT_RATIO_DROP, 60.0), firing(HIT_RATIO_DRIFT, 60.0)]
    assert [alert.suppressed_by for alert in inhibited(drift_first, 120.0)] == ["hit_ratio_drift", ""]
    for alerts in (drop_first, together):
        assert [alert.suppressed_by for alert in inhibited(alerts, 120.0)] == ["", "hit_ratio_drop"]


def test_what_outlives_the_alert_that_silenced_it_is_said() -> None:
    outage = replace(firing(L2_OUTAGE, 0.0), state=AlertState.RESOLVED, resolved_at=600.0)
    drop = firing(HIT_RATIO_DROP, 60.0, suppressed_by="l2_outage")
    assert inhibited([outage, drop], 1499.0)[1].suppressed_by == "l2_outage"
    assert inhibited([outage, drop], 1500.0)[1].suppressed_by == ""
    assert inhibited([drop], 660.0)[0].suppressed_by == ""


def test_a_mute_is_not_taken_back_by_inhibition() -> None:
    assert inhibited([firing(HIT_RATIO_DROP, 0.0, suppressed_by="warming")], 60.0)[0].suppressed_by == "warming"


def test_what_flaps_silences_nothing() -> None:
    loud = firing(BY_NAME["hit_ratio_floor"], 0.0)
    quiet = firing(BY_NAME["hit_ratio_drop"], 0.0, suppressed_by="flapping")
    assert [one.suppressed_by for one in inhibited([quiet, loud], 60.0)] == ["flapping", ""]


def test_pending_ones_silence_nothing() -> None:
    pending = replace(firing(HIT_RATIO_DROP, 0.0), state=AlertState.PENDING, fired_at=None)
    assert inhibited([pending, firing(TIER_DROP, 60.0)], 60.0)[1].suppressed_by == ""


def test_no_chain_of_rules_comes_back_to_where_it_began_but_for_pairs() -> None:
    """Else all of a ring would be silent."""
    one_way = {rule.name: [name for name in rule.inhibits if rule.name not in BY_NAME[name].inhibits] for rule in RULES}

    def reached(name: str, seen: frozenset[str]) -> frozenset[str]:
        for other in one_way[name]:
            if other not in seen:
                seen = reached(other, seen | {other})
        return seen

    assert not [name for name in one_way if name in reached(name, frozenset())]


ANY = st.lists(
    st.builds(
        said,
        st.sampled_from([True, False, None]),
        depth=st.none() | st.floats(0, 100),
        muted_by=st.sampled_from(["", "", "warming"]),
    ).flatmap(lambda one: st.sampled_from([one, replace(one, is_clear=one.is_bad is False)])),
    max_size=90,
)


@given(ANY)
def test_a_life_never_goes_back(judgements: list[Judgement]) -> None:
    newest: Alert | None = None
    for minute, judgement in enumerate(judgements):
        before, now = newest, 60.0 * minute
        after = advance(newest, judgement, RULE, now)
        if before is not None and before.is_open and after is not None:
            assert STATES.index(after.state) >= STATES.index(before.state)
            assert after.depth is None or before.depth is None or after.depth >= before.depth or after.fired_at is None
        if before is not None and before.state is AlertState.FIRING:
            assert after is not None
            assert after.fired_at == before.fired_at
        if after is not None:
            assert after.pending_at <= (after.fired_at or now) <= (after.resolved_at or now) <= now
            assert (after.resolved_at is None) == after.is_open
        newest = after or (before if before is not None and not before.is_open else None)


@given(ANY)
def test_the_same_judgements_make_the_same_life(judgements: list[Judgement]) -> None:
    assert lived(judgements) == lived(judgements)


@given(ANY, st.integers(1, 5))
def test_flapping_always_ends(judgements: list[Judgement], flaps: int) -> None:
    limits = LifeLimits(flaps=flaps)
    newest: Alert | None = None
    for minute, judgement in enumerate([*judgements, *[BAD] * 40]):
        newest = advance(newest, judgement, RULE, 60.0 * minute, limits=limits) or newest
    assert newest is not None
    assert newest.state is AlertState.FIRING
    assert not is_flapping(newest, 60.0 * (len(judgements) + 39), limits)
    assert newest.suppressed_by == ""


ALERTS = st.lists(
    st.builds(
        firing,
        st.sampled_from(RULES),
        st.integers(0, 5).map(float),
        st.builds(Subject, st.sampled_from(["east", "west"]), st.sampled_from(["chat", "code"])),
        st.sampled_from(["", "", "warming", "hit_ratio_drop"]),
    ),
    unique_by=lambda alert: alert.key,
    max_size=20,
)


@given(ALERTS)
def test_inhibiting_twice_changes_nothing_and_somebody_always_speaks(alerts: list[Alert]) -> None:
    once = inhibited(alerts, 10.0)
    assert inhibited(once, 10.0) == once
    assert [alert.key for alert in once] == [alert.key for alert in alerts]
    assert not alerts or any(alert.suppressed_by in ("", "warming") for alert in once)
