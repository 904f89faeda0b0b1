"""How a notice reads: a short subject, a body in plain text, and the link to the view."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from tierdeck.alerts.alert import Alert, FoundCause
from tierdeck.alerts.life import ENDED
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.rules import BY_NAME
from tierdeck.units import format_ratio, format_seconds, format_size

_LONGEST_NAME = 200
_LONGEST_SENTENCE = 1000
_MOST_CAUSES = 5
_BEGIN = {NoticeKind.FIRING: "", NoticeKind.AGAIN: "Still firing: ", NoticeKind.RESOLVED: "Resolved: "}
_UNSEEN = ("C", "Zl", "Zp")
"""Unicode categories that no name needs: control and format signs, and line ends of another kind."""


@dataclass(frozen=True, slots=True)
class Wording:
    """`subject` is one line; `body` has some; `link` is empty where the console has no public address, `more` (what
    the documents say of the rule) where they have none.

    Both are plain text without control signs; names in them may hold anything else, and what a receiver makes of
    `<`, `@` or `*` is for its channel to prevent.
    """

    subject: str
    body: str
    link: str = ""
    causes: str = ""
    advice: str = ""
    more: str = ""


def word(notice: Notice, console_url: str = "", docs_url: str = "") -> Wording:
    """The words of a notice.

    Args:
        console_url: where people reach the console, such as `https://deck.example`; empty: no link.
        docs_url: where they reach the documents; empty: no link.
    """
    if notice.alert is None:
        body = f"This tries the channel {one_line(notice.channel)}. Nothing is wrong, and nothing is to be done."
        return Wording("Tierdeck: a test", body, console_url)
    alert, rule = notice.alert, BY_NAME.get(notice.alert.rule)
    title = rule.title if rule else alert.rule
    who = one_line(alert.subject.name)
    where = "" if who == one_line(alert.subject.cluster) else f" ({one_line(alert.subject.cluster)})"
    subject = f"{_BEGIN.get(notice.kind, '')}[{alert.severity.upper()}] {title}: {who}{where}"
    link, more = link_to(alert, console_url), section(rule.anchor, docs_url) if rule else ""
    causes = "\n".join(_causes(alert.causes))
    advice = rule.advice[0] if rule and rule.advice else ""
    is_over, ended = notice.kind is NoticeKind.RESOLVED, alert.evidence.get(ENDED, "")
    parts = [
        _since(alert),
        one_line(alert.words, _LONGEST_SENTENCE),
        f"Over because: {one_line(ended, _LONGEST_SENTENCE)}." if is_over and ended else "",
        _value(alert, rule.unit if rule else ""),
        f"Why:\n{causes}" if causes else "" if is_over else "Why: no cause found.",
        f"What to do first: {advice}" if advice and not is_over else "",
        f"View: {link}" if link else "",
        f"About this rule: {more}" if more else "",
        "This may be a repeat: it is not known whether it arrived before." if notice.may_repeat else "",
    ]
    return Wording(subject, "\n".join(filter(None, parts)), link, causes, advice, more)


def section(anchor: str, docs_url: str) -> str:
    """A rule's section in the documents; empty without their address."""
    return f"{docs_url.rstrip('/')}/alerts.md#{anchor}" if docs_url else ""


def link_to(alert: Alert, console_url: str) -> str:
    """The alert's own view; empty without the console's address."""
    query = urlencode({"alert": alert.id})
    return f"{console_url.rstrip('/')}/alerts?{query}" if console_url and alert.id else console_url


def one_line(text: str, longest: int = _LONGEST_NAME) -> str:
    """Anybody's text as part of a line: no line ends, control signs or signs that turn the direction; not endless."""
    shown = "".join(" " if unicodedata.category(sign).startswith(_UNSEEN) else sign for sign in text)
    shown = re.sub(r"\s+", " ", shown).strip()
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _since(alert: Alert) -> str:
    began = alert.fired_at if alert.fired_at is not None else alert.pending_at
    if alert.resolved_at is None:
        return f"Firing since {_instant(began)}."
    lasted = format_seconds(max(1.0, alert.resolved_at - began))
    return f"It fired at {_instant(began)} and was over at {_instant(alert.resolved_at)}, after {lasted}."


def _value(alert: Alert, unit: str) -> str:
    if alert.value is None:
        return ""
    usual = "" if alert.expected is None else f", usually {_figure(alert.expected, unit)}"
    return f"It is {_figure(alert.value, unit)}{usual}{_deep(alert, unit)}."


def _deep(alert: Alert, unit: str) -> str:
    if alert.depth is None:
        return ""
    return f" (at worst {abs(alert.depth):.0f} points off)" if unit == "ratio" else ""


def _figure(value: float, unit: str) -> str:
    if unit in ("ratio", "share"):
        return format_ratio(value)
    if unit == "seconds":
        return format_seconds(value)
    if unit == "bytes":
        return format_size(value)
    return f"{value:.3g} {unit}".rstrip()


def _causes(causes: tuple[FoundCause, ...]) -> Iterator[str]:
    for number, cause in enumerate(causes[:_MOST_CAUSES], 1):
        is_told = cause.points is None or "points" in cause.words
        points = "" if is_told else f"{cause.points:+.0f} points: ".replace("-", "−")
        evidence = f" ({one_line(cause.evidence, _LONGEST_SENTENCE)})" if cause.evidence else ""
        yield f"{number}. {points}{one_line(cause.words, _LONGEST_SENTENCE)}{evidence}"
    if len(causes) > _MOST_CAUSES:
        yield f"and {len(causes) - _MOST_CAUSES} more"


def _instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
