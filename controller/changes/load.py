"""What an endpoint carries now, from the rounds of the last minute."""

from __future__ import annotations

from collections.abc import Iterable

from controller.changes.planner import Load
from db import Store
from tierdeck.account import Answer, Gauges

_SECONDS = 60.0


def load_of(store: Store, cluster: str, endpoint: str, at: float, stale_after_seconds: float = 45.0) -> Load:
    """Requests of all replicas together; unknown where one replica does not tell, or nothing is scraped.

    Whether chat completions came is not in the store, whose metrics tell no path: `controller.probe.chats` asks.

    Raises:
        UnreachableError: the store does not answer.
    """
    start = at - max(_SECONDS, stale_after_seconds)
    found = store.accounts(start, at, cluster, endpoint, stale_after_seconds=stale_after_seconds)
    gauges = [
        replica.gauges if replica.answer is Answer.ENGINE else Gauges()
        for one in found
        for replica in one.replicas
        if not replica.copy_of
    ]
    return Load(_sum(one.running for one in gauges), _sum(one.waiting for one in gauges))


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    numbers = [one for one in known if one is not None]
    return sum(numbers) if numbers and len(numbers) == len(known) else None
