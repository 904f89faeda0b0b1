"""Where alerts are said: each channel with how the last message to it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.words import age_words
from tierdeck.alerts.notice import Notice, NoticeKind, Way

_WHAT = {
    NoticeKind.FIRING: "an alert", NoticeKind.AGAIN: "a reminder", NoticeKind.RESOLVED: "a resolved alert",
    NoticeKind.TEST: "a test",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """One channel; `outcome` begins with a shape, `whose` is empty where only one cluster has channels."""

    cluster: str
    name: str
    kind: str
    outcome: str
    is_well: bool
    whose: str


def channel_rows(channels: Sequence[Way], notices: Sequence[Notice], now: float) -> tuple[ChannelRow, ...]:
    """In the configured order; `whose` names the cluster where several have channels.

    Args:
        notices: the newest first.
    """
    newest = {(_cluster(one), one.channel): one for one in reversed(notices)}
    is_one = len({way.cluster for way in channels}) <= 1
    rows = []
    for way in channels:
        one = newest.get((way.cluster, way.name)) or newest.get(("", way.name))
        words = "○ nothing was said yet" if one is None else outcome_words(one, now)
        is_well = one is None or not one.trouble
        rows.append(ChannelRow(way.cluster, way.name, way.kind, words, is_well, "" if is_one else way.cluster))
    return tuple(rows)


def _cluster(one: Notice) -> str:
    return one.alert.subject.cluster if one.alert is not None else one.cluster


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
