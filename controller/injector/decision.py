"""Whether a pod gets L2, and how: pure but for the owners that are asked for; everything else is known before."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.injector.freshness import Waits, staleness
from controller.injector.safety import MountBook, danger
from controller.injector.wired import Wired, wired
from controller.objects import Objects, Raw
from controller.reading.configs import Configs
from controller.reading.fields import mapping
from controller.reading.opted_in import Misstated, policy_of
from controller.reading.origin import Lookup, Origin, origin_of
from tierdeck.l2.file import L2File


@dataclass(frozen=True, slots=True)
class Sight:
    """What is known when a pod comes.

    Attributes:
        objects: claims, nodes, Curvine's pods and classes.
        get: asked for the pod's owners, whose newest state counts: an older one may name other weights.
        waits: of admissions that wait for an operator.
    """

    objects: Objects
    book: MountBook
    file: L2File
    get: Lookup
    waits: Waits = field(default_factory=Waits)


@dataclass(frozen=True, slots=True)
class NotOurs:
    """It did not opt in."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """It opted in, and is admitted as it is."""

    origin: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class Injected:
    """It gets L2; no operations: it has it already."""

    origin: Origin
    wired: Wired


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nothing could be decided, in time or at all: the pod is admitted as it is, whoever's it may be."""

    pod: Raw
    namespace: str
    reason: str


Decision = NotOurs | Withheld | Injected


def decide(sight: Sight, pod: Raw, namespace: str, now: float) -> Decision:
    """What becomes of a pod that is about to be made in a namespace.

    Raises:
        TierdeckError: an owner could not be asked for.
    """
    origin = origin_of(pod, namespace, sight.get)
    policy = policy_of(sight.file, origin.objects)
    if policy is None:
        return NotOurs()
    if isinstance(policy, Misstated):
        return Withheld(origin, policy.reason)
    if not sight.file.enabled:
        return Withheld(origin, "the L2 file says enabled: false, so nothing is injected")
    stale = "" if origin.missing else staleness(origin, sight.get, sight.waits)
    if stale:
        return Withheld(origin, stale)
    made = wired(origin, Configs(sight.objects, namespace), policy)
    if isinstance(made, str):
        return Withheld(origin, made)
    reason = danger(sight.objects, sight.book, namespace, mapping(pod, "spec"), policy, now)
    return Withheld(origin, reason) if reason else Injected(origin, made)


def traced(lost: Undecided, file: L2File, get: Lookup) -> Withheld | None:
    """Whose pod it is that was not decided on; None: it did not opt in.

    Raises:
        TierdeckError: an owner could not be asked for.
    """
    origin = origin_of(lost.pod, lost.namespace, get)
    return Withheld(origin, lost.reason) if policy_of(file, origin.objects) is not None else None
