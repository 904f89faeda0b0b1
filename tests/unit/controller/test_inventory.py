"""What an inventory remembers: what can't be seen, what takes time to be said, nodes that went."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from controller.backend import Found
from controller.inventory import Inventory
from controller.objects import Objects, Raw
from controller.resources import ENDPOINT_CONFIGS, NODES, PODS, STORAGE_CLASSES, Resource
from tests.support.deployed import NAME, configuration, deployed, pod
from tierdeck.deployed import Deployed, ObjectRef, Stated
from tierdeck.fleet import Endpoint, Replica, ReplicaKey

ROUNDROBIN = configuration("roundrobin")


class Shelf:
    """A backend that finds what lies there."""

    name = "shelf"

    def __init__(self, *found: Deployed) -> None:
        self.found = found

    def find(self, objects: Objects, taken: Collection[ObjectRef]) -> Sequence[Found]:
        return [Found(one, observed(one), ()) for one in self.found]


def observed(one: Deployed) -> Endpoint:
    replicas = tuple(Replica(ReplicaKey(one.cluster, one.endpoint, pod.name), ()) for pod in one.pods)
    return Endpoint(one.cluster, one.endpoint, replicas, one.backend)


def objects(blind: Mapping[Resource, str] | None = None, nodes: Sequence[Raw] = ()) -> Objects:
    shelved = {("", one["metadata"]["name"]): one for one in nodes}
    return Objects("east", {NODES: shelved}, blind or {})


def test_what_is_found_is_sighted_and_observed() -> None:
    seen = Inventory([Shelf(deployed())], (), ()).look(objects(), ("GatewayThing",), 100.0)
    assert [one.endpoint for one in seen.sighting.deployed] == [NAME]
    assert [one.name for one in seen.endpoints] == [NAME]
    assert seen.sighting.unknown_kinds == ("GatewayThing",)


def test_what_is_missing_is_gone_only_where_its_absence_was_seen() -> None:
    known = deployed()
    for blind, is_kept in (
        ({}, False),
        ({STORAGE_CLASSES: "forbidden"}, False),
        ({ENDPOINT_CONFIGS: "forbidden"}, True),
    ):
        inventory = Inventory([Shelf()], [known], ())
        inventory.remember([observed(known)])
        seen = inventory.look(objects(blind), (), 100.0)
        assert bool(seen.sighting.deployed) is is_kept, blind
        assert bool(seen.endpoints) is is_kept, blind


def test_pods_that_can_no_longer_be_seen_are_not_gone() -> None:
    known = deployed(pods=(pod(),))
    inventory = Inventory([Shelf(deployed())], [known], ())
    inventory.remember([observed(known)])
    seen = inventory.look(objects({PODS: "pods is forbidden"}), (), 100.0)
    assert seen.sighting.deployed == (known,)
    assert [len(one.replicas) for one in seen.endpoints] == [1]


def test_what_can_t_be_seen_for_want_of_a_right_comes_with_the_rule_that_grants_it() -> None:
    seen = Inventory([], (), ()).look(objects({PODS: "pods is forbidden", NODES: "served as v2 only"}), (), 1.0)
    fixes = {one.what: one.fix for one in seen.sighting.blind}
    assert fixes == {"pods": '- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}', "nodes": ""}


def test_of_two_backends_that_find_the_same_name_the_first_has_it() -> None:
    first, second = replace(deployed(), backend="first"), replace(deployed(), backend="second")
    seen = Inventory([Shelf(first), Shelf(second)], (), ()).look(objects(), (), 1.0)
    assert [one.backend for one in seen.sighting.deployed] == ["first"]


def drifting(inventory: Inventory, at: float) -> tuple[str, ...]:
    return inventory.look(objects(), (), at).sighting.deployed[0].drifting


def test_drift_is_said_only_once_it_has_lasted() -> None:
    inventory = Inventory([Shelf(deployed(effective=ROUNDROBIN))], (), (), drift_seconds=60.0)
    assert [drifting(inventory, at) for at in (0.0, 59.0, 60.0, 61.0)] == [(), (), ("strategy",), ("strategy",)]


def test_drift_that_changes_begins_anew() -> None:
    shelf = Shelf(deployed(effective=ROUNDROBIN))
    inventory = Inventory([shelf], (), (), drift_seconds=60.0)
    assert drifting(inventory, 0.0) == ()
    shelf.found = (deployed(effective=configuration("session")),)
    assert [drifting(inventory, at) for at in (50.0, 100.0, 110.0)] == [(), (), ("strategy",)]


def test_a_rollout_leaves_drift_as_it_was_said() -> None:
    off = deployed(effective=ROUNDROBIN)
    rolling = replace(off, workloads=tuple(replace(one, is_rolling=True) for one in off.workloads))
    shelf = Shelf(off)
    inventory = Inventory([shelf], (), (), drift_seconds=0.0)
    assert drifting(inventory, 0.0) == ("strategy",)
    shelf.found = (rolling,)
    assert drifting(inventory, 10.0) == ("strategy",)
    shelf.found = (deployed(),)
    assert drifting(inventory, 20.0) == ()


def test_drift_that_was_said_before_a_restart_of_ours_is_not_said_anew() -> None:
    known = replace(deployed(effective=ROUNDROBIN), drifting=("strategy",))
    inventory = Inventory([Shelf(deployed(effective=ROUNDROBIN))], [known], (), drift_seconds=60.0)
    assert drifting(inventory, 0.0) == ("strategy",)


def node(name: str, group: str = "gpu", uid: str = "") -> Raw:
    labels = {"sagemaker.amazonaws.com/instance-group-name": group}
    metadata = {"name": name, "uid": uid or f"uid-{name}", "labels": labels}
    return {"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def nodes(inventory: Inventory, at: float, *some: Raw) -> dict[str, tuple[float | None, str]]:
    seen = inventory.look(objects(nodes=some), (), at).sighting.nodes
    return {one.name: (one.gone_at, one.replaced_by) for one in seen}


def test_a_node_that_went_is_remembered_with_what_takes_its_place_for_an_hour() -> None:
    inventory = Inventory([], (), ())
    assert nodes(inventory, 0.0, node("a"), node("b")) == {"a": (None, ""), "b": (None, "")}
    assert nodes(inventory, 10.0, node("b")) == {"a": (10.0, ""), "b": (None, "")}
    assert nodes(inventory, 20.0, node("b"), node("other", "cpu"))["a"] == (10.0, "")
    assert nodes(inventory, 30.0, node("b"), node("c"))["a"] == (10.0, "c")
    assert "a" not in nodes(inventory, 10.0 + 3601.0, node("b"), node("c"))


def test_one_node_takes_the_place_of_one() -> None:
    inventory = Inventory([], (), ())
    nodes(inventory, 0.0, node("a"), node("b"))
    nodes(inventory, 10.0)
    found = nodes(inventory, 20.0, node("c"))
    assert sorted(place for _, place in found.values()) == ["", "", "c"]


def test_nodes_that_can_t_be_seen_are_not_gone() -> None:
    inventory = Inventory([], (), ())
    nodes(inventory, 0.0, node("a"))
    seen = inventory.look(objects({NODES: "nodes is forbidden"}), (), 10.0).sighting.nodes
    assert [(one.name, one.gone_at) for one in seen] == [("a", None)]


def test_what_was_rendered_does_not_take_the_place_of_what_can_no_longer_be_seen() -> None:
    known = deployed()
    rendered = replace(known, source=ObjectRef("Deployment", "inference", "chat"), source_uid="d", backend="deployment")
    for blind, source in (({ENDPOINT_CONFIGS: "forbidden"}, known.source), ({}, rendered.source)):
        seen = Inventory([Shelf(rendered)], [known], ()).look(objects(blind), (), 1.0)
        assert [one.source for one in seen.sighting.deployed] == [source]


def test_drift_that_was_said_stays_while_one_side_is_not_told() -> None:
    nothing = replace(ROUNDROBIN, strategy=Stated.unknown("no pod runs"))
    shelf = Shelf(deployed(effective=ROUNDROBIN))
    inventory = Inventory([shelf], (), (), drift_seconds=0.0)
    assert drifting(inventory, 0.0) == ("strategy",)
    shelf.found = (deployed(effective=nothing),)
    assert drifting(inventory, 10.0) == ("strategy",)
    shelf.found = (deployed(),)
    assert drifting(inventory, 20.0) == ()


def test_conditions_that_say_that_a_part_of_a_node_is_ready_are_no_pressures() -> None:
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "KernelReady", "status": "True"},
        {"type": "AcceleratedHardwareReady", "status": "False"},
        {"type": "DiskPressure", "status": "True"},
        {"type": "MemoryPressure", "status": "False"},
        {"type": "SomethingGood", "status": "True"},
    ]
    raw = {"metadata": {"name": "a", "uid": "u"}, "status": {"conditions": conditions}}
    seen = Inventory([], (), ()).look(objects(nodes=[raw]), (), 1.0)
    assert [one.pressures for one in seen.sighting.nodes] == [("DiskPressure", "NotAcceleratedHardwareReady")]
