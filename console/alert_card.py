"""One alert as a card: what is wrong, since when, by how much, why, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.alert_words import (
    WORST_FIRST,
    acknowledged_words,
    expected_name,
    figure_words,
    points_words,
    quiet_words,
    rule_of,
    severity_words,
    since_words,
    title_of,
    whom,
)
from console.windows import WINDOWS
from console.words import clock
from tierdeck.alerts.alert import Alert, AlertState, FoundCause, Severity
from tierdeck.alerts.silence import Silence, labels_of
from tierdeck.fleet import POOL

_AROUND_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure with how it is computed."""

    label: str
    value: str
    how: str


@dataclass(frozen=True, slots=True)
class CauseLine:
    """One cause; `points` is its share of the drop in words."""

    points: str
    words: str
    evidence: str


@dataclass(frozen=True, slots=True)
class AlertCard:
    """Complete, with nothing left to compute.

    Attributes:
        causes: the likeliest first.
        acknowledged, quiet: who has seen it, why nobody is told; "": nobody, everybody is.
        asked: parameters of the Endpoint view that shows it; empty: it is about no endpoint.
        labels: what a silence knows it by.
    """

    id: int
    level: Severity
    severity: str
    title: str
    whom: str
    cluster: str
    what: str
    since: str
    is_open: bool
    is_firing: bool
    facts: tuple[Fact, ...]
    evidence: tuple[tuple[str, str], ...]
    causes: tuple[CauseLine, ...]
    meaning: str
    advice: tuple[str, ...]
    anchor: str
    acknowledged: str
    quiet: str
    asked: Mapping[str, str]
    labels: Mapping[str, str]


def alert_card(alert: Alert, silences: Sequence[Silence], now: float, others: Sequence[Alert] = ()) -> AlertCard:
    """From the alert as the store has it; `others`: open ones, one of which may keep it quiet."""
    rule = rule_of(alert)
    return AlertCard(
        id=alert.id,
        level=alert.severity,
        severity=severity_words(alert.severity),
        title=title_of(alert),
        whom=whom(alert),
        cluster=alert.subject.cluster,
        what=alert.words,
        since=since_words(alert, now),
        is_open=alert.is_open,
        is_firing=alert.state is AlertState.FIRING,
        facts=_facts(alert),
        evidence=tuple((name.replace("_", " "), told) for name, told in alert.evidence.items()),
        causes=tuple(_cause(one, now) for one in alert.causes),
        meaning=rule.meaning if rule else "This version does not know the rule.",
        advice=rule.advice if rule else (),
        anchor=rule.anchor if rule else alert.rule.replace("_", "-"),
        acknowledged=acknowledged_words(alert, now),
        quiet=quiet_words(alert, silences, now, others) if alert.is_open else "",
        asked=_asked(alert, now),
        labels=labels_of(alert),
    )


def urgency(alert: Alert) -> tuple[bool, int, float]:
    """Sorts what needs somebody first: not acknowledged, worst, newest."""
    began = alert.pending_at if alert.fired_at is None else alert.fired_at
    return alert.acknowledged is not None, WORST_FIRST.index(alert.severity), -began


def _facts(alert: Alert) -> tuple[Fact, ...]:
    rule = rule_of(alert)
    unit = rule.unit if rule else ""
    end = "now" if alert.is_open else "at its end"
    known = (
        (alert.value, Fact(end, figure_words(alert.value, unit), "The rule's figure at its last judgement.")),
        (
            alert.expected,
            Fact(
                expected_name(alert), figure_words(alert.expected, unit),
                "What the rule held it against: what is usual at this time of day, or a limit that was set.",
            ),
        ),
        (
            alert.depth if unit == "ratio" else None,
            Fact(
                "points", points_words(-abs(alert.depth or 0.0)).split()[0],
                "How far the one was from the other at the worst minute, in points of a hundred.",
            ),
        ),
    )  # fmt: skip
    return tuple(fact for value, fact in known if value is not None)


def _cause(one: FoundCause, now: float) -> CauseLine:
    """The instant stands with the evidence unless a sentence says it."""
    when = "" if one.at is None else clock(one.at, now)
    evidence = " · ".join(filter(None, (one.evidence, when if when[:5] not in one.words + one.evidence else "")))
    return CauseLine(points_words(one.points), one.words, evidence)


def _asked(alert: Alert, now: float) -> dict[str, str]:
    """The shortest window up to now that has its beginning."""
    subject = alert.subject
    if subject.endpoint in ("", POOL):
        return {}
    back = now - alert.pending_at + _AROUND_SECONDS
    window = next((name for name, window in WINDOWS.items() if window.seconds >= back), list(WINDOWS)[-1])
    return {"cluster": subject.cluster, "endpoint": subject.endpoint, "window": window}
