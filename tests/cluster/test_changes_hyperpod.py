"""Changes of HyperPod's endpoints on a real API server: each write exactly, and back, whatever the operator does."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from controller.changes.changer import Progress
from tests.cluster.changing_hyperpod import ChangingHyperpod
from tests.cluster.hyperpod import OPERATOR, Hyperpod
from tests.cluster.kubelet import Kubelets
from tests.cluster.nodes import Machine
from tests.cluster.rendering import API, SYSTEM, EnvHandling
from tests.cluster.workloads import engine_deployment
from tests.support.cluster import Cluster
from tierdeck.changes.wish import L0Wish, Wish

GIB = 1 << 30
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
CANARY = "hf_canary-8f3a"


@pytest.fixture
def chat(cluster: Cluster, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod) -> Iterator[ChangingHyperpod]:
    """The endpoint, ready, of an operator that keeps variables."""
    assert hyperpod.env is EnvHandling.KEEPS
    kubelets.add_node(Machine())
    made = ChangingHyperpod(cluster, namespace)
    made.make()
    yield made
    cluster.rest.delete(made.config())


def values(chat: ChangingHyperpod) -> list[str]:
    return [one["value"] for one in chat.engine()["env"] if one["name"] == SIZE]


def test_a_strategy_is_switched_and_back_by_one_field(chat: ChangingHyperpod) -> None:
    before = chat.spec()
    change, told = chat.made(Wish(strategy="roundrobin"))
    assert told.progress is Progress.DONE, told
    routing = {**before["intelligentRoutingSpec"], "routingStrategy": "roundrobin"}
    assert chat.spec() == {**before, "intelligentRoutingSpec": routing}
    assert chat.owned() == {"f:intelligentRoutingSpec": {"f:routingStrategy": {}}}
    assert chat.router_args()[-1] == "roundrobin"
    back = chat.planned(Wish(strategy="prefixaware"), change)
    assert any("in the worst case the one engine pod restarts" in one for one in back.warnings)
    _, told = chat.made(Wish(strategy="prefixaware"), change)
    assert told.progress is Progress.DONE, told
    assert chat.spec() == before
    assert chat.router_args()[-1] == "prefixaware"


def test_l0_is_changed_and_back_and_each_pod_carries_it(chat: ChangingHyperpod) -> None:
    before = chat.spec()
    change, told = chat.made(Wish(l0=L0Wish(share=0.8)))
    assert told.progress is Progress.DONE, told
    assert chat.spec()["worker"]["args"] == ["--model", "/opt/ml/model", "--gpu-memory-utilization", "0.8"]
    assert chat.engine()["args"][-1] == "0.8"
    _, told = chat.made(Wish(l0=L0Wish(share=0.85)), change)
    assert told.progress is Progress.DONE, told
    assert chat.spec() == before


def test_l1_is_changed_and_back_with_its_memory(chat: ChangingHyperpod) -> None:
    before = chat.spec()
    # the operator renders 5 GiB; 8 GiB are 3 more: 40 + 3 = 43
    change, told = chat.made(Wish(l1_bytes=8 * GIB))
    assert told.progress is Progress.DONE, told
    worker = chat.spec()["worker"]
    assert worker["environmentVariables"] == [{"name": "PYTHONHASHSEED", "value": "0"}, {"name": SIZE, "value": "8"}]
    assert worker["resources"]["requests"]["memory"] == "43Gi"
    assert values(chat) == ["8"]
    assert chat.engine()["resources"]["requests"]["memory"] == "43Gi"
    _, told = chat.made(Wish(l1_bytes=5 * GIB), change)
    assert told.progress is Progress.DONE, told
    assert chat.spec() == before
    assert values(chat) == ["5.0"]


@pytest.mark.parametrize(
    ("handling", "rendered", "words"),
    [
        (EnvHandling.STRIPS, ["5.0"], f"{SIZE}"),
        (EnvHandling.DUPLICATES, ["5.0", "8"], f"{SIZE}"),
    ],
)
def test_an_operator_that_drops_or_doubles_the_variable_ends_the_change_as_failed(
    chat: ChangingHyperpod, hyperpod: Hyperpod, handling: EnvHandling, rendered: list[str], words: str
) -> None:
    hyperpod.upgrade("v3.2.1", handling)
    change, told = chat.made(Wish(l1_bytes=8 * GIB))
    assert values(chat) == rendered
    assert told.progress is Progress.FAILED
    assert words in told.words
    assert told.next_step
    hyperpod.upgrade("v3.2.2", EnvHandling.KEEPS)
    _, told = chat.made(Wish(l1_bytes=5 * GIB), change)
    assert told.progress is Progress.DONE, told


def test_what_the_operator_rejects_at_run_time_ends_as_failed_with_its_words(chat: ChangingHyperpod) -> None:
    """The definition has no rule for it, so a dry run passes what the operator then refuses."""
    preview = chat.changer.preview(chat.planned(Wish(strategy="roundrobin")), 1.0)
    chat.changer.apply(preview.plan, "")

    def is_failed() -> bool:  # the stand-in sets its own state now and then
        failed = {"state": "DeploymentFailed", "deploymentStatus": {"message": "routing of a live endpoint is fixed"}}
        chat.rest.merge(chat.config(), {"status": failed}, "/status")
        told = chat.changer.verify(preview.plan, time.time())
        return told.progress is Progress.FAILED and "is in the state DeploymentFailed: routing of a live" in told.words

    chat.cluster.wait_until(is_failed, "the operator's words")


def test_what_a_hand_patched_for_l2_is_not_given_up(chat: ChangingHyperpod) -> None:
    deployment = chat.rest.get("Deployment", "chat", chat.namespace, "apps/v1")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    for one in container["env"]:
        if one["name"] == "LMCACHE_REMOTE_URL":
            one["value"] = "fs://localhost:0/mnt/curvine/l2cache/"
    chat.cluster.wait_until(lambda: _patched(chat, container["env"]), "the patch by hand")
    generation = chat.config()["metadata"]["generation"]
    assert chat.refused(Wish(strategy="roundrobin")) == ["l2_would_be_lost"]
    assert chat.refused(Wish(l0=L0Wish(share=0.8))) == ["l2_would_be_lost"]
    assert chat.config()["metadata"]["generation"] == generation


def _patched(chat: ChangingHyperpod, env: object) -> bool:
    deployment = chat.rest.get("Deployment", "chat", chat.namespace, "apps/v1")
    patch = {"spec": {"template": {"spec": {"containers": [{**chat.engine(), "env": env}]}}}}
    rest = deployment["spec"]["template"]["spec"]["containers"][1:]
    patch["spec"]["template"]["spec"]["containers"] += rest
    chat.rest.merge(deployment, patch, fieldManager="kubectl-edit")
    return any("fs://" in one.get("value", "") for one in chat.engine()["env"])


def test_an_operator_that_is_paused_is_not_written_for(chat: ChangingHyperpod) -> None:
    own = chat.rest.get("Deployment", OPERATOR, SYSTEM, "apps/v1")
    chat.rest.merge(own, {"spec": {"replicas": 0}})
    assert chat.refused(Wish(strategy="roundrobin")) == ["silent_no_op"]
    chat.rest.merge(own, {"spec": {"replicas": 1}})


def test_the_live_definition_names_the_strategies_and_no_write_is_made_for_others(chat: ChangingHyperpod) -> None:
    assert chat.refused(Wish(strategy="loadaware")) == ["unknown_strategy"]
    assert chat.refused(Wish(strategy="session")) == ["session_key_missing"]
    assert "kvaware_invocation_endpoint" in chat.refused(Wish(strategy="kvaware"))


def test_a_jumpstart_model_keeps_its_other_variables_and_none_is_shown(cluster: Cluster, namespace: str) -> None:
    spec = {
        "model": {"modelId": "huggingface-llm-qwen3-8b"},
        "server": {"instanceType": "ml.g6e.4xlarge"},
        "kvCacheSpec": {"enableL1Cache": True},
        "environmentVariables": [{"name": "HF_TOKEN", "value": CANARY}, {"name": SIZE, "value": "5"}],
    }
    model = {"apiVersion": API, "kind": "JumpStartModel", "metadata": {"name": "chat", "namespace": namespace}}
    cluster.rest.apply({**model, "spec": spec}, manager="kubectl-client-side-apply")
    rendered = engine_deployment(namespace, "chat")
    container = rendered["spec"]["template"]["spec"]["containers"][0]
    container |= {"name": "chat", "env": [{"name": SIZE, "value": "5"}]}
    container["resources"] = {"limits": {"memory": "64Gi"}}
    rendered["spec"]["replicas"] = 0
    cluster.rest.apply(rendered, manager="manager")
    changing = ChangingHyperpod(cluster, namespace)
    preview = changing.changer.preview(changing.planned(Wish(l1_bytes=12 * GIB)), 1.0)
    assert CANARY not in repr(preview)
    assert changing.changer.apply(preview.plan, "")
    stored = cluster.rest.get("JumpStartModel", "chat", namespace, API)["spec"]["environmentVariables"]
    assert stored == [{"name": "HF_TOKEN", "value": CANARY}, {"name": SIZE, "value": "12"}]
