"""Alerts in words: severity with its shape, figures in the rule's unit, how long, and why one is kept quiet."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from console.words import age_words, clock
from tierdeck.alerts.alert import Alert, AlertState, Severity
from tierdeck.alerts.rule import Rule
from tierdeck.alerts.rules import BY_NAME
from tierdeck.alerts.silence import Silence
from tierdeck.fleet import POOL
from tierdeck.units import format_ratio, format_seconds

SHAPES = {Severity.CRITICAL: "■", Severity.WARNING: "▲", Severity.INFO: "●"}
"""A shape per severity, so that a list can be scanned without colours."""
WORST_FIRST = tuple(Severity)
LABEL_ORDER = ("endpoint", "rule", "part", "severity", "cluster")
"""What silences match by, the most telling first."""
_EXPECTED = {
    "hit_ratio_floor": "floor", "ttft_burn": "limit", "requests_failing": "limit", "pool_filling": "limit",
    "pool_full": "limit",
    "no_data": "declared", "deck_stale": "limit", "l2_costs": "computing it", "requests_deferred": "limit",
}  # fmt: skip
"""What the alert's `expected` is called; else it is the usual."""
_MUTES = {
    "flapping": "it came and went too often within an hour",
    "warming": "tiers fill again after a restart, rollout or scale-out",
}
_WITH_UNIT = {"requests": "requests", "replicas": "replicas", "times the budget": "× the budget"}


def severity_words(severity: Severity) -> str:
    """`▲ warning`."""
    return f"{SHAPES[severity]} {severity}"


def rule_of(alert: Alert) -> Rule | None:
    """None: a rule of another version."""
    return BY_NAME.get(alert.rule)


def title_of(alert: Alert) -> str:
    rule = rule_of(alert)
    return rule.title if rule is not None else alert.rule.replace("_", " ").capitalize()


def whom(alert: Alert) -> str:
    """Whom it is about, as a row's first words: `chat-70b L1`, `pool curvine/main`, `the deck itself`."""
    subject = alert.subject
    if subject.endpoint == POOL:
        return f"pool {subject.part}" if subject.part else "the pool"
    return subject.name if subject.endpoint else subject.part or "the deck itself"


def expected_name(alert: Alert) -> str:
    """What it is held against: `usual`, `floor`, `limit`."""
    return _EXPECTED.get(alert.rule, "usual")


def figure_words(value: float | None, unit: str) -> str:
    """A value of a rule: `53 %`, `3.2 h`, `14 × the budget`."""
    if value is None:
        return "not told"
    if unit in ("ratio", "share"):
        return format_ratio(value)
    if unit == "seconds":
        return format_seconds(value)
    if unit == "seconds a token":
        return f"{format_seconds(value)} a token"
    return f"{value:.3g} {_WITH_UNIT.get(unit, unit)}"


def depth_words(depth: float | None, unit: str) -> str:
    """How far from usual: ratios in points, whichever side."""
    if depth is None:
        return "not told"
    if unit == "ratio":
        return points_words(-abs(depth))
    return figure_words(abs(depth), unit)


def points_words(points: float | None) -> str:
    """`−18 points`, with a true minus; one digit more below ten."""
    if points is None:
        return "share not known"
    number = f"{abs(points):.0f}" if abs(points) >= 9.95 else f"{abs(points):.1f}".removesuffix(".0")
    sign = "" if number == "0" else "−" if points < 0 else "+"
    return f"{sign}{number} point{'' if number == '1' else 's'}"


def since_words(alert: Alert, now: float) -> str:
    """`fires since 14:02:10 UTC, for 23 min`."""
    began = alert.pending_at if alert.fired_at is None else alert.fired_at
    if alert.state is AlertState.RESOLVED:
        end = now if alert.resolved_at is None else alert.resolved_at
        if alert.fired_at is None:
            return f"was pending at {clock(began, now)}"
        return f"fired at {clock(began, now)} for {age_words(end - began)}, resolved at {clock(end, now)}"
    verb = "fires" if alert.state is AlertState.FIRING else "holds"
    return f"{verb} since {clock(began, now)}, for {age_words(max(0.0, now - began))}"


def acknowledged_words(alert: Alert, now: float) -> str:
    """`acknowledged by ada at 14:05:00 UTC: looking`; "": nobody did."""
    ack = alert.acknowledged
    if ack is None:
        return ""
    return f"acknowledged by {ack.by} at {clock(ack.at, now)}" + (f": {ack.note}" if ack.note else "")


def quiet_words(alert: Alert, silences: Collection[Silence], now: float, others: Iterable[Alert] = ()) -> str:
    """Why nobody is told of it; "": they are told.

    Args:
        others: open alerts; what it follows from may be silenced itself, and keeps it quiet all the same.
    """
    kept_by = alert.suppressed_by
    if kept_by in BY_NAME:
        first = next((one for one in others if one.rule == kept_by and follows_from(alert, one)), None)
        silenced = _silenced_words(first, silences, now) if first is not None else ""
        return f"it follows from “{BY_NAME[kept_by].title}”, which fires" + (f" and is {silenced}" if silenced else "")
    if kept_by:
        return _MUTES.get(kept_by, kept_by.replace("_", " "))
    return _silenced_words(alert, silences, now)


def follows_from(alert: Alert, other: Alert) -> bool:
    """It is kept quiet by a rule whose alert this one is."""
    whose = (alert.subject.endpoint, POOL, "")
    return (
        alert.suppressed_by == other.rule
        and other.state is AlertState.FIRING
        and other.subject.cluster == alert.subject.cluster
        and other.subject.endpoint in whose
    )


def _silenced_words(alert: Alert, silences: Iterable[Silence], now: float) -> str:
    for one in silences:
        if one.covers(alert, now):
            what = "under maintenance" if one.is_maintenance else "silenced"
            return f"{what} until {clock(one.ends_at, now)}, by {one.by}: {one.why}"
    return ""


def matchers_words(silence: Silence) -> str:
    """`endpoint=chat-70b, rule=tier_drop`."""
    return ", ".join(f"{name}={value}" for name, value in sorted(silence.matchers.items()))
