"""What an LMCache server holds: L1 by its operator's object, L2 by the coordinator's quota; no engine restarts."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.edits.errors import NotEditableError
from controller.changes.planner import Look
from controller.changes.planners.deployment import DEPLOYMENT
from controller.changes.planners.lmcache import plan_on_server
from controller.changes.refused import RefusedError
from tests.support.planning import Planned, plan, refusals
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Json, Plan, Surface
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

GIB = 1 << 30
SERVERS = ObjectRef("DaemonSet", "llm", "lmcache")
ENGINE = ObjectRef("LMCacheEngine", "llm", "lmcache")
CONNECTOR = '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}'


def workload(kind: str, name: str, command: list[str], **meta: Any) -> dict[str, Any]:
    container = {"name": name, "image": "lmcache/vllm-openai:v0.5.6", "command": command}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "llm", "uid": f"u-{name}", **meta},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def fleet(*server: str, **spec: Any) -> Planned:
    """An engine, its server per node from an LMCacheEngine, and a coordinator that runs."""
    owner = {"apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine", "name": "lmcache", "uid": "e-1"}
    told = server or ("--l1-size-gb", "20.0", "--coordinator-event-reporting")
    coordinator = workload("Deployment", "coordinator", ["lmcache", "coordinator", "--port", "9301"])
    owned = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "coordinator-1", "uid": "u-rs"}]
    set_owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "coordinator", "uid": "u-coordinator"}]
    made = Planned(
        [
            workload("Deployment", "chat", ["vllm", "serve", "an/llm", "--kv-transfer-config", CONNECTOR]),
            workload("DaemonSet", "lmcache", ["lmcache", "server", *told], ownerReferences=[owner]),
            coordinator,
            {
                "kind": "ReplicaSet",
                "metadata": {"name": "coordinator-1", "namespace": "llm", "uid": "u-rs", "ownerReferences": set_owner},
            },
            {
                "kind": "Pod",
                "metadata": {"name": "coordinator-1-x", "namespace": "llm", "ownerReferences": owned, "labels": {}},
                "spec": coordinator["spec"]["template"]["spec"],
                "status": {"phase": "Running", "podIP": "10.4.0.7"},
            },
        ]
    )
    raw = {"apiVersion": "lmcache.lmcache.ai/v1alpha1", "spec": {"l1": {"sizeGB": 20}, **spec}}
    made.others.append((ENGINE, raw))
    return made


def look(made: Planned) -> Look:
    return made.look("deployment", "llm/chat")


def quota(made: Planned, wish: Wish, now: Json = ABSENT) -> Plan:
    found = plan_on_server(look(made), wish, lambda _address: now)
    assert found is not None
    return found


def test_l1_is_written_to_the_object_that_the_servers_are_rendered_from() -> None:
    found = plan(DEPLOYMENT, look(fleet()), Wish(l1_bytes=40 * GIB))
    (write,) = found.writes
    assert (write.ref, write.api_version) == (ENGINE, "lmcache.lmcache.ai/v1alpha1")
    assert write.edits == (FieldEdit(("spec", "l1", "sizeGB"), 20, 40),)
    # its operator prints one digit
    assert found.carries == (Carried(SERVERS, "lmcache", Carrying.ARGUMENT, "--l1-size-gb", "40.0"),)
    assert (found.restarts, found.loses) == ((SERVERS,), (Tier.L1,))


def test_memory_that_is_stated_there_moves_with_it() -> None:
    made = fleet(resourceOverrides={"requests": {"memory": "25Gi"}, "limits": {"memory": "38Gi"}})
    (write,) = plan(DEPLOYMENT, look(made), Wish(l1_bytes=40 * GIB)).writes
    # 20 GiB more
    assert write.edits[1:] == (
        FieldEdit(("spec", "resourceOverrides", "requests", "memory"), "25Gi", "45Gi"),
        FieldEdit(("spec", "resourceOverrides", "limits", "memory"), "38Gi", "58Gi"),
    )


@pytest.mark.parametrize(
    ("spec", "wish", "code"),
    [
        ({"extraArgs": ["--l1-size-gb", "9"]}, Wish(l1_bytes=40 * GIB), "silent_no_op"),
        ({}, Wish(l1_bytes=20 * GIB), "nothing_to_do"),
        ({}, Wish(l1_bytes=20 * GIB + GIB // 4), "not_possible"),
        ({}, Wish(l1_bytes=0), "not_possible"),
        ({}, Wish(l1_bytes=40 * GIB, l0=L0Wish(share=0.8)), "not_possible"),
    ],
)
def test_what_its_operator_would_make_something_else_of_is_refused(spec: Any, wish: Wish, code: str) -> None:
    assert list(refusals(DEPLOYMENT, look(fleet(**spec)), wish)) == [code]


def test_an_object_that_can_not_be_found_is_not_written_around() -> None:
    made = fleet()
    made.others.clear()
    assert list(refusals(DEPLOYMENT, look(made), Wish(l1_bytes=40 * GIB))) == ["unreadable"]


def test_l2_is_the_quota_of_a_salt_and_nothing_restarts() -> None:
    found = quota(fleet(), Wish(l2_bytes=50 * GIB, salt="team-a"))
    (write,) = found.writes
    assert (write.ref, write.surface) == (ObjectRef("LMCacheQuota", "llm", "coordinator/team-a"), Surface.LMCACHE_QUOTA)
    assert write.address == "http://10.4.0.7:9301/quota/team-a"
    assert write.edits == (FieldEdit(("limit_gb",), ABSENT, 50.0),)
    assert (found.restarts, found.loses, found.carries) == ((), (), ())
    assert found.warnings[0].startswith("It is the quota of requests with the cache salt team-a")


def test_a_salt_that_the_coordinator_can_t_be_told_of_is_refused() -> None:
    with pytest.raises(RefusedError, match="no quota of a cache salt with a slash, and team/a has one"):
        quota(fleet(), Wish(l2_bytes=50 * GIB, salt="team/a"))


def test_without_a_salt_it_is_of_requests_without_one() -> None:
    (write,) = quota(fleet(), Wish(l2_bytes=50 * GIB), 80.0).writes
    assert write.address.endswith("/quota/_default")
    assert write.edits == (FieldEdit(("limit_gb",), 80.0, 50.0),)


@pytest.mark.parametrize(
    ("server", "code", "words"),
    [
        (("--eviction-policy", "IsolatedLRU"), "not_possible", "keeps quotas of its own"),
        (("--l1-size-gb", "20"), "silent_no_op", "does not tell the coordinator what it keeps"),
    ],
)
def test_a_quota_that_would_do_nothing_or_harm_is_refused(server: tuple[str, ...], code: str, words: str) -> None:
    with pytest.raises(RefusedError, match=words) as refused:
        quota(fleet(*server), Wish(l2_bytes=50 * GIB, salt="team-a"))
    assert refused.value.code == code


def test_a_coordinator_that_does_not_run_once_is_refused() -> None:
    made = fleet()
    made.pick("Pod", "coordinator-1-x")["status"]["phase"] = "Pending"
    with pytest.raises(RefusedError, match="has 0 running pods, each with quotas of its own"):
        quota(made, Wish(l2_bytes=50 * GIB))


@pytest.mark.parametrize(
    ("wish", "now", "code"),
    [
        (Wish(l2_bytes=50 * GIB), 50.0, "nothing_to_do"),
        (Wish(l2_bytes=0), ABSENT, "not_possible"),
        (Wish(l2_bytes=50 * GIB, l1_bytes=GIB), ABSENT, "not_possible"),
    ],
)
def test_a_quota_as_it_is_or_of_nothing_is_refused(wish: Wish, now: Json, code: str) -> None:
    with pytest.raises((RefusedError, NotEditableError)) as refused:
        quota(fleet(), wish, now)
    assert getattr(refused.value, "code", "") == code


def test_servers_that_do_not_report_are_sized_by_their_adapter() -> None:
    adapter = '{"type": "fs_native", "base_path": "/l2", "max_capacity_gb": 80}'
    made = fleet("--l1-size-gb", "20", "--l2-adapter", adapter)
    (write,) = plan(DEPLOYMENT, look(made), Wish(l2_bytes=50 * GIB)).writes
    assert write.surface is Surface.KUBERNETES


def test_a_salt_without_a_coordinator_is_not_ignored() -> None:
    made = fleet()
    made.documents.remove(made.pick("Deployment", "coordinator"))
    found = refusals(DEPLOYMENT, look(made), Wish(l2_bytes=50 * GIB, salt="team-a"))
    assert "has no LMCache coordinator" in found["not_possible"].reason
