"""What each backend reads off its example, and what it says of the traps."""

from __future__ import annotations

import copy
from typing import Any

from controller.backend import Backend, Found
from controller.backends import BACKENDS
from controller.resources import ENDPOINT_CONFIGS, Resource
from tests.support.manifests import documents, objects_of
from tierdeck.deployed import Deployed
from tierdeck.fleet import Endpoint, Role

GIB = 1 << 30
BY_NAME: dict[str, Backend] = {backend.name: backend for backend in BACKENDS}
Documents = list[dict[str, Any]]


def manifests(*names: str) -> Documents:
    return copy.deepcopy([one for name in names for one in documents(name)])


def pick(found: Documents, kind: str, name: str) -> dict[str, Any]:
    return next(one for one in found if (one["kind"], one["metadata"]["name"]) == (kind, name))


def find(backend: str, found: Documents) -> Found:
    return BY_NAME[backend].find(objects_of(found), ())[0]


def deployed(backend: str, found: Documents) -> Deployed:
    return find(backend, found).deployed


def urls(found: Found) -> dict[str, dict[str, str]]:
    assert isinstance(found.observed, Endpoint)
    return {one.key.replica: {target.name: target.url for target in one.targets} for one in found.observed.replicas}


def test_hyperpod_states_sizes_in_three_places_and_pods_carry_them() -> None:
    one = deployed("hyperpod", manifests("hyperpod"))
    configured, effective = one.configured, one.effective
    assert (configured.strategy.value, effective.strategy.value) == ("prefixaware", "prefixaware")
    assert configured.l0.text == effective.l0.text == "--gpu-memory-utilization 0.9"
    # 40 GiB × 2 ranks = 80 GiB
    assert configured.l1.size_bytes == effective.l1.size_bytes == 80 * GIB
    assert configured.l2.text == effective.l2.text == "tieredstorage"
    assert (one.wanted, one.changed_by, one.is_settled, one.drift()) == (2, "kubectl-edit", True, {})
    assert [owner.tool for owner in one.owners] == ["argo-cd", "hyperpod-operator", "keda", "kubectl-edit"]
    assert one.problems == ()


def test_hyperpod_is_scraped_at_the_port_that_it_states() -> None:
    assert urls(find("hyperpod", manifests("hyperpod"))) == {
        "chat-5f6d-aaaaa": {"vllm": "http://10.0.0.11:8000/metrics"},
        "chat-5f6d-bbbbb": {"vllm": "http://10.0.0.12:8000/metrics"},
        "_fleet": {"router.9d-xyz": "http://10.0.0.20:8081/metrics"},
    }


def test_hyperpod_variables_that_the_operator_strips_or_doubles_are_named() -> None:
    found = manifests("hyperpod")
    spec = pick(found, "Deployment", "chat")["spec"]["template"]["spec"]
    variables = spec["containers"][0]["env"]  # the pods share it
    variables[:] = [one for one in variables if one["name"] != "LMCACHE_MAX_LOCAL_CPU_SIZE"]
    variables.append({"name": "LMCACHE_REMOTE_URL", "value": "sagemaker-hyperpod://again"})
    one = deployed("hyperpod", found)
    source = "InferenceEndpointConfig inference/chat"
    assert one.problems == (
        f"Deployment inference/chat: the operator left out LMCACHE_MAX_LOCAL_CPU_SIZE, which {source} sets.",
        f"{source}: LMCACHE_REMOTE_URL is set more than once in 2 pods; the last one wins.",
    )
    # LMCache's default of 5 GiB, times 2 ranks
    assert one.drift() == {"L1": ("40 GiB × 2 ranks", "5 GiB × 2 ranks")}


def test_hyperpod_l2_on_curvine_is_a_patch_that_the_next_rendering_drops() -> None:
    found = manifests("hyperpod", "curvine")
    pick(found, "PersistentVolumeClaim", "curvine-pvc")["metadata"]["namespace"] = "inference"
    spec = pick(found, "Deployment", "chat")["spec"]["template"]["spec"]
    patched = {
        "name": "cache", "persistentVolumeClaim": {"claimName": "curvine-pvc"},
    }  # fmt: skip
    for one in (spec, *(each["spec"] for each in found if each["metadata"]["name"].startswith("chat-5f6d-"))):
        one["volumes"] = [patched]
    container = spec["containers"][0]
    container["volumeMounts"] = [{"name": "cache", "mountPath": "/mnt/curvine/l2cache"}]
    pick_env = next(one for one in container["env"] if one["name"] == "LMCACHE_REMOTE_URL")
    pick_env["value"] = "fs://localhost:0/mnt/curvine/l2cache/"
    got = deployed("hyperpod", found)
    words = "Curvine pool curvine/curvine, claim inference/curvine-pvc at /mnt/curvine/l2cache"
    # (200 + 100) GiB × 2 workers
    assert (got.configured.l2.text, got.configured.l2.size_bytes) == (words, 600 * GIB)
    assert (got.effective.l2.text, got.effective.l2.size_bytes) == (words, 600 * GIB)
    assert [claim.name for claim in got.claims] == ["curvine-pvc"]
    assert any("the operator's next rendering drops it" in problem for problem in got.problems)


