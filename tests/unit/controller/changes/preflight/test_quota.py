"""Quotas and limit ranges of the namespace."""

from __future__ import annotations

from typing import Any

from controller.changes.planner import Load
from controller.changes.preflight import preflight
from tests.support.preflight import Shelf, codes, engine, l1_of, look, memory_to, plan
from tierdeck.changes.wish import Wish

QUOTAS, RANGES = "/api/v1/namespaces/llm/resourcequotas", "/api/v1/namespaces/llm/limitranges"
SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
IDLE = Load(running=0, waiting=0, request_seconds=1)


def quota(hard: dict[str, str], used: dict[str, str], **spec: Any) -> Shelf:
    one = {"metadata": {"name": "team"}, "spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": used}}
    return Shelf({QUOTAS: [one]})


def test_memory_that_a_quota_does_not_leave_is_refused_with_the_bytes() -> None:
    # 2 pods of 20 GiB more each: 40 GiB; 300 - 270 = 30 are left, 10 GiB = 10,737,418,240 bytes are missing
    reader = quota({"requests.memory": "300Gi"}, {"requests.memory": "270Gi"})
    found = preflight(look(engine(), reader=reader, load=IDLE), plan(*memory_to("84Gi")), l1_of(60))
    assert codes(found) == ["quota"]
    assert found.refusals[0].reason == (
        "ResourceQuota llm/team leaves 30 GiB of requests.memory, and the change takes 40 GiB more: "
        "10 GiB (10,737,418,240 bytes) are missing."
    )


def test_memory_that_a_quota_leaves_passes() -> None:
    reader = quota({"limits.memory": "300Gi", "memory": "300Gi"}, {"limits.memory": "260Gi", "memory": "260Gi"})
    assert codes(preflight(look(engine(), reader=reader, load=IDLE), plan(*memory_to("84Gi")), l1_of(60))) == []


def test_the_pod_more_of_a_rollout_counts_too() -> None:
    # a GPU more meanwhile: 2 are used of 2
    reader = quota({"requests.nvidia.com/gpu": "2", "pods": "10"}, {"requests.nvidia.com/gpu": "2", "pods": "2"})
    found = preflight(look(engine(strategy=SURGE), reader=reader), plan(), Wish(strategy="session"))
    assert codes(found) == ["quota"]
    assert "leaves 0 of requests.nvidia.com/gpu, and the change takes 1 more: 1 are missing" in found.refusals[0].reason
    # at its peak both new pods and one old one: 2 × 84 + 64 - 2 × 64 = 104 GiB more than now
    tight = quota({"limits.memory": "231Gi"}, {"limits.memory": "128Gi"})
    found = preflight(look(engine(strategy=SURGE), reader=tight), plan(*memory_to("84Gi")), l1_of(60))
    assert "takes 104 GiB more: 1 GiB (1,073,741,824 bytes)" in found.refusals[0].reason


def test_a_rollout_that_takes_a_pod_away_first_needs_no_more_pods() -> None:
    reader = quota({"pods": "2", "requests.nvidia.com/gpu": "2"}, {"pods": "2", "requests.nvidia.com/gpu": "2"})
    assert codes(preflight(look(engine(), reader=reader), plan(), Wish(strategy="session"))) == []


def test_a_quota_on_some_pods_only_is_said_not_to_be_checked() -> None:
    reader = quota({"requests.memory": "1Gi"}, {}, scopes=["NotTerminating"])
    found = preflight(look(engine(), reader=reader), plan(*memory_to("84Gi")), l1_of(60))
    assert codes(found) == []
    assert [one for one in found.warnings if "ResourceQuota llm/team" in one and "not checked" in one]


