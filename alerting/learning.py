"""What the ratio's detector is taught at a start: the two weeks that are in the store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from db import Store
from tierdeck.alerts.alert import Alert, Subject
from tierdeck.alerts.cause import LOSSES
from tierdeck.alerts.hit_ratio import HitRatioDetector
from tierdeck.alerts.hit_ratio_limits import HitRatioLimits
from tierdeck.changes.probed import MINUTE, is_probed, probed_spans
from tierdeck.fleet import POOL
from tierdeck.resolution import Resolution

_MEMORY_SECONDS = 14 * 86400.0
_SLOT_SECONDS = 600.0
_MOST_ALERTS = 10_000
_DAY_SECONDS = 86400.0
_EVERY = 500
_HITS = {"": "hit_tokens", "L0": "l0", "L1": "l1", "L2": "l2"}


def learn(
    store: Store, ratios: HitRatioDetector, cluster: str, until: float, go_on: Callable[[], None] = lambda: None
) -> None:
    """Teach it what was usual before `until`.

    The time in which an alert about a loss fired, or a probe ran, is left out; a loss that was accepted is what is
    usual since then, and nothing counts from before a counter's meaning changed.

    Args:
        go_on: called now and then.
    """
    since = until - _MEMORY_SECONDS
    fired = _fired(store, cluster, since, until)
    spans, accepted = _left_out(fired, until), _accepted(fired, until)
    for owner, restated_at in store.restated(cluster).items():
        accepted[Subject(*owner)] = max(restated_at, accepted.get(Subject(*owner), restated_at))
    probed = probed_spans(store.proofs(since - MINUTE, until))
    history = store.hit_history(since, until, cluster)
    ats: list[float] = (history["at"].astype("int64") / 1e6).tolist()
    owners = zip(history["cluster"].tolist(), history["endpoint"].tolist(), strict=True)
    names = ("requests", "prompt_tokens", *_HITS.values())
    figures = zip(*(history[name].tolist() for name in names), strict=True)
    for number, (at, owner, (requests, tokens, *hits)) in enumerate(zip(ats, owners, figures, strict=True)):
        if number % _EVERY == 0:
            go_on()
        subject = Subject(*owner)
        is_out = at < accepted.get(subject, since) or any(start <= at < end for start, end in spans.get(subject, ()))
        is_out = is_out or is_probed(probed.get(owner, ()), at, _SLOT_SECONDS)
        if is_out or math.isnan(tokens) or math.isnan(requests):
            continue
        told = {name: one for name, one in zip(_HITS, hits, strict=True) if not math.isnan(one)}
        ratios.learn(subject, at, until - at, (requests, tokens), told)


def lost_workers(store: Store, cluster: str, until: float) -> list[tuple[float, Subject, float]]:
    """Of the day before: when, which pool, and how many of its workers did not beat."""
    series = store.pool_series(until - _DAY_SECONDS, until, Resolution.TEN_MINUTES, cluster)
    away = series["lost"].fillna(0.0) + series["blacklisted"].fillna(0.0)
    ats = (series["at"].astype("int64") / 1e6).tolist()
    known = (series["lost"].notna() | series["blacklisted"].notna()).tolist()
    rows = zip(ats, series["pool"].tolist(), away.tolist(), known, strict=True)
    return [(at, Subject(cluster, POOL, pool), count) for at, pool, count, is_known in rows if is_known]


def _fired(store: Store, cluster: str, since: float, until: float) -> list[Alert]:
    alerts = store.alerts(since, until, cluster, limit=_MOST_ALERTS)
    return [alert for alert in alerts if alert.rule in LOSSES and alert.fired_at is not None]


def _left_out(fired: Iterable[Alert], until: float) -> dict[Subject, list[tuple[float, float]]]:
    spans: dict[Subject, list[tuple[float, float]]] = {}
    for alert in fired:
        if not _accepted_at(alert, until):
            span = alert.pending_at - _SLOT_SECONDS, alert.resolved_at or until
            spans.setdefault(alert.subject, []).append(span)
    return spans


def _accepted(fired: Iterable[Alert], until: float) -> dict[Subject, float]:
    found: dict[Subject, float] = {}
    for alert in fired:
        at = _accepted_at(alert, until)
        if at is not None:
            found[alert.subject] = max(at, found.get(alert.subject, at))
    return found


def _accepted_at(alert: Alert, until: float) -> float | None:
    """It was acknowledged or came with a change, and stood when that time was over: since then it is usual."""
    at = alert.usual_from
    if at is None or (alert.resolved_at or until) - at < HitRatioLimits().settle_seconds:
        return None
    return at
