"""kvaware beside chats: refused, warned of or let be, each by one whole sentence."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from controller.changes.chats import chat_refusals, chat_warnings
from controller.changes.planner import Load, Look
from tests.support.plain_looks import NOW, changed, look_at
from tierdeck.changes.plan import Refusal

HOUR = 3600.0
MEANING = "kvaware routes chat as if its prompt were empty."
FIX = "Take prefixaware or session for chat, or move the clients to /completions."


@cache
def at_now() -> Look:
    """At 2027-01-15 08:00 UTC."""
    return look_at(changed("deployment"))


def said(load: Load) -> tuple[list[Refusal], list[str]]:
    look = replace(at_now(), load=load)
    return list(chat_refusals(look)), list(chat_warnings(look))


def refusal(reason: str) -> tuple[list[Refusal], list[str]]:
    return [Refusal("kvaware_chat", f"{reason}, and {MEANING}", FIX)], []


def test_chats_that_were_counted_are_refused_with_their_number_and_since_when() -> None:
    assert said(Load(chats=17.0, chats_since=NOW - 30 * HOUR)) == refusal(
        "17 chat requests came since the engines started at 2027-01-14 02:00 UTC; when the last one was is not known"
    )
    assert said(Load(chats=1.0)) == refusal(
        "1 chat request came since the engines started at a time that is not known; when the last one was is not known"
    )


@pytest.mark.parametrize(("ago", "hours"), [(2 * HOUR, "2.0"), (24 * HOUR, "24.0")])
def test_chats_seen_within_24_hours_are_refused(ago: float, hours: str) -> None:
    assert said(Load(chat_seen_at=NOW - ago)) == refusal(f"Chat completions came {hours} hours ago")


@pytest.mark.parametrize(
    "load",
    [
        Load(chat_free_since=NOW - 24 * HOUR),
        Load(chat_seen_at=NOW - 24 * HOUR - 1),
        Load(chat_seen_at=NOW - 25 * HOUR, chats=17.0),  # it is known when the last one came
    ],
)
def test_24_hours_without_a_chat_are_enough(load: Load) -> None:
    assert said(load) == ([], [])


def test_fewer_hours_without_a_chat_are_warned_of() -> None:
    refusals, (warning,) = said(Load(chat_free_since=NOW - 2 * HOUR))
    assert refusals == []
    assert warning == (
        "No chat came since the engines started, the last of them at 2027-01-15 06:00 UTC; whether chat came "
        f"within 24 hours is not known, and {MEANING}"
    )


def test_what_nobody_tells_is_warned_of() -> None:
    assert said(Load()) == ([], [f"Whether chat came within 24 hours is not known; {MEANING}"])
