"""An alert, a silence and a rule as JSON documents; their shapes stand in docs/cli.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from console.alert_words import quiet_words, rule_of, title_of
from console.rule_rows import RuleRow
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.rules import BY_NAME
from tierdeck.alerts.silence import Silence


def instant(at: float | None) -> str | None:
    """ISO 8601 in UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def alert_document(
    alert: Alert, silences: Sequence[Silence], now: float, others: Sequence[Alert] = ()
) -> dict[str, object]:
    """Everything about one alert; what is not known is null. `others`: open ones, one of which may keep it quiet."""
    rule, ack = rule_of(alert), alert.acknowledged
    return {
        "id": alert.id,
        "rule": alert.rule,
        "title": title_of(alert),
        "severity": str(alert.severity),
        "state": str(alert.state),
        "cluster": alert.subject.cluster,
        "endpoint": alert.subject.endpoint,
        "part": alert.subject.part,
        "pending_at": instant(alert.pending_at),
        "fired_at": instant(alert.fired_at),
        "resolved_at": instant(alert.resolved_at),
        "unit": rule.unit if rule else "",
        "value": alert.value,
        "expected": alert.expected,
        "depth": alert.depth,
        "words": alert.words,
        "evidence": dict(alert.evidence),
        "causes": [
            {
                "name": one.name,
                "words": one.words,
                "evidence": one.evidence,
                "points": one.points,
                "replica": one.replica,
                "at": instant(one.at),
            }
            for one in alert.causes
        ],
        "suppressed_by": alert.suppressed_by,
        "quiet_because": quiet_words(alert, silences, now, others) if alert.is_open else "",
        "acknowledged": None if ack is None else {"by": ack.by, "at": instant(ack.at), "note": ack.note},
    }


def silence_document(one: Silence, now: float) -> dict[str, object]:
    """One silence or maintenance window."""
    return {
        "id": one.id,
        "matchers": dict(one.matchers),
        "maintenance": one.is_maintenance,
        "active": one.is_active(now),
        "starts_at": instant(one.starts_at),
        "ends_at": instant(one.ends_at),
        "ended_at": instant(one.ended_at),
        "why": one.why,
        "by": one.by,
    }


def rule_document(row: RuleRow) -> dict[str, object]:
    """One rule with what it needs, and whether that is there."""
    rule = BY_NAME[row.name]
    return {
        "name": rule.name,
        "title": rule.title,
        "severity": str(rule.severity),
        "meaning": rule.meaning,
        "advice": list(rule.advice),
        "unit": rule.unit,
        "hold_seconds": rule.hold_seconds,
        "clear_seconds": rule.clear_seconds,
        "inhibits": list(rule.inhibits),
        "scope": str(rule.scope),
        "judged": row.is_judged,
        "judges": row.judges,
        "missing": [*row.missing, *row.unset],
    }
