"""Reading back on a real cluster: what is through, what is stuck and why, and what an operator did to it."""

from __future__ import annotations

import time

import pytest

from controller.changes.changer import Progress
from tests.cluster.changing import ARGS, FLAG, GIB, SIZE, Changing, engines, write_of
from tests.cluster.hyperpod import Hyperpod, endpoint
from tests.cluster.kubelet import Kubelets
from tests.cluster.nodes import Machine
from tests.cluster.pod_states import Behaviour
from tests.cluster.rendering import EnvHandling
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Plan
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef

L0 = Wish(l0=L0Wish(share=0.8))
L1 = Wish(l1_bytes=4 * GIB)
REPLACING: Manifest = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


@pytest.fixture
def changing(cluster: Cluster, namespace: str, kubelets: Kubelets) -> Changing:
    """An engine that runs; a new pod takes the place of the old one."""
    kubelets.add_node(Machine(gpus=1, allocatable_memory="64Gi"))
    return running(cluster, namespace)


def running(cluster: Cluster, namespace: str, **spec: object) -> Changing:
    cluster.rest.apply(engines(namespace, strategy=REPLACING, **spec), manager="kubectl-client-side-apply")
    one = Changing(cluster, namespace)
    cluster.wait_until(lambda: one.live().get("status", {}).get("availableReplicas") == 1, "an engine that runs")
    return one


def carries(value: str) -> Manifest:
    return {"name": SIZE, "value": value}


def has_l1(pod: Manifest) -> bool:
    return any(one["name"] == SIZE for one in pod["spec"]["containers"][0].get("env", []))


def test_once_every_running_pod_carries_it_a_change_is_through(changing: Changing) -> None:
    done = changing.applied(Wish(l0=L0Wish(share=0.8), l1_bytes=4 * GIB))
    assert done.preview is not None
    found = changing.ended(done.preview.plan)
    assert found.progress is Progress.DONE
    assert found.words == (
        "written and rolled out; 1 running pods carry it; vllm:cache_config_info of 1 of 1 engines was not read"
    )
    (pod,) = changing.cluster.rest.objects("Pod", changing.namespace)
    assert pod["spec"]["containers"][0]["args"][-1] == "0.8"


def test_before_anything_is_applied_nothing_is_called_done(changing: Changing) -> None:
    found = changing.changer.verify(changing.planned(L0), time.time())
    assert found.progress is Progress.FAILED
    assert "kubectl-client-side-apply wrote" in found.words


def test_a_pod_that_never_becomes_ready_ends_with_the_deployments_own_deadline(
    cluster: Cluster, namespace: str, kubelets: Kubelets
) -> None:
    kubelets.add_node(Machine(gpus=1))
    changing = running(cluster, namespace, progressDeadlineSeconds=3)
    kubelets.behave(Behaviour.NEVER_READY, has_l1)
    done = changing.applied(L1)
    assert done.preview is not None
    found = changing.ended(done.preview.plan)
    assert found.progress is Progress.FAILED
    assert "ProgressDeadlineExceeded" in found.words
    assert found.next_step == "Revert the change."


def test_a_container_that_is_killed_for_memory_is_named_with_its_pod_and_node(
    changing: Changing, kubelets: Kubelets
) -> None:
    kubelets.behave(Behaviour.OOM_LOOP, has_l1)
    done = changing.applied(L1)
    assert done.preview is not None
    found = changing.ended(done.preview.plan)
    assert found.progress is Progress.FAILED
    assert found.words.startswith(f"container vllm of Pod {changing.namespace}/engine-")
    assert " on hyperpod-i-" in found.words
    assert found.words.endswith("was killed for memory (OOMKilled)")
    assert "smaller L1" in found.next_step


def test_a_crash_loop_is_named_with_its_exit_code(changing: Changing, kubelets: Kubelets) -> None:
    kubelets.behave(Behaviour.CRASH_LOOP, has_l1)
    done = changing.applied(L1)
    assert done.preview is not None
    found = changing.ended(done.preview.plan)
    assert found.progress is Progress.FAILED
    assert "ends again and again (CrashLoopBackOff, last with exit code 1)" in found.words
    assert "kubectl logs" in found.next_step


def test_a_pod_that_no_node_has_room_for_is_told_in_the_schedulers_words(changing: Changing) -> None:
    changing.wait_for_nodes(1.0)
    done = changing.applied(Wish(l1_bytes=500 * GIB))
    assert done.preview is not None
    found = changing.ended(done.preview.plan)
    assert found.progress is Progress.FAILED
    assert "finds no node: Unschedulable: 0/1 nodes are available: " in found.words
    assert "Insufficient memory" in found.words


def test_a_quota_that_forbids_the_new_pod_is_told_in_its_words(cluster: Cluster, changing: Changing) -> None:
    changing.wait_for_nodes(1.0)
    meta = {"name": "memory", "namespace": changing.namespace}
    hard = {"requests.memory": "17Gi"}
    cluster.rest.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}})

    def is_counted() -> bool:
        return bool(cluster.rest.get("ResourceQuota", "memory", changing.namespace).get("status", {}).get("used"))

    cluster.wait_until(is_counted, "the quota's count")
    done = changing.applied(L1)
    assert done.preview is not None
    found = changing.ended(done.preview.plan)
    assert found.progress is Progress.FAILED
    assert "exceeded quota: memory" in found.words


