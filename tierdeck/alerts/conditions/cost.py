"""Whether loading a token is dearer than computing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.recent import Recent, total
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import L2_COSTS, L2_OUTAGE, REQUESTS_DEFERRED
from tierdeck.fleet import POOL

_WINDOW_MINUTES = 30
_LEAST_TOKENS = 10_000
_CLEAR_AT = 0.8


class L2Costs:
    """Judges `l2_costs`: seconds for a token that is loaded against seconds for one that is computed."""

    def __init__(self) -> None:
        self._recent: Recent[Minute] = Recent(_WINDOW_MINUTES)

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self._recent.keep_only(scene.minutes)
        for subject, minute in scene.minutes.items():
            if self._is_disturbed(scene, subject):
                self._recent.forget(subject)
                yield Judgement(L2_COSTS.name, subject, None)
                continue
            window = [one for _, one in self._recent.add(subject, scene.at, minute)]
            load = _each(window, lambda one: one.load_seconds, lambda one: one.load_tokens)
            prefill = _each(window, lambda one: one.prefill_seconds, lambda one: one.computed_tokens)
            if load is None or prefill is None:
                yield Judgement(L2_COSTS.name, subject, None)
                continue
            yield Judgement(
                L2_COSTS.name,
                subject,
                load >= prefill,
                is_clear=load <= _CLEAR_AT * prefill,
                value=load,
                expected=prefill,
                depth=load / prefill,
                words=f"Loading a token takes {subject.name} {load * 1e6:,.0f} µs, computing one "
                f"{prefill * 1e6:,.0f} µs.",
                evidence={"load": f"{load:.3g} s a token", "prefill": f"{prefill:.3g} s a token"},
            )

    @staticmethod
    def _is_disturbed(scene: Scene, subject: Subject) -> bool:
        """While L2 is out, or requests wait for a cache that gives nothing, waits say nothing of what loading costs."""
        keys = (
            (L2_OUTAGE.name, Subject(subject.cluster, POOL)),
            (L2_OUTAGE.name, subject),
            (REQUESTS_DEFERRED.name, subject),
        )
        return any(key in scene.firing for key in keys)


Of = Callable[[Minute], float | None]


def _each(window: Sequence[Minute], seconds: Of, tokens: Of) -> float | None:
    """Seconds a token, over the minutes that tell both; None where too few were counted."""
    told = [one for one in window if seconds(one) is not None and tokens(one) is not None]
    spent, counted = total(told, seconds), total(told, tokens)
    return spent / counted if spent and counted is not None and counted >= _LEAST_TOKENS else None
