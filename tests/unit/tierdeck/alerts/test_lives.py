"""All alerts from minute to minute."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tierdeck.alerts.alert import Alert, AlertState, Subject
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.lives import Changes, Lives
from tierdeck.alerts.rules import HIT_RATIO_DRIFT, HIT_RATIO_DROP, L2_OUTAGE, RULES

CHAT = Subject("east", "chat")
DROP, DRIFT, OUTAGE = HIT_RATIO_DROP.name, HIT_RATIO_DRIFT.name, L2_OUTAGE.name


def bad(rule: str, subject: Subject = CHAT) -> Judgement:
    return Judgement(rule, subject, is_bad=True)


def well(rule: str, subject: Subject = CHAT) -> Judgement:
    return Judgement(rule, subject, is_bad=False, is_clear=True)


def between(rule: str) -> Judgement:
    return Judgement(rule, CHAT, is_bad=False)


def run(*minutes: list[Judgement], lives: Lives | None = None) -> tuple[Lives, list[Changes]]:
    lives = lives or Lives()
    return lives, [lives.step(judgements, 60.0 * number) for number, judgements in enumerate(minutes)]


def test_tells_only_what_changed_and_which_pending_ones_are_gone() -> None:
    _, changes = run([bad(DROP)], [bad(DROP)], [well(DROP)], [well(DROP)])
    assert [[alert.state for alert in one.alerts] for one in changes] == [[AlertState.PENDING], [], [], []]
    assert [[alert.key for alert in one.gone] for one in changes] == [[], [], [(DROP, CHAT)], []]


def test_an_alert_that_was_stored_goes_on_in_another_process() -> None:
    first, _ = run(*[[bad(DROP)]] * 4)
    (alert,) = first.open
    stored = Lives([alert])
    assert stored.firing == {(DROP, CHAT)}
    assert run([bad(DROP)], lives=stored)[1] == [Changes((), ())]


def test_what_is_not_bad_any_more_does_not_begin_to_be_said_when_what_silenced_it_is_over() -> None:
    # the drift fires first, and the outage (after its hold of 2 minutes) silences it until it resolves
    outage = [[bad(DRIFT), bad(OUTAGE)]] * 4 + [[between(DRIFT), well(OUTAGE)]] * 40
    lives, _ = run(*outage)
    (drift,) = lives.open
    assert (drift.rule, drift.suppressed_by) == (DRIFT, OUTAGE)
    lives.step([bad(DRIFT)], 60.0 * 44)
    assert [alert.suppressed_by for alert in lives.open] == [""]


JUDGEMENTS = st.lists(
    st.lists(
        st.builds(
            Judgement,
            st.sampled_from([rule.name for rule in RULES]),
            st.sampled_from([CHAT, Subject("east", "code"), Subject("west", "chat")]),
            st.sampled_from([True, True, False, None]),
            muted_by=st.sampled_from(["", "warming"]),
        ).flatmap(lambda one: st.sampled_from([one, Judgement(one.rule, one.subject, is_bad=False, is_clear=True)])),
        unique_by=lambda one: (one.rule, one.subject),
        max_size=6,
    ),
    max_size=40,
)


@given(JUDGEMENTS)
def test_at_most_one_is_open_of_a_key_and_changes_tell_all_of_it(minutes: list[list[Judgement]]) -> None:
    lives = Lives()
    told: dict[tuple[str, Subject, float], Alert] = {}
    for number, judgements in enumerate(minutes):
        changes = lives.step(judgements, 60.0 * number)
        for alert in changes.gone:
            assert told.pop((*alert.key, alert.pending_at)).state is AlertState.PENDING
        for alert in changes.alerts:
            told[*alert.key, alert.pending_at] = alert
        # who wrote down what was told knows what is open
        kept = [alert for alert in told.values() if alert.is_open]
        assert sorted(kept, key=lambda one: one.key) == sorted(lives.open, key=lambda one: one.key)
        assert len({alert.key for alert in kept}) == len(kept)


@given(JUDGEMENTS)
def test_the_same_judgements_make_the_same_changes(minutes: list[list[Judgement]]) -> None:
    assert run(*minutes)[1] == run(*minutes)[1]


@given(JUDGEMENTS, st.integers(0, 39))
def test_a_process_that_is_started_again_goes_on_as_if_it_had_not_ended(
    minutes: list[list[Judgement]], at: int
) -> None:
    one = Lives()
    other = Lives()
    resolved: list[Alert] = []
    for number, judgements in enumerate(minutes):
        if number == at:
            other = Lives([*resolved, *other.open])
        resolved += [alert for alert in other.step(judgements, 60.0 * number).alerts if not alert.is_open]
        one.step(judgements, 60.0 * number)
    assert sorted(one.open, key=lambda alert: alert.key) == sorted(other.open, key=lambda alert: alert.key)
