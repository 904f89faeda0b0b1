"""A plan turned around: each stored field back, what pods carry then, and what forbids it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.changes.kube.fields import with_edits
from controller.changes.kube.revert import plan_back
from controller.objects import Raw
from tests.unit.controller.changes.kube_objects import (
    AFTER,
    ARGS,
    BEFORE,
    CONTAINER,
    REF,
    args,
    deployment,
    entry,
    of_container,
    write,
)
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Plan, Preview, Refusal
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

ENV = (*CONTAINER, "env", "[name=LMCACHE_MAX_LOCAL_CPU_SIZE]")
NOTICE = ("spec", "deploymentConfig", "podAnnotations", "tierdeck.io/changed")


@dataclass(frozen=True, slots=True)
class OneObject:
    """A reader of one object, or of none."""

    raw: Raw | None
    listed: Mapping[str, Sequence[Raw]] = field(default_factory=dict)

    def get(self, ref: ObjectRef) -> Raw | None:
        return self.raw if ref == REF else None

    def list(self, path: str) -> Sequence[Raw]:
        return self.listed[path]

    def address_of(self, ref: ObjectRef) -> tuple[str, str]:
        return "/apis/apps/v1/namespaces/llm/deployments/chat", "apps/v1"


def made(*edits: FieldEdit, strategy: str = "", carries: tuple[Carried, ...] = ()) -> Change:
    """A change that was made, as it is stored."""
    plan = Plan((write(*edits),), carries, (REF,), (), strategy, ("what was said then",))
    was = {"strategy": "roundrobin", "L0": "0.9"}
    change = Change("east", "llm/chat", Wish(strategy="session"), "ann", "", "k", 0.0, was, id=7, state=State.KEPT)
    return replace(change, preview=Preview(plan, "", 0.0))


def refusal(change: Change, live: Raw | None) -> Refusal:
    found = plan_back(change, OneObject(live))
    assert isinstance(found, tuple)
    return found[0]


def test_each_field_goes_back_and_what_pods_carry_then_is_known_from_the_fields() -> None:
    share = Carried(REF, "vllm", Carrying.ARGUMENT, "--gpu-memory-utilization", "0.8")
    size = Carried(REF, "vllm", Carrying.ENVIRONMENT, "LMCACHE_MAX_LOCAL_CPU_SIZE", "40")
    item = {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "40"}
    edits = (args(), FieldEdit(ENV, ABSENT, item))
    done = made(*edits, strategy="session", carries=(share, size))
    back = plan_back(done, OneObject(with_edits(deployment(), edits)))
    assert isinstance(back, Plan)
    (only,) = back.writes
    assert only.edits == (FieldEdit(ENV, item, ABSENT), FieldEdit(ARGS, AFTER, BEFORE))
    assert [(one.name, one.value) for one in back.carries] == [(share.name, "0.9"), (size.name, None)]
    assert (back.strategy, back.warnings, back.restarts) == ("roundrobin", (), (REF,))


def test_what_was_made_in_part_goes_back_in_part() -> None:
    edits = (args(), FieldEdit(("spec", "replicas"), 2, 3))
    back = plan_back(made(*edits), OneObject(with_edits(deployment(), edits[:1])))
    assert isinstance(back, Plan)


def test_a_field_that_is_to_be_noticed_goes_back_to_another_value_once_more() -> None:
    notice = FieldEdit(NOTICE, ABSENT, "generation-3", "back-from-generation-3")
    done = made(args(), notice)
    back = plan_back(done, OneObject(with_edits(deployment(), (args(), notice))))
    assert isinstance(back, Plan)
    assert FieldEdit(NOTICE, "generation-3", "back-from-generation-3") in back.writes[0].edits
    unwritten = plan_back(done, OneObject(with_edits(deployment(), (args(),))))
    assert isinstance(unwritten, Plan), "the change did not get so far"


def test_what_is_back_already_is_nothing_to_do() -> None:
    assert refusal(made(args()), deployment()).code == "nothing_to_do"


def test_what_somebody_wrote_since_is_named_with_who_did() -> None:
    other = with_edits(deployment(entry("kubectl-edit", of_container({"f:args": {}}))), [args(after=["--model", "x"])])
    found = refusal(made(args()), other)
    assert found.code == "changed_meanwhile"
    assert found.reason == (
        "spec.template.spec.containers[name=vllm].args of Deployment llm/chat is ['--model', 'x'], by kubectl-edit: "
        "not what the change wrote"
    )


def test_an_object_that_is_gone_and_a_change_without_a_plan_can_not_be_taken_back() -> None:
    assert refusal(made(args()), None).reason == "Deployment llm/chat is not there any more"
    assert refusal(replace(made(args()), preview=None), deployment()).code == "not_possible"


def test_a_secret_that_stands_there_is_not_told() -> None:
    secret = [{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "redis://u:canary@x"}]
    done = made(FieldEdit((*ENV, "value"), "5", "40"))
    assert "canary" not in refusal(done, deployment(env=secret)).reason
