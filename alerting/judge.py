"""One minute after the other: what the detectors say, how alerts live on, and which of them end with their subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tierdeck.alerts.alert import Alert, AlertState, Subject
from tierdeck.alerts.judgement import Detector, Judgement
from tierdeck.alerts.life import ENDED
from tierdeck.alerts.lives import Lives
from tierdeck.alerts.minute import Scene
from tierdeck.fleet import POOL
from tierdeck.units import format_seconds

MINUTE = 60.0
_UNTOLD_SECONDS = 6 * 3600.0
"""One that can't be judged any more for want of traffic or figures ends after so long."""
_UNREAD_SECONDS = 900.0
"""One about a pool that is not read any more."""
_LOOKS_AGAIN = (300.0, 900.0, 1800.0)
"""Seconds after firing at which causes are looked for once more: some show only then."""


class Judge:
    """The detectors with their memory, and the alerts with their lives."""

    def __init__(
        self,
        detectors: Sequence[Detector],
        alerts: Iterable[Alert] = (),
        is_on: Callable[[str, Subject], bool] = lambda rule, subject: True,
    ) -> None:
        """
        Args:
            alerts: those that are open, and those that resolved within the last hour: they tell what flaps.
            is_on: whether a rule (by name) is judged for a subject.
        """
        self._detectors = detectors
        self._is_on = is_on
        self.lives = Lives(alerts)
        self._told: dict[tuple[str, Subject], float] = {}

    def remember(self, scene: Scene) -> None:
        """A minute that was judged before: only what the detectors keep of it counts."""
        for detector in self._detectors:
            for _ in detector.judge(replace(scene, firing=self.lives.firing)):
                pass

    def step(self, scene: Scene) -> list[Alert]:
        """Judge a minute; the alerts that it changed, those that ended among them."""
        looked, now = replace(scene, firing=self.lives.firing), scene.at + MINUTE
        judged = [
            one for detector in self._detectors for one in detector.judge(looked) if self._is_on(one.rule, one.subject)
        ]
        known = {(one.rule, one.subject) for one in judged}
        self._told |= {(one.rule, one.subject): now for one in judged if one.is_bad is not None}
        ended = [
            end(alert, now, why)
            for alert in self.lives.open
            if (why := self._why_over(alert, scene, now, is_judged=alert.key in known))
        ]
        judged = [one for one in judged if (one.rule, one.subject) not in {alert.key for alert in ended}]
        for alert in ended:
            self.lives.put(alert)
        return [*ended, *self._live_on(judged, now)]

    def tell(self, judgement: Judgement, now: float) -> list[Alert]:
        """Judged elsewhere, at any moment; the others stay as they are."""
        return self._live_on([judgement], now) if self._is_on(judgement.rule, judgement.subject) else []

    def keep(self, saved: Iterable[Alert]) -> None:
        """As the store has them now: with ids, and with what people did."""
        for alert in saved:
            self.lives.put(alert)

    def _live_on(self, judged: Iterable[Judgement], now: float) -> list[Alert]:
        changes = self.lives.step(judged, now)
        return [*(end(alert, now, "it passed before it fired") for alert in changes.gone), *changes.alerts]

    def _why_over(self, alert: Alert, scene: Scene, now: float, *, is_judged: bool) -> str:
        """Of one that can't end by being judged: so that it neither fires nor keeps others quiet for ever."""
        subject = alert.subject
        if not self._is_on(alert.rule, subject):
            return "the rule was switched off"
        if not subject.endpoint:
            return ""  # the deck's own is judged elsewhere
        if subject.endpoint != POOL and replace(subject, part="") not in scene.minutes:
            return "the endpoint is gone"
        if not is_judged and subject.endpoint != POOL:
            return "its limit is no longer set"
        silent = now - self._told.setdefault(alert.key, now)
        longest = _UNTOLD_SECONDS if is_judged else _UNREAD_SECONDS
        return f"nothing has told of it for {format_seconds(silent)}" if silent > longest else ""


def end(alert: Alert, now: float, why: str) -> Alert:
    """Resolved at once."""
    return replace(alert, state=AlertState.RESOLVED, resolved_at=now, evidence={**alert.evidence, ENDED: why})


def wants_causes(alert: Alert, now: float) -> bool:
    """It has just fired, or has fired for so long that more can be seen."""
    if alert.state is not AlertState.FIRING or alert.fired_at is None:
        return False
    age = now - alert.fired_at
    return not alert.causes or any(seconds <= age < seconds + MINUTE for seconds in _LOOKS_AGAIN)
