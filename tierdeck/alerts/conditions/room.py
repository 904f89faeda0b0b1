"""Whether a pool is full: by its room, by what becomes of stores, and by whether it lives at its brim."""

from __future__ import annotations

from collections.abc import Mapping

from tierdeck.account import PoolAccount
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.recent import Recent
from tierdeck.alerts.conditions.stores import ALL_STORED, is_told, stored
from tierdeck.alerts.minute import Minute, Scene

LEAST = 0.05
"""Of the capacity: with less room a pool may be full at any moment."""
_STORE_MINUTES = 5
_BRIM_MINUTES = 1440


class Room:
    """Pools in which nothing more is stored for want of room.

    A pool that has taken stores with as little room before, within a day, is kept at its brim by evictions: it is full
    only when it has no room at all.
    """

    def __init__(self) -> None:
        self._stores: Recent[Minute] = Recent(_STORE_MINUTES)
        self._brim: Recent[bool] = Recent(_BRIM_MINUTES)
        self._evicting: set[Subject] = set()
        self._told: set[str] = set()

    def is_evicting(self, subject: Subject) -> bool:
        """It has taken stores without room to speak of within a day: somebody makes room as it is needed."""
        return subject in self._evicting

    def is_told(self, subject: Subject) -> bool:
        """Somebody tells whether stores to it complete."""
        return subject.cluster in self._told

    def full(self, scene: Scene) -> frozenset[Subject]:
        """Of the scene's pools; each minute is to be shown once."""
        self._stores.keep_only(scene.minutes)
        self._brim.keep_only(scene.pools)
        windows: dict[str, list[Minute]] = {}
        for owner, minute in scene.minutes.items():
            kept = self._stores.add(owner, scene.at, minute)
            windows.setdefault(owner.cluster, []).extend(one for _, one in kept)
        self._told = {cluster for cluster, window in windows.items() if is_told(window)}
        return frozenset(self._full(scene.at, scene.pools, windows))

    def _full(
        self, at: float, pools: Mapping[Subject, PoolAccount], windows: Mapping[str, list[Minute]]
    ) -> list[Subject]:
        found = []
        for subject, pool in pools.items():
            capacity, available = pool.capacity_bytes, pool.available_bytes
            if not capacity or available is None:
                continue
            window = windows.get(subject.cluster, [])
            share, is_low = stored(window), available < LEAST * capacity
            takes_some = share is not None and share >= ALL_STORED
            if any(low for _, low in self._brim.add(subject, at, is_low and takes_some)):
                self._evicting.add(subject)
            else:
                self._evicting.discard(subject)
            takes_none = not self.is_told(subject) or (share is not None and share < ALL_STORED)
            if takes_none and is_low and (available == 0 or not self.is_evicting(subject)):
                found.append(subject)
        return found
