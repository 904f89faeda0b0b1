"""Another routing strategy for an endpoint of HyperPod's: one field, and nothing beside it.

Source: sagemaker-hyperpod-cli, CRD v1: `intelligentRoutingSpec.enabled` can't be modified once it is set, and adding
the part to a running deployment is rejected, by the operator and not by the API server.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.planners.hyperpod_companions import companion_refusals, companion_warnings
from controller.changes.planners.hyperpod_operator import paused
from controller.changes.planners.hyperpod_rendering import LOST, back_warnings, rendering_refusals, rendering_warnings
from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.changes.planners.hyperpod_schema import read_schema
from controller.reading.fields import flag, text
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Plan, Refusal

_SPEC = ("spec", "intelligentRoutingSpec")
_FIELD = (*_SPEC, "routingStrategy")
_DEFAULT = "prefixaware"
_FLAGS = ("--routing-logic", "--routing-strategy", "--policy")
_VARIABLES = ("ROUTING_LOGIC", "ROUTING_STRATEGY")


def plan_strategy(found: HyperPodResource, strategy: str) -> Plan | tuple[Refusal, ...]:
    """The write, or each reason against it."""
    if not flag(found.raw, *_SPEC, "enabled"):
        return (
            Refusal(
                "routing_not_enabled",
                f"{found.ref} was made without spec.intelligentRoutingSpec.enabled, which can't be changed on a live "
                "endpoint.",
                "Delete the endpoint and make it anew with enabled: true.",
            ),
        )
    schema = read_schema(found)
    if strategy not in schema.strategies:
        listed = ", ".join(schema.strategies)
        return (
            Refusal("unknown_strategy", f"{found.ref} takes {listed}, and not {strategy}.", f"Choose of {listed}."),
        )
    stated = text(found.raw, *_FIELD)
    if strategy == (stated or _DEFAULT):
        return (_nothing(found, strategy),)
    refusals = [*companion_refusals(found, strategy), *rendering_refusals(found)]
    if refused := paused(found):
        refusals.append(refused)
    if refusals:
        return tuple(refusals)
    warnings = [
        f"The router of {found.ref} restarts, and forgets which prefix it sent where.",
        *rendering_warnings(found),
        *companion_warnings(found, strategy),
        *([f"{schema.doubt}, so the strategies of chart 2.2.2 are taken."] if schema.doubt else []),
    ]
    carried = tuple(_carried(found, strategy))
    if not carried:
        warnings.append("The router's pods don't state their strategy, so only its behaviour can prove it.")
    edit = FieldEdit(_FIELD, stated or ABSENT, strategy)
    return Plan(
        (found.write(edit),), carried, found.workloads, LOST, strategy, tuple(warnings), "", back_warnings(found)
    )


def _carried(found: HyperPodResource, strategy: str) -> Iterator[Carried]:
    """Where the router's pods state it now, they will; how the operator tells its router is not published."""
    router = found.router()
    if router is None:
        return
    for kind, names in ((Carrying.ARGUMENT, _FLAGS), (Carrying.ENVIRONMENT, _VARIABLES)):
        for name in names:
            stated = router.command.get(name) if kind is Carrying.ARGUMENT else router.environment.get(name)
            if stated is not None:
                yield Carried(found.routers[0][0], router.name, kind, name, strategy)
                return


def _nothing(found: HyperPodResource, strategy: str) -> Refusal:
    effective = found.look.deployed.effective.strategy.value
    if effective in ("", strategy):
        return Refusal("nothing_to_do", f"{found.ref} has the strategy {strategy} already.")
    return Refusal(
        "nothing_to_do",
        f"{found.ref} states {strategy} already, but its router runs with {effective}.",
        "The operator did not take it up: look at its status and its log.",
    )
