"""Which scraped address a series belongs to, and how its series is written on that address's own page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from collectors.prometheus.labels import OF_TARGET, POD, first_of
from collectors.prometheus.selectors import COUNTERS, KINDS, STARTED, UP
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


@dataclass(eq=False, slots=True)
class Address:
    """One target of that Prometheus.

    Attributes:
        labels: those that Prometheus put on it, and not the exporter; and `model_name`, once seen.
        names: series names of ours that it ever had.
        interval_seconds: between its scrapes; None until two were seen.
    """

    labels: dict[str, str]
    names: set[str] = field(default_factory=set)
    has_copies: bool = False
    interval_seconds: float | None = None

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


@dataclass(frozen=True, slots=True)
class Place:
    """A series: whose it is, and its text on that page; None as address for one that is of no use.

    Attributes:
        grows: it only grows within a process; where it is less than before, another one has begun.
    """

    address: Address | None
    text: str = ""
    name: str = ""
    grows: bool = False


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
        self._known: dict[tuple[tuple[str, str], ...], Place] = {}

    @property
    def addresses(self) -> list[Address]:
        return list(self._addresses.values())

    @property
    def size(self) -> int:
        """How many series are known."""
        return len(self._known)

    @property
    def jobs(self) -> list[str]:
        """Jobs in which something of ours was found."""
        found = {address.labels.get("job", "") for address in self._addresses.values() if address.names}
        return sorted(found - {""})

    def learn_labels(self, ups: Iterable[Labels]) -> bool:
        """The labels of a target's `up` are the target's own: also static ones that somebody configured.

        Returns:
            Whether there was a new one: what was placed before must be placed anew.
        """
        is_new = False
        for labels in ups:
            names = frozenset(labels) - OF_TARGET - {"__name__"}
            known = self._of_one.get(_one(labels), frozenset())
            if names - known:
                self._of_one[_one(labels)] = known | names
                is_new = True
        if is_new:
            self._known.clear()
            self._addresses.clear()
        return is_new

    def place(self, labels: Labels) -> Place:
        """Where a series belongs; Prometheus gives labels in the order of their names."""
        key = tuple(labels.items())
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            found = self._known[key] = self._read(labels)
        return found

    def _read(self, labels: Labels) -> Place:
        name = labels.get("__name__", "")
        own = self._of_target | self._of_one.get(_one(labels), frozenset())
        of_target = {label: value for label, value in labels.items() if label in own}
        is_ours = name in KINDS
        key = tuple(sorted(of_target.items()))
        address = self._addresses.get(key)
        if address is None:
            if not is_ours and name not in (STARTED, UP):
                return Place(None)
            address = self._addresses[key] = Address(of_target)
        rest = {label: value for label, value in labels.items() if label not in own and label != "__name__"}
        if is_ours and "server" in rest and KINDS[name] in (SourceKind.VLLM, SourceKind.ROUTER):
            address.has_copies = True
        elif is_ours:
            address.names.add(name)
            if "model_name" in rest and KINDS[name] is SourceKind.VLLM:  # LMCache tells the model's path
                address.labels.setdefault("model_name", rest["model_name"])
        inside = ",".join(f'{label}="{_escaped(value)}"' for label, value in rest.items())
        return Place(address, f"{name}{{{inside}}}" if inside else name, name, name in COUNTERS or name == STARTED)


def _one(labels: Labels) -> tuple[str, str]:
    return labels.get("job", ""), labels.get("instance", "")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
