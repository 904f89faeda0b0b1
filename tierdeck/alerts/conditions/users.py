"""Which endpoints use L2 as far as they tell: an outage of it explains nothing at the others."""

from __future__ import annotations

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.minute import Minute, Scene

_MEMORY_SECONDS = 6 * 3600.0
"""As far back as a new process looks."""


class Users:
    """Remembers when each endpoint was last seen to have something below L1, and when it was read at all."""

    def __init__(self) -> None:
        self._used_at: dict[Subject, float] = {}
        self._read_at: dict[Subject, float] = {}

    def spared(self, scene: Scene) -> dict[str, tuple[str, ...]]:
        """By cluster, the endpoints that were read and told of no use of it; one that can't be read may use it.

        Each minute is to be shown once.
        """
        for known in (self._used_at, self._read_at):
            for gone in [subject for subject in known if subject not in scene.minutes]:
                del known[gone]
        found: dict[str, list[str]] = {}
        for subject, minute in scene.minutes.items():
            if minute.readable:
                self._read_at[subject] = scene.at
            if _uses(minute):
                self._used_at[subject] = scene.at
            if self._is_recent(self._read_at, subject, scene.at) and not self._is_recent(
                self._used_at, subject, scene.at
            ):
                found.setdefault(subject.cluster, []).append(subject.endpoint)
        return {cluster: tuple(sorted(names)) for cluster, names in found.items()}

    @staticmethod
    def _is_recent(known: dict[Subject, float], subject: Subject, now: float) -> bool:
        at = known.get(subject)
        return at is not None and now - at < _MEMORY_SECONDS


def _uses(minute: Minute) -> bool:
    """Its cache server counts stores or lookups, or the engine loads from below L0, whatever that is."""
    return minute.stores_submitted is not None or minute.lookup_tokens is not None or bool(minute.loaded_tokens)
