"""The causes of alerts, in the order in which they are thought of, and the search for them."""

from __future__ import annotations

from tierdeck.alerts.alert import FoundCause
from tierdeck.alerts.cause import Cause, Finding, fall
from tierdeck.alerts.causes.cache_server import CacheServer
from tierdeck.alerts.causes.capacity import Capacity
from tierdeck.alerts.causes.eviction_storm import EvictionStorm
from tierdeck.alerts.causes.heavy_writer import HeavyWriter
from tierdeck.alerts.causes.key_mismatch import KeyMismatch
from tierdeck.alerts.causes.l0_wiped import L0Wiped
from tierdeck.alerts.causes.l2_outage import L2Outage
from tierdeck.alerts.causes.metrics_lost import MetricsLost
from tierdeck.alerts.causes.queueing import Queueing
from tierdeck.alerts.causes.quota import Quota
from tierdeck.alerts.causes.resized import Resized
from tierdeck.alerts.causes.restart import Restart
from tierdeck.alerts.causes.routing_change import RoutingChange
from tierdeck.alerts.causes.unknown import CERTAINTY, Unknown
from tierdeck.alerts.causes.workload_shift import WorkloadShift
from tierdeck.alerts.circumstances import Circumstances

CAUSES: tuple[Cause, ...] = (
    MetricsLost(),
    L2Outage(),
    CacheServer(),
    Restart(),
    RoutingChange(),
    L0Wiped(),
    Resized(),
    Quota(),
    EvictionStorm(),
    Capacity(),
    WorkloadShift(),
    KeyMismatch(),
    Queueing(),
    HeavyWriter(),
    Unknown(),
)
"""What is named first among equals comes first. Source of the order: what on-call engineers can check soonest."""
MOST = 5
_LEAST = 0.08


def find_causes(seen: Circumstances) -> tuple[FoundCause, ...]:
    """The likeliest first: how sure each is, times how much of the drop it explains; `unknown` where none does."""
    weighed = [
        (_weight(seen, finding), cause.name, finding)
        for cause in CAUSES
        if seen.rule in cause.rules
        for finding in cause.find(seen)
    ]
    weighed.sort(key=lambda one: -one[0])
    if weighed and weighed[0][1] != Unknown.name:
        weighed = [one for one in weighed if one[1] != Unknown.name]
    return tuple(_named(name, finding) for weight, name, finding in weighed[:MOST] if weight >= _LEAST)


def _weight(seen: Circumstances, finding: Finding) -> float:
    change = fall(seen)
    if finding.points is None or change is None:
        return finding.certainty
    return finding.certainty * min(1.0, max(0.0, finding.points / change))


def _named(name: str, finding: Finding) -> FoundCause:
    """`points` in points, as people say them."""
    points = None if finding.points is None else round(100 * finding.points, 1)
    return FoundCause(name, finding.words, finding.evidence, points, finding.replica, finding.at)


__all__ = ["CAUSES", "CERTAINTY", "MOST", "find_causes"]
