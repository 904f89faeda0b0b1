"""What an operator renders is estimated: the Deployment as it is, with what is written to the custom resource."""

from __future__ import annotations

import copy
from typing import Any

from controller.backends.hyperpod import HYPERPOD
from controller.changes.planner import Load, Look
from controller.changes.preflight import preflight
from controller.reading.scene import Scene
from tests.support.manifests import documents, objects_of
from tests.support.preflight import Manifest, Shelf, codes, edit, l1_of, node
from tierdeck.changes.plan import FieldEdit, Plan, Write
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

SOURCE = ObjectRef("InferenceEndpointConfig", "inference", "chat")
ENGINE = ObjectRef("Deployment", "inference", "chat")
ROUTER = ObjectRef("Deployment", "hyperpod-inference-system", "chat-inference-router")


def manifests(memory: str) -> list[Manifest]:
    """The example, with memory for the worker: L1 is 40 GiB × 2 ranks = 80 GiB."""
    found = copy.deepcopy(documents("hyperpod"))
    resources: dict[str, Any] = {"limits": {"memory": memory}, "requests": {"memory": memory}}
    for one in found:
        specs = [one.get("spec", {}), one.get("spec", {}).get("template", {}).get("spec", {})]
        for spec in specs:
            for container in spec.get("containers", ()):
                if container["name"] == "chat":
                    container["resources"] = copy.deepcopy(resources)
    return found


def look(*more: Manifest, memory: str = "104Gi", seconds: float = 5) -> Look:
    objects = objects_of([*manifests(memory), *more])
    found = next(iter(HYPERPOD.find(objects, ())))
    load = Load(running=1, waiting=0, request_seconds=seconds)
    return Look(objects, Scene(objects), found.deployed, Shelf(), 1000.0, load)


def plan(*edits: FieldEdit, restarts: tuple[ObjectRef, ...] = (SOURCE, ROUTER)) -> Plan:
    return Plan((Write(SOURCE, "/x", "inference.sagemaker.aws.amazon.com/v1", edits),), (), restarts)


def memory_to(size: str) -> list[FieldEdit]:
    above = ("spec", "worker", "resources")
    return [edit((*above, side), {"memory": size}) for side in ("limits", "requests")]


def test_the_custom_resource_stands_for_the_engines_made_of_it() -> None:
    # 104 - 80 = 24 beside L1, of which 16 are enough: 16 + 100 = 116, 12 more than 104
    found = preflight(look(), plan(), l1_of(100))
    assert codes(found) == ["memory"]
    assert "Container chat of Deployment inference/chat will have 104 GiB" in found.refusals[0].reason
    assert "12 GiB (12,884,901,888 bytes) are missing" in found.refusals[0].reason


def test_memory_that_is_written_to_the_custom_resource_counts() -> None:
    assert codes(preflight(look(), plan(*memory_to("124Gi")), l1_of(100))) == []


def test_the_node_s_room_counts_what_will_be_rendered() -> None:
    # each pod asks for 124 GiB; node-1 has 130, node-2 120: 4 GiB = 4,294,967,296 bytes are missing there
    at = look(node("node-1", memory="130Gi", gpus=0), node("node-2", memory="120Gi", gpus=0))
    found = preflight(at, plan(*memory_to("124Gi")), l1_of(100))
    assert "memory" in codes(found)
    assert any("the best, node-2, has 120 GiB left" in one.reason and "(4,294,967,296 bytes)" in one.reason
               for one in found.refusals)  # fmt: skip


def test_where_an_operator_sets_the_strategy_the_fix_does_not_ask_for_another() -> None:
    # each node is filled by the pod that is there; 25 % of 2 replicas are 1 pod more and 0 fewer
    at = look(*(node(name, memory="104Gi", gpus=0) for name in ("node-1", "node-2")))
    found = preflight(at, plan(), Wish(strategy="roundrobin"))
    (one,) = [one for one in found.refusals if one.code == "surge"]
    assert one.fix == (
        "Make room on a node, or take a replica away first: InferenceEndpointConfig chat sets the strategy of "
        "Deployment inference/chat."
    )


def test_a_strategy_whose_worst_case_restarts_the_engines_is_judged_by_them_too() -> None:
    restarts = plan(edit(("spec", "intelligentRoutingSpec", "routingStrategy"), "session"), restarts=(ENGINE, ROUTER))
    found = preflight(look(), restarts, Wish(strategy="session"))
    assert codes(found) == []
    cut = [one for one in preflight(look(seconds=90), restarts, Wish(strategy="session")).warnings if "are cut" in one]
    assert [str(ENGINE) in cut[0], str(ROUTER) in cut[1], len(cut)] == [True, True, 2]
