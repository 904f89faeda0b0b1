"""What makes a janitor the only one: a lease on its pool's name, and one on the directory, whatever it is called."""

from __future__ import annotations

from controller.janitor import metrics
from db import Store

LEASE_SECONDS = 60.0
_AGAIN_SECONDS = 10.0
_NEVER = float("-inf")


class Leases:
    """One process's."""

    def __init__(self, store: Store, holder: str, name: str) -> None:
        self._store = store
        self._holder = holder
        self._name = name
        self._place = ""
        self._held: dict[str, float] = {}

    def put(self, place: str) -> None:
        """The directory, as `PoolDirectory.place` has it; empty: it can't be told from others."""
        self._place = f"janitor/directory/{place}" if place else ""

    def hold(self, now: float) -> bool:
        """Whether all are this process's; asked of the store now and then, which prolongs them."""
        is_ours = all(self._has(name, now) for name in (self._name, self._place) if name)
        metrics.HOLDS.set(is_ours)
        return is_ours

    def lost_words(self) -> str:
        """Who has it; the directory is looked at anew by the next turn, since another may be mounted by then."""
        place, self._place = self._place, ""
        if self._held.get(self._name, _NEVER) > _NEVER:
            self._held.pop(place, None)
            return f"another janitor ({self._store.lease_holder(place)}) cleans this directory under another name"
        holder = self._store.lease_holder(self._name)
        return f"another janitor ({holder}) has the pool of this name; two pools need two (TIERDECK_JANITOR_POOL)"

    def drop(self) -> None:
        """Let another one begin."""
        for name in self._held:
            self._store.drop_lease(name, self._holder)

    def _has(self, name: str, now: float) -> bool:
        if now >= self._held.get(name, _NEVER) - LEASE_SECONDS + _AGAIN_SECONDS:
            is_ours = self._store.hold_lease(name, self._holder, now, LEASE_SECONDS)
            self._held[name] = now + LEASE_SECONDS if is_ours else _NEVER
        return now < self._held[name]
