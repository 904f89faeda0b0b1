"""Which scraped address a series belongs to, and how its series is written on that address's own page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern

from collectors.prometheus.labels import OF_TARGET, POD, first_of
from collectors.prometheus.selectors import COUNTERS, KINDS, STARTED
from tierdeck.fleet import SourceKind

_ORDER = (
    SourceKind.VLLM,
    SourceKind.LMCACHE_MP,
    SourceKind.LMCACHE,
    SourceKind.LMCACHE_COORDINATOR,
    SourceKind.ROUTER,
    SourceKind.CURVINE_FUSE,
)
_POOL_NAMES = frozenset({"capacity", "available", "fs_used"})
_MASTER_NAME = "worker_num"
_MAX_KNOWN = 1_000_000

Labels = Mapping[str, str]
_Key = tuple[tuple[str, ...], tuple[str, ...]]
"""Names and values of a series' labels."""


@dataclass(eq=False, slots=True)
class Address:
    """One target of that Prometheus.

    Attributes:
        labels: those that Prometheus put on it, and not the exporter; and `model_name`, once seen.
        names: series names of ours that it ever had.
        interval_seconds: between its scrapes; None until two were seen.
        seen_at: instant of its last scrape that is known.
    """

    labels: dict[str, str]
    names: set[str] = field(default_factory=set)
    has_copies: bool = False
    interval_seconds: float | None = None
    seen_at: float = -math.inf

    @property
    def kind(self) -> SourceKind | None:
        """What it is, by the names it has; None where they could be anybody's."""
        kinds = {KINDS[name] for name in self.names if name in KINDS}
        if self.has_copies:
            kinds.add(SourceKind.ROUTER)
        found = next((kind for kind in _ORDER if kind in kinds), None)
        if found is not None or not self.names >= _POOL_NAMES:
            return found
        return SourceKind.CURVINE_MASTER if _MASTER_NAME in self.names else SourceKind.CURVINE_WORKER

    @property
    def is_alike(self) -> bool:
        """Nothing tells it from others: neither pod nor instance."""
        return not first_of(self.labels, (*POD, "instance"))

    @property
    def told(self) -> str:
        """Where it is, for people: job and instance."""
        return " ".join(f"{name}={self.labels[name]}" for name in ("job", "instance", "pod") if self.labels.get(name))


def longest_interval(addresses: Iterable[Address]) -> float | None:
    """Seconds between the scrapes of what is scraped least often of ours; None while none is known."""
    known = [address.interval_seconds for address in addresses if address.kind is not None]
    return max((seconds for seconds in known if seconds is not None), default=None)


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A series: whose it is, and its text on that page.

    Attributes:
        key: by which it is known.
        grows: it only grows within a process; where it is less than before, another one has begun.
    """

    key: _Key
    address: Address
    text: str
    name: str
    grows: bool


class Catalogue:
    """Remembers every series it was asked for, so that the next round costs one look-up a series."""

    def __init__(self, of_target: Iterable[str] = ()) -> None:
        """
        Args:
            of_target: further labels that belong to the target.
        """
        self._of_target = OF_TARGET | frozenset(of_target)
        self._of_one: dict[tuple[str, str], frozenset[str]] = {}
        self._addresses: dict[tuple[tuple[str, str], ...], Address] = {}
        self._known: dict[_Key, Place] = {}
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._next: dict[Place, Place] = {}

    @property
    def addresses(self) -> list[Address]:
        return list(self._addresses.values())

    @property
    def size(self) -> int:
        """How many series are known."""
        return len(self._known)

    def learn_labels(self, ups: Iterable[Labels]) -> None:
        """The labels of a target's `up` are the target's own: also static ones that somebody configured.

        What was placed before of a target that has a new one is forgotten, and placed anew.
        """
        changed = set()
        for labels in ups:
            names = frozenset(labels) - OF_TARGET - {"__name__"}
            known = self._of_one.get(_one(labels), frozenset())
            if names - known:
                self._of_one[_one(labels)] = known | names
                changed.add(_one(labels))
        self._drop([address for address in self._addresses.values() if _one(address.labels) in changed])

    def forget(self, before: float) -> None:
        """Leave out what had no scrape since then: pods come and go."""
        old = [address for address in self._addresses.values() if address.seen_at < before]
        self._drop(old)
        for one in {_one(address.labels) for address in old} - {_one(address.labels) for address in self.addresses}:
            self._of_one.pop(one, None)

    def _drop(self, addresses: Iterable[Address]) -> None:
        gone = set(addresses)
        if gone:
            self._addresses = {key: one for key, one in self._addresses.items() if one not in gone}
            self._known = {key: place for key, place in self._known.items() if place.address not in gone}
            self._next.clear()

    def address(self, labels: Labels) -> Address:
        """Whose these labels are."""
        own = self._own(labels)
        of_target = {label: value for label, value in labels.items() if label in own}
        key = tuple(sorted(of_target.items()))
        found = self._addresses.get(key)
        if found is None:
            found = self._addresses[key] = Address(of_target)
        return found

    def place(self, labels: Labels, after: Place | None = None) -> Place:
        """Where a series belongs; Prometheus gives labels in the order of their names.

        Args:
            after: the series before it in the answer: what followed that one the last time is tried first.
        """
        key = (tuple(labels), tuple(labels.values()))
        guess = self._next.get(after) if after is not None else None
        if guess is not None and guess.key == key:
            return guess
        found = self._known.get(key)
        if found is None:
            found = self._learn(labels)
        if after is not None:
            self._next[after] = found
        return found

    def _learn(self, labels: Labels) -> Place:
        if len(self._known) >= _MAX_KNOWN:
            for known in (self._known, self._names, self._next):
                known.clear()
        names = tuple(labels)
        key = self._names.setdefault(names, names), tuple(map(intern, labels.values()))
        found = self._known[key] = self._read(labels, key)
        return found

    def _read(self, labels: Labels, key: _Key) -> Place:
        name = labels.get("__name__", "")
        own = self._own(labels)
        is_ours = name in KINDS
        address = self.address(labels)
        rest = {label: value for label, value in labels.items() if label not in own and label != "__name__"}
        if is_ours and "server" in rest and KINDS[name] in (SourceKind.VLLM, SourceKind.ROUTER):
            address.has_copies = True
        elif is_ours:
            address.names.add(name)
            if "model_name" in rest and KINDS[name] is SourceKind.VLLM:  # LMCache tells the model's path
                address.labels.setdefault("model_name", rest["model_name"])
        inside = ",".join(f'{label}="{_escaped(value)}"' for label, value in rest.items())
        text = intern(f"{name}{{{inside}}}" if inside else name)  # on the pages of all replicas alike
        return Place(key, address, text, intern(name), name in COUNTERS or name == STARTED)

    def _own(self, labels: Labels) -> frozenset[str]:
        return self._of_target | self._of_one.get(_one(labels), frozenset())


def _one(labels: Labels) -> tuple[str, str]:
    return labels.get("job", ""), labels.get("instance", "")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
