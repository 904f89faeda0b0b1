"""One look written to the store: what was seen, what happened, and what collectors are to scrape."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from controller.inventory import Seen
from controller.pod_proxy import pods_by_address, through_proxy
from db import Store
from tierdeck.errors import TierdeckError
from tierdeck.fleet import POOL
from tierdeck.happened import happened

NAME = "controller"
ORIGIN = "kubernetes"
_NAMED = 5
"""So many names are said one by one."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a look.

    Attributes:
        events: how many were new.
        is_changed: the inventory is another than before.
        trouble: what could not be written, and what to do; empty: all was.
    """

    events: int = 0
    is_changed: bool = False
    trouble: str = ""


def write(store: Store, seen: Seen, pod_proxy: str = "") -> Written:
    """Write all of it that can be written.

    A look that a newer one has overtaken is not written at all: its targets are as old as its facts. A name that
    another origin has declared is left out, and the others are declared.

    Args:
        pod_proxy: address of a `kubectl proxy` by way of which pods are scraped; empty: they are reached themselves.

    Raises:
        TierdeckError: the store does not take it, or the proxy's address can't be used.
    """
    cluster = seen.sighting.cluster
    events = store.sight(seen.sighting, happened)
    if events is None:
        return Written(trouble=_overtaken(store, cluster, seen.sighting.at))
    others = store.declared_by_others(cluster, ORIGIN)
    pods = pods_by_address(seen.sighting.deployed)
    endpoints = [through_proxy(pod_proxy, pods, one) for one in seen.endpoints if (one.name,) not in others]
    pools = [through_proxy(pod_proxy, pods, one) for one in seen.pools if (POOL, one.key.replica) not in others]
    is_changed = store.declare(cluster, endpoints, pools, origin=ORIGIN, actor=NAME)
    names = [*((one.name,) for one in seen.endpoints), *((POOL, one.key.replica) for one in seen.pools)]
    return Written(events, is_changed, _left_out(cluster, {name: others[name] for name in names if name in others}))


def _overtaken(store: Store, cluster: str, at: float) -> str:
    newer = next((one.at for one in store.sighted(cluster)), at)
    message = f"the look of {_clock(at)} was not written: the store has one of {_clock(newer)}"
    hint = f"Set this machine's clock, or stop the other controller of cluster {cluster}."
    return TierdeckError(message, hint).line()


def _left_out(cluster: str, foreign: Mapping[tuple[str, ...], str]) -> str:
    """Empty where nothing is."""
    if not foreign:
        return ""
    said = [
        f"{f'pool {name[1]}' if name[0] == POOL else f'endpoint {name[0]}'} (declared by {origin})"
        for name, origin in foreign.items()
    ]
    more = f" and {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    message = f"not declared from cluster {cluster}, since the name is taken: {', '.join(said[:_NAMED])}{more}"
    return TierdeckError(message, "Rename or remove it where it is declared.").line()


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))
