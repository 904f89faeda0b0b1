"""What the ratio's detector is taught at a start: the two weeks that are in the store."""

from __future__ import annotations

import math
from dataclasses import replace

from db import Store
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.cause import RATIO_RULES
from tierdeck.alerts.hit_ratio import HitRatioDetector

_MEMORY_SECONDS = 14 * 86400.0
_SLOT_SECONDS = 600.0
_MOST_ALERTS = 10_000
_HITS = {"": "hit_tokens", "L0": "l0", "L1": "l1", "L2": "l2"}


def learn(store: Store, ratios: HitRatioDetector, cluster: str, until: float) -> None:
    """Teach it what was usual before `until`; the time in which an alert about the ratio fired is left out."""
    since = until - _MEMORY_SECONDS
    spans = _fired(store, cluster, since, until)
    history = store.hit_history(since, until, cluster)
    ats: list[float] = (history["at"].astype("int64") / 1e6).tolist()
    owners = zip(history["cluster"].tolist(), history["endpoint"].tolist(), strict=True)
    names = ("requests", "prompt_tokens", *_HITS.values())
    figures = zip(*(history[name].tolist() for name in names), strict=True)
    for at, owner, (requests, tokens, *hits) in zip(ats, owners, figures, strict=True):
        subject = Subject(*owner)
        is_out = any(start <= at < end for start, end in spans.get(subject, ()))
        if is_out or math.isnan(tokens) or math.isnan(requests):
            continue
        told = {name: one for name, one in zip(_HITS, hits, strict=True) if not math.isnan(one)}
        ratios.learn(subject, at, requests, tokens, told)


def _fired(store: Store, cluster: str, since: float, until: float) -> dict[Subject, list[tuple[float, float]]]:
    spans: dict[Subject, list[tuple[float, float]]] = {}
    for alert in store.alerts(since, until, cluster, limit=_MOST_ALERTS):
        if alert.rule in RATIO_RULES and alert.fired_at is not None:
            span = alert.pending_at - _SLOT_SECONDS, alert.resolved_at or until
            spans.setdefault(replace(alert.subject, part=""), []).append(span)
    return spans
