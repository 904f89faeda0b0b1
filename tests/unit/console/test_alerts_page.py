"""What the Alerts view says: what fires and what does not, in which order, with which words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.alert_card import alert_card
from console.alert_words import depth_words, figure_words, points_words, quiet_words, since_words, whom
from console.alerts_page import AlertsPage, Told, alerts_page
from console.channel_rows import channel_rows
from console.silence_rows import silence_rows
from tierdeck.alerts.alert import Acknowledgement, Alert, AlertState, FoundCause, Severity, Subject
from tierdeck.alerts.notice import Notice, NoticeKind, Way
from tierdeck.alerts.silence import Silence
from tierdeck.fleet import POOL

NOW = 1_700_000_400.0  # 2023-11-14 22:20:00 UTC
CHAT = Subject("east", "inference/chat")


def alert(
    number: int = 1, severity: Severity = Severity.WARNING, *, fired: float | None = 600.0, rule: str = "hit_ratio_drop"
) -> Alert:
    """Pending for a minute, then firing since `fired` seconds."""
    state = AlertState.PENDING if fired is None else AlertState.FIRING
    fired_at = None if fired is None else NOW - fired
    began = NOW - (fired or 0.0) - 60
    return Alert(rule, CHAT, state, severity, began, fired_at, words="it is bad", id=number)


def page(*alerts: Alert, silences: tuple[Silence, ...] = ()) -> AlertsPage:
    unfinished = [one for one in alerts if one.is_open]
    return alerts_page(Told(unfinished, alerts, silences, "", (), ()), NOW)


def silence(seconds: float = 3600, *, is_maintenance: bool = False, **matchers: str) -> Silence:
    return Silence(matchers, NOW - 60, NOW + seconds, "new drives", "ada", is_maintenance, id=7)


def test_what_needs_somebody_stands_first() -> None:
    seen = replace(alert(1, Severity.CRITICAL), acknowledged=Acknowledgement("ada", NOW))
    shown = page(seen, alert(2, fired=900), alert(3, fired=300), alert(4, Severity.CRITICAL))
    assert [card.id for card in shown.firing] == [4, 3, 2, 1]


def test_only_what_fires_and_is_said_counts_as_firing() -> None:
    quiet = replace(alert(2), suppressed_by="l2_outage")
    over = replace(alert(4), state=AlertState.RESOLVED, resolved_at=NOW - 60)
    shown = page(alert(1), quiet, alert(3, fired=None), over)
    groups = (shown.firing, shown.quiet, shown.pending, shown.resolved)
    assert [[one.id for one in group] for group in groups] == [[1], [2], [3], [4]]
    assert [headline.value for headline in shown.headlines] == ["1", "1", "1", "0", "1"]
    assert len(shown.headlines) <= 5
    assert shown.quiet[0].why == "it follows from “L2 is not working”, which fires"


def test_a_silenced_alert_is_quiet_until_its_silence_ends() -> None:
    shown = page(alert(), silences=(silence(endpoint="inference/chat"),))
    assert shown.firing == ()
    assert shown.quiet[0].why == "silenced until 23:20:00 UTC, by ada: new drives"
    assert page(alert(), silences=(silence(-1, endpoint="inference/chat"),)).quiet == ()


def test_what_follows_from_a_silenced_alert_stays_in_sight_with_both_reasons() -> None:
    outage = replace(alert(1, Severity.CRITICAL, rule="l2_outage"), subject=Subject("east", POOL))
    follows = replace(alert(2), suppressed_by="l2_outage")
    other = replace(alert(3), subject=Subject("west", "chat"), suppressed_by="l2_outage")
    shown = page(outage, follows, other, silences=(silence(rule="l2_outage"),))
    assert shown.firing == ()
    assert {one.id: one.why for one in shown.quiet} == {
        1: "silenced until 23:20:00 UTC, by ada: new drives",
        2: "it follows from “L2 is not working”, which fires and is silenced until 23:20:00 UTC, by ada: new drives",
        3: "it follows from “L2 is not working”, which fires",
    }
    assert shown.silences[0].keeps == "keeps 1 quiet, and 1 that follows"
    assert page(silences=(silence(rule="l2_outage"),)).silences[0].keeps == ""


@pytest.mark.parametrize(
    ("kept_by", "words"),
    [
        ("flapping", "it came and went too often within an hour"),
        ("warming", "tiers fill again after a restart, rollout or scale-out"),
        ("a_later_reason", "a later reason"),
    ],
)
def test_each_reason_for_quiet_has_words(kept_by: str, words: str) -> None:
    assert quiet_words(replace(alert(), suppressed_by=kept_by), (), NOW) == words


def test_a_card_has_figures_causes_and_a_way_to_the_endpoint_then() -> None:
    causes = (FoundCause("restart", "vllm-2 restarted", "80 % → 12 %", -18.0, at=NOW - 700), FoundCause("mix", "m", ""))
    card = alert_card(replace(alert(), value=0.53, expected=0.78, depth=25.0, causes=causes), (), NOW)
    assert [(fact.label, fact.value) for fact in card.facts] == [
        ("now", "53 %"), ("usual", "78 %"), ("points", "−25"),
    ]  # fmt: skip
    assert all(fact.how for fact in card.facts)
    assert [cause.points for cause in card.causes] == ["−18 points", "share not known"]
    assert card.causes[0].evidence == "80 % → 12 % · 22:08:20 UTC"  # 700 s before 22:20:00
    # pending since 660 s, and ten minutes around it: 1,260 s, more than 15 minutes
    assert card.asked == {"cluster": "east", "endpoint": "inference/chat", "window": "1h"}
    assert card.severity == "▲ warning"
    assert card.labels["rule"] == "hit_ratio_drop"


def test_an_alert_of_a_rule_of_another_version_is_shown_all_the_same() -> None:
    card = alert_card(replace(alert(rule="from_the_future"), value=3.0), (), NOW)
    assert (card.title, card.advice) == ("From the future", ())


def test_whose_alert_it_is_has_a_name_without_an_endpoint_too() -> None:
    names = [whom(replace(alert(), subject=subject)) for subject in (
        CHAT, Subject("east", "inference/chat", "L1"), Subject("east", POOL, "curvine/main"), Subject("east", POOL),
        Subject("east", ""),
    )]  # fmt: skip
    assert names == ["inference/chat", "inference/chat L1", "pool curvine/main", "the pool", "the deck itself"]


def test_figures_are_told_in_their_rule_s_unit() -> None:
    told = [("ratio", 0.534), ("share", 0.012), ("seconds", 10800.0), ("times the budget", 14.4), ("requests", 14.0)]
    assert [figure_words(value, unit) for unit, value in told] == [
        "53 %", "1 %", "3 h", "14.4 × the budget", "14 requests",
    ]  # fmt: skip
    assert figure_words(2.5e-5, "seconds a token") == "0.025 ms a token"
    assert figure_words(None, "ratio") == "not told"
    assert depth_words(25.0, "ratio") == "−25 points"
    assert [points_words(value) for value in (-18.4, -1.25, 3.0, -1.0, 0.0)] == [
        "−18 points", "−1.2 points", "+3 points", "−1 point", "0 points",
    ]  # fmt: skip


def test_since_when_says_how_long_and_whether_it_is_over() -> None:
    assert since_words(alert(), NOW) == "fires since 22:10:00 UTC, for 10 min"
    assert since_words(alert(fired=None), NOW) == "holds since 22:19:00 UTC, for 60 s"
    over = replace(alert(), state=AlertState.RESOLVED, resolved_at=NOW - 300)
    assert since_words(over, NOW) == "fired at 22:10:00 UTC for 5 min, resolved at 22:15:00 UTC"


def test_silences_that_hold_stand_before_those_to_come_and_ended_ones_are_gone() -> None:
    to_come = Silence({"rule": "no_data"}, NOW + 60, NOW + 120, "later", "ada", id=1)
    ended = replace(silence(endpoint="a"), ended_at=NOW - 10, id=2)
    rows = silence_rows([to_come, ended, silence(endpoint="b", is_maintenance=True)], NOW)
    assert [(row.id, row.what, row.is_active) for row in rows] == [(7, "maintenance", True), (1, "silence", False)]
    assert rows[0].when == "until 23:20:00 UTC, 60 min left"
    assert rows[1].when == "from 22:21:00 UTC, starts in 60 s"


def test_a_channel_tells_how_its_last_message_ended() -> None:
    def one(channel: str, **how: object) -> Notice:
        return replace(Notice(channel, channel, NoticeKind.TEST, None, NOW - 30, NOW - 30), **how)  # type: ignore[arg-type]

    notices = [
        one("sent", sent_at=NOW - 5),
        one("sent", trouble="an older one failed"),
        one("failed", tries=2, trouble="503", due_at=NOW + 40),
        one("lost", tries=1, given_up_at=NOW - 5, trouble="404"),
        one("waits"),
    ]
    names = ("sent", "failed", "lost", "waits", "new")
    rows = channel_rows([Way("east", name, "webhook") for name in names], notices, NOW)
    assert [row.outcome for row in rows] == [
        "● a test sent 5 s ago",
        "▲ a test failed (2 tries): 503; next try in 40 s",
        "✕ a test given up 5 s ago after 1 try: 404",
        "◌ a test waits since 30 s",
        "○ nothing was said yet",
    ]
    assert [row.is_well for row in rows] == [True, False, False, True, True]


def test_channels_of_several_clusters_are_told_apart() -> None:
    ways = [Way("east", "team", "slack"), Way("west", "team", "slack")]
    test = Notice("t", "team", NoticeKind.TEST, None, NOW - 30, NOW - 30, sent_at=NOW - 5, cluster="west")
    fired = Notice("f", "team", NoticeKind.FIRING, alert(), NOW - 30, NOW - 30)
    rows = channel_rows(ways, [test, fired], NOW)
    assert [(row.whose, row.outcome) for row in rows] == [
        ("east", "◌ an alert waits since 30 s"),
        ("west", "● a test sent 5 s ago"),
    ]
    assert channel_rows(ways[:1], [], NOW)[0].whose == "", "where there is one, its name says nothing"
