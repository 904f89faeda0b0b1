"""What every rank of an engine counts alike, counted once: however many ranks tell it, and on however many pages.

Upstream: lmcache 0.5.6, embedded in vLLM 0.32. A rank's `worker_id` is its number within its engine, so that another
`worker_id` is another rank of the same engine, which looks the same tokens up; and the same one on another page is
another engine (data parallelism), whose tokens are others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from collectors.meter import Increase
from tierdeck.readings import Reading


class Ranks:
    """How far each rank of a replica's engines has come; engines are summed.

    The increase is that of the rank that has come furthest, not the largest increase: ranks bring their counters up to
    date at moments of their own, and a page that was missed for a while brings all of that at once.
    """

    def __init__(self, memory: Mapping[str, object] | None = None) -> None:
        kept: Any = memory or {}  # as `memory` wrote it, perhaps through JSON
        self._told: dict[Reading, dict[str, float]] = {Reading(name): dict(told) for name, told in kept.items()}

    def memory(self) -> dict[str, object]:
        """What the next start needs; JSON-able."""
        return {reading.value: dict(told) for reading, told in self._told.items()}

    def increases(self, pages: Iterable[Increase]) -> dict[Reading, float]:
        """By reading, those that a page of this round tells."""
        found: dict[Reading, float] = {}
        before: dict[Reading, float] = {}
        for page in pages:
            for (reading, worker), added in page.alike.items():
                told = self._told.setdefault(reading, {})
                furthest = before.setdefault(reading, max(told.values(), default=0.0))
                # one that is met in the middle of its life is taken to be where the others are
                start = told.get(worker, 0.0 if page.first else furthest)
                told[worker] = start + added
        for reading, furthest in before.items():
            found[reading] = max(0.0, max(self._told[reading].values()) - furthest)
        return found
