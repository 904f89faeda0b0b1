"""Requests that fail, and requests that wait for a cache which gives nothing."""

from __future__ import annotations

from collections.abc import Iterable

from tierdeck.alerts.conditions.recent import Recent, total
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import REQUESTS_DEFERRED, REQUESTS_FAILING
from tierdeck.units import format_ratio

_WINDOW_MINUTES = 5
_MOST_FAILED = 0.01
_LEAST_FAILED = 3
"""A single failed request among few is no trouble of the fleet."""
_STUCK_MINUTES = 2


class RequestsFailing:
    """Judges `requests_failing`: the share of requests that ended in an error of the engine over 5 minutes."""

    def __init__(self) -> None:
        self._recent: Recent[Minute] = Recent(_WINDOW_MINUTES)

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self._recent.keep_only(scene.minutes)
        for subject, minute in scene.minutes.items():
            window = [one for _, one in self._recent.add(subject, scene.at, minute)]
            failed, ended = total(window, lambda one: one.failed), total(window, lambda one: one.requests)
            if failed is None or ended is None:
                yield Judgement(REQUESTS_FAILING.name, subject, None)
                continue
            share = failed / ended if ended else 0.0
            is_bad = failed >= _LEAST_FAILED and share > _MOST_FAILED
            yield Judgement(
                REQUESTS_FAILING.name,
                subject,
                is_bad,
                is_clear=failed == 0 or share <= _MOST_FAILED / 2,
                value=share,
                expected=0.0,
                depth=share,
                words=f"{failed:,.0f} of {ended:,.0f} requests of {subject.name} failed in {_WINDOW_MINUTES} minutes "
                f"({format_ratio(share)}).",
                evidence={"failed": f"{failed:.0f}", "ended": f"{ended:.0f}"},
            )


class RequestsDeferred:
    """Judges `requests_deferred`: replicas whose requests wait for the cache while it gives nothing.

    Waiting alone is no trouble: under load a healthy engine has requests whose tokens are on their way.
    """

    def __init__(self) -> None:
        self._recent: Recent[Minute] = Recent(_STUCK_MINUTES)

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self._recent.keep_only(scene.minutes)
        for subject, minute in scene.minutes.items():
            window = [one for _, one in self._recent.add(subject, scene.at, minute)]
            if minute.deferred is None:
                yield Judgement(REQUESTS_DEFERRED.name, subject, None)
                continue
            always = set(window[0].stuck).intersection(*(one.stuck for one in window))
            stuck = sorted(always) if len(window) == _STUCK_MINUTES else []
            yield Judgement(
                REQUESTS_DEFERRED.name,
                subject,
                bool(stuck),
                is_clear=not minute.stuck,
                value=minute.deferred,
                expected=0.0,
                depth=minute.deferred,
                words=f"{minute.deferred:,.0f} requests of {subject.name} wait for the cache server of "
                f"{', '.join(stuck)}, and nothing is loaded from it.",
                evidence={"replicas": ", ".join(stuck), "deferred": f"{minute.deferred:.0f}"},
            )
