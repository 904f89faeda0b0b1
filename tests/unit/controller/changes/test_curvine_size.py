"""A pool grows by whole workers; each other way to change its size is refused with what it would cost."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.planners.curvine import CURVINE
from tests.support.planning import Planned, plan, planned, refusals
from tierdeck.changes.plan import FieldEdit
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef

GIB = 1 << 30
# a worker of the example has 200 GiB + 100 GiB; two workers have 600 GiB


def pool(*nodes: str, path: str = "/opt/dlami/nvme/curvine-data") -> Planned:
    """The example, its data in a folder of these nodes; without nodes in volumes of its own."""
    made = planned("curvine")
    if nodes:
        spec = worker(made)["template"]["spec"]
        spec["volumes"].append({"name": "data", "hostPath": {"path": path}})
        spec["nodeSelector"] = {"nvme": "true"}
        made.documents += [
            {"kind": "Node", "metadata": {"name": name, "labels": {"nvme": "true"}}, "spec": {}} for name in nodes
        ]
    return made


def worker(made: Planned) -> dict[str, Any]:
    found: dict[str, Any] = made.pick("StatefulSet", "curvine-worker")["spec"]
    return found


def look(made: Planned) -> Any:
    return made.look("curvine", "curvine/curvine")


def test_a_pool_grows_by_workers() -> None:
    found = plan(CURVINE, look(pool("a", "b", "c")), Wish(l2_bytes=900 * GIB))
    (write,) = found.writes
    assert write.ref == ObjectRef("StatefulSet", "curvine", "curvine-worker")
    assert (write.address, write.api_version) == (
        "/apis/apps/v1/namespaces/curvine/statefulsets/curvine-worker",
        "apps/v1",
    )
    assert write.edits == (FieldEdit(("spec", "replicas"), 2, 3),)
    assert (found.restarts, found.loses, found.carries) == ((), (), ())


def test_a_revert_of_it_loses_chunks_and_that_is_said_before() -> None:
    warnings = " ".join(plan(CURVINE, look(pool("a", "b", "c")), Wish(l2_bytes=900 * GIB)).warnings)
    assert "1 worker more, and empty: chunks that are there stay where they are" in warnings
    assert "A revert takes them away again, and every chunk that they hold by then is lost" in warnings
    assert "Nothing keeps two workers of StatefulSet curvine/curvine-worker from one node" in warnings


def test_a_smaller_pool_would_lose_chunks_that_lmcache_still_finds() -> None:
    (refused,) = refusals(CURVINE, look(pool()), Wish(l2_bytes=300 * GIB)).values()
    assert refused.code == "not_possible"
    assert "Curvine has no drain, so all chunks of 1 worker would be lost" in refused.reason


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (700 * GIB, "L2 can be 600 GiB (2 workers) or 900 GiB (3 workers), and not 700 GiB"),
        (100 * GIB, "L2 can be 300 GiB (1 worker), and not 100 GiB"),
    ],
)
def test_a_size_between_is_told_its_neighbours_and_what_another_size_per_worker_costs(wanted: int, words: str) -> None:
    (refused,) = refusals(CURVINE, look(pool()), Wish(l2_bytes=wanted)).values()
    assert words in refused.reason
    assert "Helm's worker.storage.dataDirs, which restarts all masters and workers at once." in refused.reason


def test_as_it_is_is_nothing_to_do() -> None:
    assert list(refusals(CURVINE, look(pool()), Wish(l2_bytes=600 * GIB))) == ["nothing_to_do"]


def test_two_workers_on_one_node_would_share_a_folder() -> None:
    (refused,) = refusals(CURVINE, look(pool("a", "b")), Wish(l2_bytes=900 * GIB)).values()
    assert "3 workers need as many nodes: they may go to 2 (a, b)." in refused.reason


def test_volumes_of_their_own_need_no_node_each() -> None:
    assert plan(CURVINE, look(pool()), Wish(l2_bytes=900 * GIB))


def test_workers_that_would_erase_their_disks_are_told() -> None:
    made = pool("a", "b", "c")
    config = made.pick("ConfigMap", "curvine-config")["data"]
    config["curvine-cluster.toml"] = config["curvine-cluster.toml"].replace("format_worker = false", "")
    warnings = plan(CURVINE, look(made), Wish(l2_bytes=900 * GIB)).warnings
    assert any("a new worker erases what its data directories hold." in one for one in warnings)


def test_a_size_that_is_not_known_is_not_guessed() -> None:
    made = pool()
    config = made.pick("ConfigMap", "curvine-config")["data"]
    config["curvine-cluster.toml"] = config["curvine-cluster.toml"].replace("[SSD:200GB]", "[SSD]")
    (refused,) = refusals(CURVINE, look(made), Wish(l2_bytes=900 * GIB)).values()
    assert refused.reason.startswith("How much a worker of pool curvine/curvine brings is not known:")


def test_workers_of_another_kind_are_not_scaled() -> None:
    made = pool()
    made.documents.remove(made.pick("StatefulSet", "curvine-worker"))
    assert (
        "has 0 apps/v1 StatefulSets of workers"
        in refusals(CURVINE, look(made), Wish(l2_bytes=900 * GIB))["not_possible"].reason
    )


@pytest.mark.parametrize("wish", [Wish(strategy="session"), Wish(l1_bytes=GIB), Wish(l0=L0Wish(share=0.5))])
def test_a_pool_is_l2_only(wish: Wish) -> None:
    assert "is L2: it has no strategy" in refusals(CURVINE, look(pool()), wish)["not_possible"].reason
