"""How notices read, with names that hold anything."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.alerts import firing, resolved
from tests.support.rounds import T0
from tierdeck.alerts.alert import Alert, FoundCause, Subject
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.rules import HIT_RATIO_DROP, RULES
from tierdeck.alerts.saying import trial_notice
from tierdeck.alerts.wording import Wording, one_line, word

CONSOLE = "https://deck.example/tier/"
RESTART = FoundCause("restart", "−18 of −25 points: replica vllm-2, restarted 14:02", "start time 14:02", points=-18.0)
SHIFT = FoundCause("workload_shift", "prompts have less in common", "", points=-5.0)
ALERT = replace(firing(), id=7, value=0.53, expected=0.78, depth=25.0, causes=(RESTART, SHIFT))


def told(alert: Alert, kind: NoticeKind = NoticeKind.FIRING, *, may_repeat: bool = False) -> Wording:
    return word(Notice("k", "slack", kind, alert, created_at=T0, due_at=T0, may_repeat=may_repeat), CONSOLE)


def test_a_notice_says_what_since_when_how_deep_why_and_what_to_do() -> None:
    # T0 is 2023-11-14 22:20 UTC
    said = told(ALERT)
    assert said.subject == "[WARNING] The hit ratio dropped: inference/chat (east)"
    assert said.link == "https://deck.example/tier/alerts?alert=7"
    assert said.body.splitlines() == [
        "Firing since 2023-11-14 22:20 UTC.",
        "25 points below the usual",
        "It is 53 %, usually 78 % (at worst 25 points off).",
        "Why:",
        "1. −18 of −25 points: replica vllm-2, restarted 14:02 (start time 14:02)",
        "2. −5 points: prompts have less in common",
        f"What to do first: {HIT_RATIO_DROP.advice[0]}",
        "View: https://deck.example/tier/alerts?alert=7",
    ]


def test_a_repetition_an_end_and_a_doubt_say_that_they_are_one() -> None:
    assert told(ALERT, NoticeKind.AGAIN).subject.startswith("Still firing: [WARNING]")
    over = told(resolved(ALERT, T0 + 1200), NoticeKind.RESOLVED)
    assert over.subject.startswith("Resolved: [WARNING]")
    assert "was over at 2023-11-14 22:40 UTC, after 20 min." in over.body
    assert "What to do" not in over.body
    assert told(ALERT, may_repeat=True).body.splitlines()[-1].startswith("This may be a repeat")


def test_without_an_address_of_the_console_there_is_no_link() -> None:
    said = word(Notice("k", "slack", NoticeKind.FIRING, ALERT, created_at=T0, due_at=T0))
    assert said.link == ""
    assert "View" not in said.body


def test_an_alert_leads_to_its_section_of_the_documents_where_they_can_be_reached() -> None:
    said = word(Notice("k", "slack", NoticeKind.FIRING, ALERT, created_at=T0, due_at=T0), "", "https://docs.example/d/")
    assert said.more == "https://docs.example/d/alerts.md#hit-ratio-drop"
    assert f"About this rule: {said.more}" in said.body.splitlines()


def test_what_is_not_known_is_not_told_as_a_figure() -> None:
    bare = replace(ALERT, value=None, expected=None, depth=None, causes=(), words="")
    body = told(bare).body
    assert "It is" not in body
    assert "no cause found" in body


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_words(rule: object) -> None:
    name = str(getattr(rule, "name", ""))
    said = told(replace(ALERT, rule=name, severity=getattr(rule, "severity", ALERT.severity)))
    assert str(getattr(rule, "title", "?")) in said.subject


def test_a_rule_that_is_no_longer_known_is_told_by_its_name() -> None:
    assert "from_yesterday" in told(replace(ALERT, rule="from_yesterday")).subject


def test_a_trial_says_that_nothing_is_wrong() -> None:
    said = word(trial_notice("slack", T0), CONSOLE)
    assert said.subject == "Tierdeck: a test"
    assert "Nothing is wrong" in said.body


def test_a_pool_and_the_deck_have_names_too() -> None:
    assert ": vast (east)" in told(replace(ALERT, subject=Subject("east", "_pool", "vast"))).subject
    assert told(replace(ALERT, rule="deck_stale", subject=Subject("east", ""))).subject.endswith(": east")


@given(st.text())
def test_any_name_stays_in_its_line(name: str) -> None:
    subject = Subject(name, name, name)
    said = told(replace(ALERT, subject=subject, words=name, causes=(FoundCause("x", name, name, replica=name),)))
    assert "\n" not in said.subject
    assert "\r" not in said.subject
    assert not any(unicodedata.category(sign).startswith("C") for sign in said.body.replace("\n", ""))
    assert len(said.body.splitlines()) == len(told(ALERT).body.splitlines()) - 1 - (one_line(name) == "")


def test_a_name_can_not_turn_the_direction_or_go_on_for_ever() -> None:
    assert one_line("a\u202egnp.exe\u2028b\x1b[31m\r\nBcc: x") == "a gnp.exe b [31m Bcc: x"
    assert len(one_line("x" * 10_000)) == 200
