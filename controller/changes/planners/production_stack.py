"""production-stack's operator: VLLMRuntime and the VLLMRouter before it are written, its Deployments never.

Source: vllm-project/production-stack, operator/internal/controller/vllmrouter_controller.go (deploymentNeedsUpdate
compares replicas, image, resources and arguments; not the environment).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.api.errors import ForbiddenError, NotServedError
from controller.backends.production_stack import routers_for
from controller.changes.edits.errors import NotEditableError
from controller.changes.planner import Look
from controller.changes.planners.vllm_runtime import resize_runtime
from controller.changes.refused import RefusedError, refusal_of
from controller.changes.workloads.companions import hot_spot, kvaware_missing, session_missing, strategy_warnings
from controller.changes.workloads.place import place_in, refs_of
from controller.changes.workloads.watched_file import JSON, YAML
from controller.objects import Raw
from controller.reading.commands import Command
from controller.reading.fields import field, items, named, text, whole, words
from controller.reading.lineage import Found
from controller.resources import VLLM_ROUTERS, VLLM_RUNTIMES
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Plan, Refusal, Write
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Component, ObjectRef
from tierdeck.routing import RoutingStrategy

_LOGIC = ("spec", "routingLogic")
_CONTAINER = "router"


class ProductionStackPlanner:
    """Endpoints whose source is a VLLMRuntime."""

    names: tuple[str, ...] = ("production-stack",)

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        try:
            return _switch(look, wish.strategy) if wish.strategy else resize_runtime(look, wish)
        except (RefusedError, NotEditableError) as error:
            return (refusal_of(error, str(look.deployed.source)),)


def _switch(look: Look, strategy: str) -> Plan | tuple[Refusal, ...]:
    routers = [_live(look, ref) for ref, _ in _routers(look)]
    if not routers:
        raise RefusedError(
            "not_possible",
            f"No VLLMRouter selects {look.deployed.source}",
            "Make one whose k8sLabelSelector selects its pods.",
        )
    strategies, doubt = _strategies(look)
    if strategy not in strategies:
        raise RefusedError(
            "unknown_strategy",
            f"The VLLMRouter of this cluster has no strategy {strategy}",
            f"Choose {', '.join(strategies)}, or install a newer operator with its CRDs.",
        )
    missing = tuple(dict.fromkeys(one for router in routers for one in _missing(look, router, strategy)))
    if missing:
        return missing
    changed = [router for router in routers if text(router[1], *_LOGIC) != strategy]
    if not changed:
        raise RefusedError("nothing_to_do", f"It has {strategy} already")
    deployments = [ObjectRef("Deployment", ref.namespace, ref.name) for ref, _ in changed]
    return Plan(
        tuple(_write(look, router, strategy) for router in changed),
        tuple(Carried(ref, _CONTAINER, Carrying.ARGUMENT, "--routing-logic", strategy) for ref in deployments),
        tuple(deployments),
        strategy=strategy,
        warnings=(*doubt, *_warnings(look, routers, strategy)),
    )


def _routers(look: Look) -> list[Found]:
    source = look.deployed.source
    raw = look.objects.get(VLLM_RUNTIMES, source.namespace, source.name) or {}
    return routers_for(named(look.objects, VLLM_ROUTERS), (source, raw))


def _live(look: Look, ref: ObjectRef) -> Found:
    raw = look.reader.get(ref)
    if raw is None:
        raise RefusedError("changed_meanwhile", f"{ref} is not there any more")
    return ref, raw


def _strategies(look: Look) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the live definition allows, and a doubt about that; none where it is read."""
    name = VLLM_ROUTERS.name
    try:
        raw = look.reader.get(ObjectRef("CustomResourceDefinition", "", name))
    except (ForbiddenError, NotServedError) as error:
        raw, why = None, f" ({error})"
    else:
        why = ""
    for version in items(raw, "spec", "versions"):
        spec = ("schema", "openAPIV3Schema", "properties", "spec", "properties", "routingLogic")
        found = words(field(version, *spec), "enum")
        if text(version, "name") == VLLM_ROUTERS.versions[0] and found:
            return tuple(found), ()
    return tuple(RoutingStrategy), (f"What CustomResourceDefinition {name} allows could not be read{why}.",)


def _missing(look: Look, router: Found, strategy: str) -> Iterator[Refusal]:
    """What its router lacks, and what would win over the field."""
    ref, raw = router
    extra = Command(tuple(words(raw, "spec", "extraArgs")), f"{ref}, spec.extraArgs")
    for name in ("--routing-logic", JSON, YAML):
        if extra.has(name):
            yield Refusal(
                "silent_no_op",
                f"{ref}: spec.extraArgs has {name}, which wins over spec.routingLogic.",
                "Take it out of extraArgs first.",
            )
    if strategy == RoutingStrategy.SESSION:
        key = text(raw, "spec", "sessionKey") or extra.value("--session-key")
        yield from session_missing(key, str(ref), "Set spec.sessionKey to the header that names a session first.")
    if strategy == RoutingStrategy.KVAWARE:
        port = str(whole(raw, "spec", "lmcacheControllerPort") or "") or extra.value("--lmcache-controller-port")
        engines = [place_in(look, one, Component.ENGINE).process for one in refs_of(look, Component.ENGINE)]
        yield from kvaware_missing(look, port, str(ref), engines)


def _write(look: Look, router: Found, strategy: str) -> Write:
    ref, raw = router
    address, version = look.reader.address_of(ref)
    before = field(raw, *_LOGIC)
    return Write(ref, address, version, (FieldEdit(_LOGIC, ABSENT if before is None else before, strategy),))


def _warnings(look: Look, routers: list[Found], strategy: str) -> Iterator[str]:
    named_routers = [(str(ref), whole(raw, "spec", "replicas")) for ref, raw in routers]
    yield from (f"{ref}: its router restarts; what it remembers is lost, and streams end." for ref, _ in routers)
    engines = [place_in(look, one, Component.ENGINE).process for one in refs_of(look, Component.ENGINE)]
    yield from strategy_warnings(look, strategy, named_routers, engines)
    others = [
        str(one[0])
        for one in named(look.objects, VLLM_RUNTIMES)
        if one[0] != look.deployed.source and {ref for ref, _ in routers_for(routers, one)}
    ]
    if others:
        yield f"The same router routes to {', '.join(others)}, which switches with it."
    if strategy == RoutingStrategy.PREFIXAWARE:
        for ref, raw in routers:
            yield from hot_spot(Command(tuple(words(raw, "spec", "extraArgs"))), str(ref))
    yield from _environment(routers)


def _environment(routers: list[Found]) -> Iterator[str]:
    """Changes that come along, as the operator did not notice them so far."""
    for ref, raw in routers:
        if _has_env(raw):
            yield f"{ref}: a change of its env that the operator did not notice so far takes effect with this."


def _has_env(raw: Raw) -> bool:
    return bool(items(raw, "spec", "env"))


PRODUCTION_STACK = ProductionStackPlanner()
