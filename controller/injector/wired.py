"""How a pod is wired, whatever the state of the cluster: what the webhook does, and what the inventory expects."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.injector.mutation import Patch, Unfit, patch_of
from controller.reading.configs import Configs
from controller.reading.fields import mapping
from controller.reading.lmcache import FILE, connector_settings, uses_server
from controller.reading.model_identity import identity_of
from controller.reading.origin import Origin
from controller.reading.processes import Process, read_spec
from controller.resources import CONFIG_MAPS
from tierdeck.deployed import Component
from tierdeck.l2.identity import ModelIdentity, UnknownIdentity
from tierdeck.l2.policy import L2Policy
from tierdeck.l2.wiring import Wiring

_OVERRIDES = frozenset(
    f"lmcache.{name}"
    for name in (
        "remote_url", "remote_serde", "remote_config_url", "chunk_size", "pre_caching_hash_algorithm",
        "enable_blending", "use_layerwise",
    )
)  # fmt: skip
"""What a connector must not set: it would win over what is injected, or over what the identity is made of."""


@dataclass(frozen=True, slots=True)
class Wired:
    """The patch that wires a pod; one without operations: it has L2 already."""

    patch: Patch
    identity: ModelIdentity
    wiring: Wiring


def wired(origin: Origin, configs: Configs, policy: L2Policy) -> Wired | str:
    """What wires a pod; a text is the reason why nothing can. No ConfigMap counts: the webhook reads none."""
    configs = _without_config_maps(configs)
    engine = None if origin.missing else engine_of(origin, configs)
    if engine is None:
        return f"{origin.missing}, which it comes from, is not there" if origin.missing else "no container is an engine"
    if unusable(engine):
        return unusable(engine)
    identity = identity_of(engine, origin.endpoint, origin.source, policy)
    if isinstance(identity, UnknownIdentity):
        return f"whose KV it would be can't be told: {identity.reason}"
    wiring = Wiring(policy, identity.directory)
    patch = patch_of(origin.pod[1], engine.name, wiring, identity)
    return patch.reason if isinstance(patch, Unfit) else Wired(patch, identity, wiring)


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
    overrides = sorted(_OVERRIDES & connector_settings(engine).keys())
    if overrides:
        return f"its --kv-transfer-config sets {', '.join(overrides)}, which LMCache takes in place of its variables"
    return ""


def _without_config_maps(configs: Configs) -> Configs:
    blind = {**configs.objects.blind, CONFIG_MAPS: "the webhook reads none"}
    return replace(configs, objects=replace(configs.objects, config_maps={}, blind=blind, asked=set()))