def test_hyperpod_prefill_and_decode_have_their_roles() -> None:
    found = manifests("hyperpod")
    source = pick(found, "InferenceEndpointConfig", "chat")["spec"]
    source["pdSpec"] = {"prefillSpec": {"replicas": 2, "args": ["--gpu-memory-utilization=0.8"]}, "decodingSpec": {}}
    deployment = pick(found, "Deployment", "chat")
    deployment["metadata"]["name"] = "prefill-chat"
    deployment["metadata"]["labels"] = {"inference.sagemaker.aws.amazon.com/dpd-role": "prefill"}
    for each in found:
        for owner in each["metadata"].get("ownerReferences", ()):
            if (owner["kind"], owner["name"]) == ("Deployment", "chat"):
                owner["name"] = "prefill-chat"
    one = find("hyperpod", found)
    assert isinstance(one.observed, Endpoint)
    assert {replica.role for replica in one.observed.replicas if not replica.key.shared} == {Role.PRODUCER}
    assert one.deployed.wanted == 3  # 2 prefill + 1 decode, the CRD's default
    assert one.deployed.configured.l0.reason == (
        "the workers differ: --gpu-memory-utilization 0.8 (1), --gpu-memory-utilization 0.9 (1)"
    )


def test_hyperpod_prefill_and_decode_keep_the_shared_arguments() -> None:
    found = manifests("hyperpod")
    source = pick(found, "InferenceEndpointConfig", "chat")["spec"]
    source["pdSpec"] = {"prefillSpec": {"args": ["--max-num-seqs", "8"]}, "decodingSpec": {"args": ["--x", "1"]}}
    configured = deployed("hyperpod", found).configured
    # both have the shared 0.9 and two ranks: 40 GiB × 2
    assert configured.l0.text == "--gpu-memory-utilization 0.9"
    assert configured.l1.size_bytes == 80 * GIB


def test_hyperpod_that_may_not_route_has_no_strategy_and_says_why() -> None:
    found = manifests("hyperpod")
    pick(found, "InferenceEndpointConfig", "chat")["spec"]["intelligentRoutingSpec"] = {"enabled": False}
    found.remove(pick(found, "Deployment", "chat-inference-router"))
    one = deployed("hyperpod", found)
    assert one.configured.strategy.reason == "intelligentRoutingSpec is not enabled, so it has no router"
    assert one.effective.strategy.reason == one.configured.strategy.reason


def test_a_field_of_a_wrong_type_is_a_sentence() -> None:
    found = manifests("hyperpod")
    pick(found, "InferenceEndpointConfig", "chat")["spec"]["worker"]["args"] = "--x"
    assert "InferenceEndpointConfig inference/chat: spec.worker.args is not a list, so it is not read." in (
        deployed("hyperpod", found).problems
    )


def test_a_jumpstart_model_can_not_set_l0() -> None:
    one = deployed("hyperpod-jumpstart", manifests("hyperpod-jumpstart"))
    assert one.configured.l0.reason == "JumpStartModel has no arguments, so L0 can't be set there"
    assert (one.configured.l1.size_bytes, one.configured.l2.size_bytes) == (0, 0)
    assert one.effective.l0.reason == "no pod runs"


def test_an_endpoint_without_pods_is_there_with_no_replicas() -> None:
    observed = find("hyperpod-jumpstart", manifests("hyperpod-jumpstart")).observed
    assert isinstance(observed, Endpoint)
    assert observed.replicas == ()


def test_production_stack_says_what_its_operator_does_not_notice() -> None:
    one = deployed("production-stack", manifests("production-stack"))
    assert one.configured.strategy.value == "kvaware"
    assert one.drift() == {"L0": ("--gpu-memory-utilization 0.85", "--gpu-memory-utilization 0.80")}
    assert one.configured.l1.reason == "max_local_cpu_size 4Gi is not a plain number: LMCache takes none from it"
    assert any("cpuOffloadingBufferSize 4Gi is not a plain number" in problem for problem in one.problems)
    assert "does not notice changes" in one.problems[-1]
    assert [str(workload.ref) for workload in one.workloads] == [
        "Deployment serving/coder",
        "Deployment serving/front",
        "Deployment serving/cache",
    ]


def test_the_tag_of_lmcache_s_image_is_lmcache_s_version() -> None:
    observed = find("production-stack", manifests("production-stack")).observed
    assert isinstance(observed, Endpoint)
    assert observed.replicas[0].versions == (("lmcache", "0.3.9"),)


def test_the_file_that_a_router_watches_wins_over_its_arguments() -> None:
    found = manifests("production-stack-helm")
    one = deployed("production-stack-helm", found)
    assert (one.configured.strategy.value, one.effective.strategy.value) == ("session", "session")
    found.remove(pick(found, "ConfigMap", "routing"))
    unread = deployed("production-stack-helm", found)
    assert "which is missing or was not read yet" in unread.configured.strategy.reason


