"""One endpoint writes most of what fills the pool."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, POSSIBLE, Finding, clock
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.units import format_count

_MORE = 1.2


class HeavyWriter:
    """By chunks that were stored, which differ in bytes where models do."""

    name = "heavy_writer"
    rules = frozenset({"pool_filling", "pool_full"})

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        stored, whole = seen.after.stored, sum(seen.after.stored.values())
        if not whole:
            return
        name = max(stored, key=lambda one: stored[one])
        share, before = stored[name] / whole, seen.before.stored.get(name, 0.0)
        words = f"{name} writes {100 * share:.0f} % of what is stored"
        times = None
        if before and seen.before.seconds and seen.after.seconds:
            times = stored[name] / seen.after.seconds * seen.before.seconds / before
            words += f", {times:.1f} times as much as in {seen.compared_with}"
        if len(stored) == 1 and times is not None and times < _MORE:
            return  # who else, and no more than ever
        others = sorted(stored, key=lambda one: -stored[one])[:3]
        evidence = ", ".join(f"{one} {format_count(stored[one])}" for one in others)
        evidence = f"chunks stored since {clock(seen.onset_at)}: {evidence}; a chunk's bytes differ by model"
        yield Finding(LIKELY if share >= 0.5 else POSSIBLE, words, evidence, at=seen.onset_at)