def test_who_wrote_it_back_is_named(cluster: Cluster, changing: Changing) -> None:
    done = changing.applied(L0)
    assert done.preview is not None
    cluster.rest.apply(engines(changing.namespace, strategy=REPLACING), manager="argocd-controller")
    found = changing.ended(done.preview.plan)
    assert found.progress is Progress.FAILED
    assert found.words.startswith("argocd-controller wrote spec.template.spec.containers[name=vllm].args of Deployment")
    assert found.words.endswith(" back after the change was applied")


def test_what_takes_too_long_has_failed(changing: Changing, kubelets: Kubelets) -> None:
    kubelets.behave(Behaviour.NEVER_READY, has_l1)
    done = changing.applied(L1)
    assert done.preview is not None
    plan = done.preview.plan
    changing.cluster.wait_until(lambda: changing.live()["status"].get("unavailableReplicas") == 1, "the old pod's end")
    assert changing.changer.verify(plan, time.time()).progress is Progress.WAITING
    found = changing.changer.verify(plan, time.time() - 3700)
    assert (found.progress, found.words.startswith("not through after 60 min: ")) == (Progress.FAILED, True)


def hyperpod_plan(changing: Changing, value: str = "4") -> Plan:
    """L1 of an endpoint that HyperPod's operator renders."""
    space = changing.namespace
    path = ("spec", "worker", "environmentVariables", f"[name={SIZE}]")
    source, workload = ObjectRef("InferenceEndpointConfig", space, "chat"), ObjectRef("Deployment", space, "chat")
    write = write_of(changing.reader, source, FieldEdit(path, ABSENT, carries(value)))
    return Plan((write,), (Carried(workload, "chat", Carrying.ENVIRONMENT, SIZE, value),), (workload,))


def serving(cluster: Cluster, namespace: str, kubelets: Kubelets) -> Changing:
    kubelets.add_node(Machine(gpus=8))
    cluster.rest.apply(endpoint(namespace), manager="kubectl-client-side-apply")

    def is_up() -> bool:
        found = cluster.rest.find("Deployment", "chat", namespace, "apps/v1")
        return bool((found or {}).get("status", {}).get("availableReplicas") == 1)

    cluster.wait_until(is_up, "the endpoint")
    return Changing(cluster, namespace)


def test_what_an_operator_renders_is_read_back_from_its_pods(
    cluster: Cluster, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod
) -> None:
    changing = serving(cluster, namespace, kubelets)
    plan = hyperpod_plan(changing)
    assert changing.changer.apply(plan, "")
    found = changing.ended(plan)
    assert (found.progress, found.words) == (Progress.DONE, "written and rolled out; 1 running pods carry it")


def test_what_an_operator_strips_is_no_success(
    cluster: Cluster, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod
) -> None:
    hyperpod.env = EnvHandling.STRIPS  # and gives LMCache's default instead
    changing = serving(cluster, namespace, kubelets)
    plan = hyperpod_plan(changing)
    assert changing.changer.apply(plan, "")
    young = changing.changer.verify(plan, time.time())
    assert young.progress is Progress.WAITING
    # as of a time after which an operator should have rendered it
    found = changing.ended(plan, time.time() - 200)
    assert found.progress is Progress.FAILED
    begins = f"the operator of InferenceEndpointConfig {namespace}/chat gave container chat of Pod {namespace}/chat-"
    assert found.words.startswith(begins)
    assert found.words.endswith(f" {SIZE} 5.0, not 4")
    assert found.next_step.startswith("Revert the change.")


def test_a_variable_that_a_pod_has_twice_is_named(cluster: Cluster, namespace: str, kubelets: Kubelets) -> None:
    kubelets.add_node(Machine(gpus=1))
    made = engines(namespace, strategy=REPLACING)
    env = made["spec"]["template"]["spec"]["containers"][0]["env"]
    env += [carries("5"), carries("4")]
    cluster.rest.create(made)
    changing = Changing(cluster, namespace)
    cluster.wait_until(lambda: changing.live().get("status", {}).get("availableReplicas") == 1, "an engine that runs")
    args = changing.field(ARGS)
    edit = FieldEdit(ARGS, ["x"], args)
    plan = Plan((write_of(changing.reader, changing.ref, edit),),
                (Carried(changing.ref, "vllm", Carrying.ENVIRONMENT, SIZE, "4"),))  # fmt: skip
    found = changing.ended(plan)
    assert found.progress is Progress.FAILED
    assert found.words.endswith(f"has {SIZE} 2 times (5, 4)")
    flags = Plan(plan.writes, (Carried(changing.ref, "vllm", Carrying.ARGUMENT, FLAG, "0.90"),))
    assert changing.ended(flags).progress is Progress.DONE
