"""Whether a pod gets L2, and how: pure but for the owners that are asked for; everything else is known before."""

from __future__ import annotations

from dataclasses import dataclass

from controller.injector.mutation import Patch, Unfit, patch_of
from controller.injector.safety import MountBook, danger
from controller.objects import Objects, Raw
from controller.reading.configs import Configs
from controller.reading.fields import mapping
from controller.reading.lmcache import FILE, uses_server
from controller.reading.model_identity import identity_of
from controller.reading.opted_in import Misstated, policy_of
from controller.reading.origin import Lookup, Origin, origin_of
from controller.reading.processes import Process, read_spec
from tierdeck.deployed import Component
from tierdeck.l2.file import L2File
from tierdeck.l2.identity import ModelIdentity, UnknownIdentity
from tierdeck.l2.policy import L2Policy
from tierdeck.l2.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Sight:
    """What is known when a pod comes.

    Attributes:
        objects: claims, nodes, Curvine's pods and classes.
        get: asked for the pod's owners, whose newest state counts: an older one may name other weights.
    """

    objects: Objects
    book: MountBook
    file: L2File
    get: Lookup


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
    patch: Patch
    identity: ModelIdentity


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
    made = wired(origin, Configs(sight.objects, namespace), policy)
    if isinstance(made, str):
        return Withheld(origin, made)
    reason = danger(sight.objects, sight.book, namespace, mapping(pod, "spec"), policy, now)
    return Withheld(origin, reason) if reason else made


def wired(origin: Origin, configs: Configs, policy: L2Policy) -> Injected | str:
    """What wires a pod, whatever the state of the cluster; a text is the reason why nothing can."""
    engine = None if origin.missing else engine_of(origin, configs)
    if engine is None:
        return f"{origin.missing}, which it comes from, is not there" if origin.missing else "no container is an engine"
    if unusable(engine):
        return unusable(engine)
    ref = origin.endpoint
    identity = identity_of(engine, f"{ref.namespace}/{ref.name}", origin.source, policy)
    if isinstance(identity, UnknownIdentity):
        return f"whose KV it would be can't be told: {identity.reason}"
    patch = patch_of(origin.pod[1], engine.name, Wiring(policy, identity.directory), identity)
    return patch.reason if isinstance(patch, Unfit) else Injected(origin, patch, identity)


def engine_of(origin: Origin, configs: Configs) -> Process | None:
    """A pod's engine; in a pod of HyperPod's the container is called like its custom resource."""
    ref, raw = origin.pod
    given = {origin.source[0].name: Component.ENGINE} if origin.source is not None else {}
    return read_spec(mapping(raw, "spec"), configs, str(ref), given).of(Component.ENGINE)


def unusable(engine: Process) -> str:
    """Why the variables would be of no use; empty: they are read."""
    if engine.environment.get(FILE) is not None:
        return f"{FILE} is set: LMCache then ignores its variables, and remote_url belongs into that file"
    if uses_server(engine):
        return "it uses an LMCache server, whose L2 is its --l2-adapter"
    return ""
