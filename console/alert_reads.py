"""What pages and command both read about alerts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from console.handover import HandoverTold
from console.judging import Judging, judging
from console.moments import MARKED_FOR_FLEET
from console.rule_rows import RuleRow, rule_rows
from db import Store
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.judgement import LATE_SECONDS
from tierdeck.errors import UsageError

_MINUTE = 60.0
_MOST_EVENTS = 500
_MOST_ALERTS = 1000


def alert_of(store: Store, alert_id: int) -> Alert:
    """One alert.

    Raises:
        UsageError: there is none with that number.
    """
    found = store.alert(alert_id)
    if found is None:
        raise UsageError(f"there is no alert {alert_id}", "`tierdeck alerts --all` lists them.")
    return found


def judged_rules(store: Store, now: float, stale_after_seconds: float) -> tuple[RuleRow, ...]:
    """Every rule, by the newest whole minute that figures came for."""
    newest = min(now, store.last_at() or now)
    scene = store.scene(newest // _MINUTE * _MINUTE - _MINUTE, stale_after_seconds=stale_after_seconds)
    return rule_rows(scene, judged_by(store, now), store.limits())


def judged_by(store: Store, now: float) -> Judging:
    """Whether anybody judges the rules of each cluster."""
    return judging(store.processes(), store.judges(), {one.cluster for one in store.endpoints()}, now)


def shift(store: Store, start_at: float, now: float, stale_after_seconds: float) -> HandoverTold:
    """Everything that a handover says."""
    endpoints = [(one.cluster, one.name) for one in store.endpoints()]
    return HandoverTold(
        start_at,
        now,
        alerts=store.alerts(start_at, now, limit=_MOST_ALERTS),
        silences=store.silences(now),
        events=store.events(start_at, now, kinds=MARKED_FOR_FLEET, limit=_MOST_EVENTS),
        history=store.hit_history(start_at, now),
        endpoints=endpoints,
        rules=judged_rules(store, now, stale_after_seconds),
        trouble=judged_by(store, now).trouble,
        unjudged=(*store.unjudged(start_at, now), *_still_unjudged(store, {one for one, _ in endpoints}, now)),
    )


def _still_unjudged(store: Store, clusters: Iterable[str], now: float) -> Iterator[tuple[str, float, float]]:
    for cluster in sorted(clusters):
        judged_at = store.judged_up_to(cluster)
        if judged_at is not None and now - judged_at > LATE_SECONDS:
            yield cluster, judged_at, now