def test_the_chart_s_disk_size_alone_is_a_problem() -> None:
    one = deployed("production-stack-helm", manifests("production-stack-helm"))
    what = "LMCACHE_MAX_LOCAL_DISK_SIZE is set without LMCACHE_LOCAL_DISK, so no disk is used."
    assert one.problems == (f"Deployment stack/stack-llama-deployment-vllm: {what}",)
    assert [owner.tool for owner in one.owners] == ["helm"]


def test_a_plain_deployment_is_read_from_its_shell_script() -> None:
    one = find("deployment", manifests("deployment", "curvine"))
    configured = one.deployed.configured
    # 16 GiB × 2 ranks; the script's export of 30 wins over the variable's 5: 30 GiB × 2 ranks
    assert (configured.l0.size_bytes, configured.l1.size_bytes) == (32 * GIB, 60 * GIB)
    assert configured.l2.size_bytes == 600 * GIB
    assert (configured.strategy.value, one.deployed.model) == ("cache_aware", "mistral")
    assert urls(one) == {
        "mistral-1-a": {
            "vllm": "http://[fd00::5]:8080/metrics",
            "lmcache.0": "http://[fd00::5]:7000/metrics",  # 6999 + 1 + rank
            "lmcache.1": "http://[fd00::5]:7001/metrics",
        },
        "_fleet": {"router.1-z": "http://10.4.0.9:29001/metrics"},
    }
    assert [pod.trouble for pod in one.deployed.pods][1] == "Unschedulable: 0/3 nodes are available"


def test_a_router_that_does_not_say_whom_it_routes_to_is_not_taken_for_anybody_s() -> None:
    found = manifests("deployment")
    router = pick(found, "Deployment", "gate")["spec"]["template"]["spec"]["containers"][0]
    router["command"] = ["vllm-router", "--worker-urls", "http://other:8080"]
    one = deployed("deployment", found)
    assert one.configured.strategy.reason == "no router is found that routes to it"
    assert "Deployment llm/gate is a router, but its arguments don't say" in one.problems[0]


def plain(found: Documents, blind: dict[Resource, str]) -> list[Deployed]:
    (backend,) = [one for one in BACKENDS if one.name == "deployment"]
    return [one.deployed for one in backend.find(objects_of(found, blind), ())]


def test_what_an_unseen_operator_made_is_a_plain_deployment_that_says_so() -> None:
    found = [one for one in manifests("hyperpod") if one["kind"] != "InferenceEndpointConfig"]
    (one,) = plain(found, {ENDPOINT_CONFIGS: "forbidden"})
    assert one.problems[-1] == (
        "Deployment inference/chat is made by InferenceEndpointConfig chat, which is not read here: "
        "a change belongs there."
    )
    assert "hyperpod-operator" in {owner.tool for owner in one.owners}


def test_what_is_left_of_an_endpoint_that_was_deleted_is_no_endpoint() -> None:
    found = [one for one in manifests("hyperpod") if one["kind"] != "InferenceEndpointConfig"]
    assert plain(found, {}) == []
    engine = manifests("deployment")
    pick(engine, "Deployment", "mistral")["metadata"]["deletionTimestamp"] = "2026-11-30T08:00:00Z"
    assert plain(engine, {}) == []


def test_an_lmcache_server_of_the_node_is_a_shared_target() -> None:
    connector = '{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both"}'
    engine = {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.32.0",
                              "args": ["--kv-transfer-config", connector]}], "nodeName": "node-1"}  # fmt: skip
    server = {"containers": [{"name": "server", "image": "lmcache/standalone:v0.5.6",
                              "command": ["lmcache", "server", "--l1-size-gb", "60", "--http-port", "8090"]}],
              "nodeName": "node-1"}  # fmt: skip

    def workload(kind: str, namespace: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        return {"kind": kind, "metadata": {"namespace": namespace, "name": name}, "spec": {"template": {"spec": spec}}}

    def pod(owner: dict[str, Any], suffix: str, address: str) -> dict[str, Any]:
        owned = {"kind": owner["kind"], "name": owner["metadata"]["name"]}
        metadata = {**owner["metadata"], "name": f"{owned['name']}-{suffix}", "ownerReferences": [owned]}
        status = {"phase": "Running", "podIP": address}
        return {"kind": "Pod", "metadata": metadata, "spec": owner["spec"]["template"]["spec"], "status": status}

    chat, cache = workload("StatefulSet", "ns", "chat", engine), workload("DaemonSet", "lm", "cache", server)
    found = [chat, cache, pod(chat, "0", "10.0.0.1"), pod(cache, "x", "10.0.0.2")]
    one = find("deployment", found)
    assert urls(one) == {
        "chat-0": {"vllm": "http://10.0.0.1:8000/metrics"},
        "_fleet": {"lmcache-mp.cache-x": "http://10.0.0.2:8090/metrics"},
    }
    assert one.deployed.configured.l1.text == one.deployed.effective.l1.text == "60 GiB per node"