def test_what_may_not_be_read_is_said() -> None:
    found = preflight(look(engine(), reader=Shelf(forbidden=[QUOTAS, RANGES])), plan(*memory_to("84Gi")), l1_of(60))
    assert codes(found) == []
    assert [one for one in found.warnings if one.startswith("Whether a ResourceQuota of llm allows it is not checked")]
    assert [one for one in found.warnings if one.startswith("Whether a LimitRange of llm allows it is not checked")]


def limit_range(kind: str, **sides: Any) -> Shelf:
    return Shelf({RANGES: [{"metadata": {"name": "caps"}, "spec": {"limits": [{"type": kind, **sides}]}}]})


def test_a_container_above_what_a_limit_range_allows_is_refused() -> None:
    # 84 - 80 = 4 GiB too much
    for kind, what in (("Container", "container vllm of Deployment llm/chat"), ("Pod", "a pod of Deployment llm/chat")):
        reader = limit_range(kind, max={"memory": "80Gi"})
        found = preflight(look(engine(), reader=reader), plan(*memory_to("84Gi")), l1_of(60))
        assert codes(found) == ["quota"]
        assert f"{what} will have 84 GiB: 4 GiB (4,294,967,296 bytes) too much" in found.refusals[0].reason


def test_a_container_below_what_a_limit_range_wants_is_refused() -> None:
    reader = limit_range("Container", min={"memory": "32Gi"})
    found = preflight(look(engine(), reader=reader), plan(*memory_to("25Gi")), l1_of(1))
    assert codes(found) == ["quota"]
    assert "wants at least 32 GiB" in found.refusals[0].reason


KUEUE = "/apis/kueue.x-k8s.io/v1beta1"
LOCALS, CLUSTERS = f"{KUEUE}/namespaces/llm/localqueues", f"{KUEUE}/clusterqueues"


def queues(**spec: Any) -> dict[str, list[dict[str, Any]]]:
    """A queue with 200 GiB, of which 170 are used."""
    resources = {"name": "any", "resources": [{"name": "memory", "nominalQuota": "200Gi"}]}
    usage = {"name": "any", "resources": [{"name": "memory", "total": "170Gi"}]}
    cluster = {
        "metadata": {"name": "team"},
        "spec": {"resourceGroups": [{"flavors": [resources]}], **spec},
        "status": {"flavorsUsage": [usage]},
    }
    return {LOCALS: [{"metadata": {"name": "q"}, "spec": {"clusterQueue": "team"}}], CLUSTERS: [cluster]}


def queued() -> dict[str, Any]:
    made = engine()
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
    return made


def test_a_queue_of_kueue_without_room_is_refused() -> None:
    # 2 × 20 GiB more; 200 - 170 = 30 are left
    at = look(queued(), reader=Shelf(queues()), load=IDLE)
    found = preflight(at, plan(*memory_to("84Gi")), l1_of(60))
    assert codes(found) == ["quota"]
    assert "ClusterQueue team leaves 30 GiB of memory" in found.refusals[0].reason
    assert "10 GiB (10,737,418,240 bytes) are missing" in found.refusals[0].reason
    # 2 × 15 = 30
    assert codes(preflight(at, plan(*memory_to("79Gi")), l1_of(55))) == []


def test_a_queue_that_may_borrow_or_can_t_be_read_is_said() -> None:
    for reader in (Shelf(queues(cohort="all")), Shelf(forbidden=[CLUSTERS]), Shelf(unserved=[LOCALS, CLUSTERS])):
        found = preflight(look(queued(), reader=reader, load=IDLE), plan(*memory_to("84Gi")), l1_of(60))
        assert codes(found) == []
        assert [one for one in found.warnings if "Kueue's queue llm/q" in one and "is not checked" in one]


def test_what_no_queue_keeps_asks_kueue_nothing() -> None:
    reader = Shelf(queues(), forbidden=[LOCALS, CLUSTERS])
    found = preflight(look(engine(), reader=reader, load=IDLE), plan(*memory_to("84Gi")), l1_of(60))
    assert not [one for one in found.warnings if "Kueue" in one]
