"""Where alerts are said: each channel with how the last message to it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.words import age_words
from tierdeck.alerts.notice import Notice, NoticeKind

_WHAT = {
    NoticeKind.FIRING: "an alert", NoticeKind.AGAIN: "a reminder", NoticeKind.RESOLVED: "a resolved alert",
    NoticeKind.TEST: "a test",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """One channel; `outcome` begins with a shape."""

    name: str
    kind: str
    outcome: str
    is_well: bool


def channel_rows(channels: Sequence[tuple[str, str]], notices: Sequence[Notice], now: float) -> tuple[ChannelRow, ...]:
    """In the configured order.

    Args:
        channels: name and kind.
        notices: the newest first.
    """
    newest = {one.channel: one for one in reversed(notices)}
    rows = []
    for name, kind in channels:
        one = newest.get(name)
        words = "○ nothing was said yet" if one is None else outcome_words(one, now)
        rows.append(ChannelRow(name, kind, words, one is None or not one.trouble))
    return tuple(rows)


def outcome_words(one: Notice, now: float) -> str:
    """`● a test sent 5 s ago`, `✕ a test failed: connection refused; next try in 30 s`."""
    what = _WHAT[one.kind]
    if one.sent_at is not None:
        return f"● {what} sent {_ago(one.sent_at, now)}" + ("; it may have come twice" if one.may_repeat else "")
    if one.given_up_at is not None:
        return f"✕ {what} given up {_ago(one.given_up_at, now)} after {_tries(one.tries)}: {one.trouble}"
    if one.trouble:
        wait = max(0.0, one.due_at - now)
        return f"▲ {what} failed ({_tries(one.tries)}): {one.trouble}; next try in {age_words(wait)}"
    return f"◌ {what} waits since {age_words(max(0.0, now - one.created_at))}"


def _tries(many: int) -> str:
    return f"{many} tr{'y' if many == 1 else 'ies'}"


def _ago(at: float, now: float) -> str:
    return f"{age_words(max(0.0, now - at))} ago"
