"""What is said to whom: once, to those who want it, again after a time, and its end where its beginning was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.alerts import CHAT, firing, pending, resolved, silence
from tests.support.rounds import T0
from tierdeck.alerts.alert import Acknowledgement, Alert, Severity, Subject
from tierdeck.alerts.life import inhibited
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.saying import Audience, Now, compose, incident_key, trial_notice

SLACK, PAGER = Audience("slack"), Audience("pager", Severity.CRITICAL)
ALERT = replace(firing(), id=7)
HOUR = 3600.0


def said(alert: Alert, *before: Notice, at: float = T0, audiences: Sequence[Audience] = (SLACK,)) -> list[Notice]:
    return compose([alert], {alert.id: before}, audiences, Now(at))


def kinds(notices: Sequence[Notice]) -> list[str]:
    return [str(one.kind) for one in notices]


def arrived(notice: Notice, at: float = T0) -> Notice:
    return replace(notice, sent_at=at)


def test_an_alert_that_fires_is_said_once_to_each_channel() -> None:
    first = compose([ALERT], {}, (SLACK, Audience("mail")), Now(T0))
    assert [(one.channel, str(one.kind)) for one in first] == [("slack", "firing"), ("mail", "firing")]
    assert {one.due_at for one in first} == {T0}
    assert said(ALERT, *first) == []


def test_a_pending_alert_is_not_said() -> None:
    assert said(replace(pending(), id=7)) == []


def test_a_channel_gets_only_what_is_severe_enough_for_it() -> None:
    assert said(ALERT, audiences=(PAGER,)) == []
    assert kinds(said(replace(ALERT, severity=Severity.CRITICAL), audiences=(PAGER,))) == ["firing"]


def test_what_is_held_back_is_said_when_nothing_holds_it_any_more() -> None:
    quiet = silence(T0, HOUR, rule="hit_ratio_drop")
    assert said(replace(ALERT, suppressed_by="l2_outage")) == []
    assert said(replace(ALERT, acknowledged=Acknowledgement("ada", T0))) == []
    assert compose([ALERT], {}, (SLACK,), Now(T0 + 10, [quiet])) == []
    assert kinds(compose([ALERT], {}, (SLACK,), Now(T0 + HOUR, [quiet]))) == ["firing"]
    assert kinds(said(ALERT, at=T0 + HOUR)) == ["firing"]


def test_a_silenced_alert_still_silences_what_follows_from_it() -> None:
    outage = replace(firing(Subject("east", "_pool"), "l2_outage"), id=8)
    drop = replace(firing(at=T0 + 60), id=9)
    (outage, drop) = inhibited([outage, drop], T0 + 60)
    quiet = silence(T0, HOUR, rule="l2_outage")
    assert compose([outage, drop], {}, (SLACK,), Now(T0 + 60, [quiet])) == [], "its effects call nobody"
    later = compose([outage, drop], {}, (SLACK,), Now(T0 + HOUR, [quiet]))
    assert [one.alert.rule for one in later if one.alert] == ["l2_outage"], "the cause is said when its silence ends"


def test_what_still_fires_is_said_again_after_a_time_that_counts_from_the_last_arrival() -> None:
    first = arrived(said(ALERT)[0], T0 + 100)
    assert said(ALERT, first, at=T0 + 4 * HOUR + 99) == []
    (second,) = said(ALERT, first, at=T0 + 4 * HOUR + 100)
    assert second.kind is NoticeKind.AGAIN
    (third,) = said(ALERT, first, arrived(second, T0 + 5 * HOUR), at=T0 + 9 * HOUR)
    assert third.key != second.key


def test_it_is_not_said_again_while_it_is_on_its_way_acknowledged_or_repeated_by_the_receiver_itself() -> None:
    (first,) = said(ALERT)
    late = T0 + 9 * HOUR
    assert said(ALERT, first, at=late) == []
    assert said(replace(ALERT, acknowledged=Acknowledgement("ada", T0)), arrived(first), at=late) == []
    assert said(ALERT, arrived(first), at=late, audiences=(Audience("slack", is_repeated=False),)) == []


def test_its_end_is_said_where_its_beginning_was_even_if_silenced_by_then() -> None:
    first, over = said(ALERT)[0], resolved(ALERT, T0 + 60)
    now = Now(T0 + 60, [silence(T0 + 30, HOUR)])
    assert kinds(compose([over], {7: [first]}, (SLACK, Audience("mail")), now)) == ["resolved"]
    assert said(over) == []
    assert said(over, replace(first, given_up_at=T0 + 50)) == []


def test_keys_are_the_same_for_the_same_and_before_there_is_an_id_too() -> None:
    before = compose([replace(ALERT, id=0)], {}, (SLACK,), Now(T0))
    after = compose([replace(ALERT, depth=30.0)], {}, (SLACK,), Now(T0 + 60))
    assert [one.key for one in before] == [one.key for one in after]
    assert incident_key(ALERT) == incident_key(resolved(ALERT, T0))
    later = firing(CHAT, at=T0 + 600)
    assert incident_key(later) != incident_key(ALERT)


def test_a_trial_is_about_no_alert() -> None:
    assert trial_notice("slack", T0).alert is None
    assert trial_notice("slack", T0).key != trial_notice("slack", T0 + 1).key


@given(st.lists(st.sampled_from(["tick", "silence", "suppress", "acknowledge"]), max_size=12), st.booleans())
def test_whatever_comes_between_it_is_said_at_most_once_and_its_end_only_after_it(ways: list[str], ends: bool) -> None:
    outbox: dict[str, Notice] = {}
    at = T0
    for way in [*ways, "end" if ends else "tick"]:
        at += 60
        alert = {
            "suppress": replace(ALERT, suppressed_by="flapping"),
            "acknowledge": replace(ALERT, acknowledged=Acknowledgement("ada", T0)),
            "end": resolved(ALERT, at),
        }.get(way, ALERT)
        now = Now(at, [silence(at, 30)] if way == "silence" else [])
        for _ in range(2):  # the process was killed after it had written, and does the same minute once more
            for one in compose([alert], {7: list(outbox.values())}, (SLACK,), now):
                outbox.setdefault(one.key, one)
    told = [one.kind for one in outbox.values()]
    assert told in ([], [NoticeKind.FIRING], [NoticeKind.FIRING, NoticeKind.RESOLVED])
    assert (NoticeKind.FIRING in told) == ("tick" in [*ways, "end" if ends else "tick"])
