"""One counter under several names on one page: each interval is counted under a name that both its ends have.

Two names of one thing are never added. What a name said when it first appeared beside another one may count
from another moment, so that it is that name's baseline; until then the name used so far goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from collectors.source import Key, TargetReading

_Values = dict[Key, float]


class Names:
    """Under which name each counter of the present process was read, and what its other names said last."""

    def __init__(self, memory: Mapping[str, object] | None = None) -> None:
        """
        Args:
            memory: as `memory` wrote it, perhaps through JSON.
        """
        kept: Any = memory or {}
        self._used: dict[str, str] = dict(kept.get("names", {}))
        self._said: dict[str, _Values] = {
            name: {Key.parsed(text): value for text, value in values.items()}
            for name, values in kept.get("aliases", {}).items()
        }

    def memory(self) -> dict[str, object]:
        """What must be kept for the next start."""
        said = {name: {key.text(): value for key, value in values.items()} for name, values in self._said.items()}
        return {"names": dict(self._used), **({"aliases": said} if said else {})}

    def continued(self, reading: TargetReading, known: Collection[Key]) -> TargetReading:
        """The page under the names used so far, where a newer one has no baseline yet.

        As it is, where it goes by the same names anyhow, or lacks those used so far.

        Args:
            known: the series that this process had.
        """
        now = _names(reading)
        if now == self._used:
            return reading
        present = {(str(alias.reading), plain(alias.spelled)): alias for alias in reading.aliases}
        changed = {name: used for name, used in self._used.items() if now.get(name, used) != used}
        absent = {name: used for name, used in self._used.items() if name not in now and (name, used) in present}
        if not absent and all(self._baseline(reading, name) is not None for name in changed):
            return reading
        former = {}
        for name, used in (changed | absent).items():
            alias = present.get((name, used))
            if alias is None or any(key.reading == name and key not in alias.counters for key in known):
                return reading
            former[alias.reading] = alias
        kept = {key: value for key, value in reading.counters.items() if key.reading not in former}
        for alias in former.values():
            kept |= alias.counters
        spelled = {name: alias.spelled for name, alias in former.items()}
        return replace(
            reading, counters=kept, spelled=reading.spelled | spelled, renamed=reading.renamed | former.keys()
        )

    def changed(self, reading: TargetReading) -> frozenset[str]:
        """Readings that go by another name than at the scrape before."""
        names = _names(reading)
        if names == self._used:
            return frozenset()
        return frozenset(name for name, now in names.items() if self._used.get(name, now) != now)

    def switched(self, reading: TargetReading, counters: Mapping[Key, float]) -> _Values:
        """The counters of the scrape before, under the names that the page goes by now as far as they stood there."""
        baseline = dict(counters)
        for name in self.changed(reading):
            said = self._baseline(reading, name)
            if said is not None:
                baseline = {key: value for key, value in baseline.items() if key.reading != name} | said
                self._used[name] = _names(reading)[name]
        return baseline

    def take(self, reading: TargetReading) -> None:
        """Remember the page for the next scrape."""
        self._used |= _names(reading)
        self._said = {}
        for alias in reading.aliases:
            self._said.setdefault(plain(alias.spelled), {}).update(alias.counters)

    def forget(self) -> None:
        """Another process: it may name things as it likes."""
        self._used, self._said = {}, {}

    def _baseline(self, reading: TargetReading, name: str) -> _Values | None:
        """What the page's name of a reading said at the scrape before; None where it lacked a series."""
        said = self._said.get(_names(reading)[name], {})
        before = {key: value for key, value in said.items() if key.reading == name}
        return before if all(key in before for key in reading.counters if key.reading == name) else None


@cache
def plain(spelled: str) -> str:
    """A name, `_total` and the colon aside."""
    return spelled.removesuffix("_total").replace(":", "_")


def _names(reading: TargetReading) -> dict[str, str]:
    """The plain names of a page's counters, by reading; worked out once a page."""
    if reading.plain_names is None:
        counted = {key.reading for key in reading.counters}
        reading.plain_names = {
            str(name): plain(spelled) for name, spelled in reading.spelled.items() if name in counted
        }
    return reading.plain_names
