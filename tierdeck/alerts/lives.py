"""All alerts as they live on from minute to minute: what the process and `backtest` share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tierdeck.alerts.alert import Alert, AlertState
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.life import LIMITS, Key, LifeLimits, advance, inhibited
from tierdeck.alerts.rules import BY_NAME


@dataclass(frozen=True, slots=True)
class Changes:
    """What one minute changed.

    Attributes:
        alerts: new ones and those that are otherwise than before, as they are now; resolved ones too.
        gone: pending ones whose condition no longer holds, as they were.
    """

    alerts: tuple[Alert, ...]
    gone: tuple[Alert, ...]


class Lives:
    """The open alerts, and those that resolved lately: their followers may flap, and what they silenced lingers.

    Args:
        alerts: of an earlier process; of several of a key the newest counts.
    """

    def __init__(self, alerts: Iterable[Alert] = (), limits: LifeLimits = LIMITS) -> None:
        self._limits = limits
        self._open: dict[Key, Alert] = {}
        self._resolved: dict[Key, Alert] = {}
        for alert in sorted(alerts, key=lambda one: one.pending_at):
            self.put(alert)

    @property
    def open(self) -> list[Alert]:
        return list(self._open.values())

    @property
    def firing(self) -> frozenset[Key]:
        return frozenset(key for key, alert in self._open.items() if alert.state is AlertState.FIRING)

    def put(self, alert: Alert) -> None:
        """The alert as it was stored, or as somebody changed it."""
        if alert.is_open:
            self._open[alert.key] = alert
        else:
            self._open.pop(alert.key, None)
            self._resolved[alert.key] = alert

    def step(self, judgements: Iterable[Judgement], now: float) -> Changes:
        """Live on by one minute's judgements; keys that are not judged stay as they are."""
        before = dict(self._open)
        touched: dict[Key, Alert] = {}
        gone: list[Alert] = []
        bad: set[Key] = set()
        for judgement in judgements:
            key = (judgement.rule, judgement.subject)
            alert = self._open.get(key)
            if judgement.is_bad:
                bad.add(key)
            elif alert is None:
                continue
            after = advance(
                alert or self._resolved.get(key), judgement, BY_NAME[judgement.rule], now, limits=self._limits
            )
            if after is not None:
                self.put(after)
                touched[key] = after
            elif alert is not None:
                del self._open[key]
                gone.append(alert)
        self._forget(now)
        if self._open:
            known = [*self._open.values(), *self._resolved.values()]
            for alert in inhibited(known, now, bad=bad, limits=self._limits):
                if alert.is_open:
                    self._open[alert.key] = touched[alert.key] = alert
        return Changes(tuple(alert for key, alert in touched.items() if alert != before.get(key)), tuple(gone))

    def _forget(self, now: float) -> None:
        span = max(self._limits.flap_seconds, self._limits.after_seconds)
        for key in [key for key, alert in self._resolved.items() if now - (alert.resolved_at or now) > span]:
            del self._resolved[key]
