"""Silences and maintenance windows: alerts that are known and not to be said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tierdeck.alerts.alert import Alert


@dataclass(frozen=True, slots=True)
class Silence:
    """Alerts that match are not said between two instants (epoch seconds).

    Attributes:
        matchers: label to value, all of which must be equal; `labels_of` names the labels. Never empty.
        is_maintenance: the window also freezes changes of the endpoints that match, and is marked on charts.
        ended_at: when somebody ended it early; None: nobody did.
        id: of the store; 0: not stored yet.
    """

    matchers: Mapping[str, str]
    starts_at: float
    ends_at: float
    why: str
    by: str
    is_maintenance: bool = False
    ended_at: float | None = None
    id: int = 0

    def is_active(self, now: float) -> bool:
        end = self.ends_at if self.ended_at is None else min(self.ends_at, self.ended_at)
        return self.starts_at <= now < end

    def covers(self, alert: Alert, now: float) -> bool:
        labels = labels_of(alert)
        return self.is_active(now) and all(labels.get(name) == value for name, value in self.matchers.items())


def labels_of(alert: Alert) -> dict[str, str]:
    """What a silence, Alertmanager and a webhook know an alert by."""
    subject = alert.subject
    found = {
        "rule": alert.rule,
        "severity": str(alert.severity),
        "cluster": subject.cluster,
        "endpoint": subject.endpoint,
        "part": subject.part,
    }
    return {name: value for name, value in found.items() if value}
