"""Another strategy of the routers before an endpoint: by the file that one watches, its arguments, or a variable.

Sources: production-stack's router (`--routing-logic`, parsers/parser.py); vllm-router 0.1.17 (`--policy`, its
policies by `--help`).
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.changes.edits.errors import NotEditableError
from controller.changes.planner import Look
from controller.changes.refused import RefusedError, refusal_of
from controller.changes.workloads.companions import hot_spot, kvaware_missing, session_missing, strategy_warnings
from controller.changes.workloads.draft import Draft
from controller.changes.workloads.place import Place, place_in, refs_of
from controller.changes.workloads.watched_file import file_of, file_warnings, switch_in_file
from controller.reading.commands import Command
from controller.reading.fields import whole
from controller.reading.processes import Process
from controller.reading.routers import strategy_of
from controller.reading.surroundings import routers_of
from controller.reading.targets import is_vllm_router
from tierdeck.changes.plan import Plan, Refusal, Write
from tierdeck.deployed import Component, ObjectRef
from tierdeck.routing import RoutingStrategy

POLICIES = ("random", "round_robin", "cache_aware", "kv_aware", "power_of_two", "consistent_hash",
            "sticky_least_loaded")  # fmt: skip
"""Of vllm-router 0.1.17."""
_STICKY = ("consistent_hash", "sticky_least_loaded")
_ARGUMENTS = ("--routing-logic", "--routing-strategy", "--policy")
_VARIABLES = ("ROUTING_LOGIC", "ROUTING_STRATEGY")
_APART = ("--prefill-policy", "--decode-policy")


def switch(look: Look, strategy: str) -> Plan | tuple[Refusal, ...]:
    """The plan; or each reason against it.

    Raises:
        RefusedError, NotEditableError: there is nothing to plan on, or nothing to do.
    """
    routers = [place_in(look, ref, Component.ROUTER) for ref in refs_of(look, Component.ROUTER)]
    if not routers:
        raise RefusedError(
            "not_possible",
            f"No router is found that routes to {look.deployed.source}: a Service alone has no strategy",
            "Put a router before it, whose arguments select its pods.",
        )
    engines = [place_in(look, ref, Component.ENGINE).process for ref in refs_of(look, Component.ENGINE)]
    draft, refusals = Draft(), list[Refusal]()
    files: dict[ObjectRef, Write] = {}
    for place in routers:
        try:
            refusals += _switch_one(look, draft, files, place, strategy, engines)
        except (RefusedError, NotEditableError) as error:
            refusals.append(refusal_of(error, place.process.where))
    if refusals:
        return tuple(dict.fromkeys(refusals))
    named = [(str(place.ref), whole(place.raw, "spec", "replicas")) for place in routers]
    draft.warn(*strategy_warnings(look, strategy, named, engines), *others_warnings(look, [one.ref for one in routers]))
    return draft.plan(strategy, strategy, tuple(files.values()))


def others_warnings(look: Look, routers: Sequence[ObjectRef]) -> list[str]:
    """A router that routes to other endpoints too switches for all of them."""
    own = set(refs_of(look, Component.ENGINE))
    others = [
        str(engine[0])
        for engine, _ in look.scene.running(Component.ENGINE)
        if engine[0] not in own and {one[0] for one in routers_of(look.scene, engine)} & set(routers)
    ]
    return [f"The same router routes to {', '.join(others)}, which switches with it."] if others else []


def _switch_one(
    look: Look, draft: Draft, files: dict[ObjectRef, Write], place: Place, strategy: str, engines: Sequence[Process]
) -> list[Refusal]:
    """One router; gives what is missing for it."""
    if is_vllm_router(place.process):
        refuse_policy(place.process, strategy, engines)
        _tell(draft, place, strategy, "--policy")
        return []
    refuse_logic(place.process, strategy)
    file = file_of(place)
    if file is not None:
        write = switch_in_file(look, place, file, strategy)
        if write is not None:
            files[write.ref] = write
            draft.warn(*file_warnings(place, strategy, write))
            if strategy == RoutingStrategy.PREFIXAWARE:
                draft.warn(*hot_spot(Command(), str(place.ref)))
        return []
    missing: list[Refusal] = []
    if strategy == RoutingStrategy.SESSION:
        key = place.process.command.value("--session-key")
        missing += session_missing(key, place.process.where, "Add --session-key HEADER to its arguments first.")
    if strategy == RoutingStrategy.KVAWARE:
        port = place.process.command.value("--lmcache-controller-port")
        missing += kvaware_missing(look, port, place.process.where, engines)
    if not missing:
        _tell(draft, place, strategy, "--routing-logic")
    return missing


def refuse_logic(router: Process, strategy: str) -> None:
    """
    Raises:
        RefusedError: production-stack's router has no such strategy, or prefill and decode are apart.
    """
    if strategy not in list(RoutingStrategy):
        raise RefusedError(
            "unknown_strategy", f"{router.where} has no strategy {strategy}", f"Choose {', '.join(RoutingStrategy)}."
        )
    now = strategy_of(router).value
    if now.startswith("disaggregated"):
        raise RefusedError(
            "not_possible", f"{router.where} sends prefill and decode to engines of their own ({now}): no other fits"
        )


def refuse_policy(router: Process, strategy: str, engines: Sequence[Process]) -> None:
    """
    Raises:
        RefusedError: vllm-router has no such policy, or engines lack what it needs.
    """
    if strategy not in POLICIES:
        raise RefusedError(
            "unknown_strategy",
            f"{router.where} is vllm-router, which has no policy {strategy}",
            f"Choose {', '.join(POLICIES)}.",
        )
    apart = [name for name in _APART if router.command.has(name)]
    if apart:
        raise RefusedError("not_possible", f"{router.where} is told {apart[0]}, which --policy does not change")
    silent = [engine.where for engine in engines if not engine.command.has("--kv-events-config")]
    if strategy == "kv_aware" and silent:
        raise RefusedError(
            "not_possible",
            f"The policy kv_aware needs vLLM's KV events, and {silent[0]} has no --kv-events-config",
            "Start the engines with it first: they restart.",
        )


def _tell(draft: Draft, place: Place, strategy: str, default: str) -> None:
    """By the argument or the variable that it is told by now."""
    process = place.process
    if strategy_of(process).value == strategy:
        return
    stated = [name for name in _ARGUMENTS if process.command.has(name)]
    variables = [name for name in _VARIABLES if process.environment.get(name) is not None]
    if not stated and variables:
        draft.set(place, variables[0], strategy)
    else:
        draft.argue(place, stated[0] if stated else default, strategy)
    if strategy_of(draft.process(place)).value != strategy:
        raise RefusedError("not_possible", f"{process.where} would not be told {strategy}: something else decides")
    if strategy == RoutingStrategy.PREFIXAWARE:
        draft.warn(*hot_spot(process.command, str(place.ref)))
    draft.warn(f"{place.ref} restarts: what it remembers of prefixes and sessions is lost, and streams through it end.")
    if strategy in _STICKY:
        draft.warn(f"{strategy} keeps a session together only where clients name one; without, one engine takes all.")
