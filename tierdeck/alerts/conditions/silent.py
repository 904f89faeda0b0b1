"""An endpoint of which nothing can be read; no figure of it is 0, all are unknown."""

from __future__ import annotations

from collections.abc import Iterable

from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Scene
from tierdeck.alerts.rules import NO_DATA


class NoData:
    """Judges `no_data`. An endpoint that has no replicas is asleep, not silent."""

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        for subject, minute in scene.minutes.items():
            is_bad = minute.replicas > 0 and minute.readable == 0
            yield Judgement(
                NO_DATA.name,
                subject,
                is_bad,
                is_clear=not is_bad,
                value=float(minute.readable),
                expected=float(minute.replicas),
                depth=float(minute.replicas),
                words=f"None of {minute.replicas} replicas of {subject.name} could be read.",
            )
