"""The set-up stages on a real API server: a policy in place of the webhook, format flags that are watched."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from controller.injector.mutation import ANNOTATION, Patch, patch_of
from controller.looking import look_once
from controller.stage import Evidence, State, View, Wishes
from controller.stages.engines import engines_of
from controller.stages.l2_wiring import L2_WIRING
from controller.stages.policy_target import PolicyTarget, target_of
from tests.cluster.hyperpod import Hyperpod, endpoint
from tests.cluster.injecting import has_l2
from tests.cluster.kubelet import Kubelets
from tests.cluster.nodes import Machine
from tests.support.cluster import Cluster
from tests.support.json_patch import patched
from tests.support.kube_rest import Manifest
from tierdeck.settings import Settings

URL = {"name": "LMCACHE_REMOTE_URL", "value": "sagemaker-hyperpod://$(NODE_IP):9200"}
ENV = [
    {"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
    URL,
    {"name": "LMCACHE_CHUNK_SIZE", "value": "256"},
    {**URL, "value": "redis://elsewhere:6379"},
    {"name": "LMCACHE_REMOTE_SERDE", "value": "cachegen"},
]
CLAIM = {"persistentVolumeClaim": {"claimName": "curvine-pvc"}}


def deployment(namespace: str) -> Manifest:
    """An engine that opted in, with its variables as an operator may leave them, and a container beside it."""
    engine = {"name": "vllm", "image": "vllm/vllm-openai:v0.32.0", "args": ["--model", "an/llm"], "env": ENV}
    side = {"name": "proxy", "image": "nginx", "env": [URL]}
    template = {"metadata": {"labels": {"app": "chat"}}, "spec": {"containers": [side, engine]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "chat"}}, "template": template}
    noted = {"tierdeck.io/l2": "true", "tierdeck.io/l2-claim": "curvine-pvc",
             "tierdeck.io/l2-min-retrieve-tokens": "1000"}  # fmt: skip
    metadata = {"name": "chat", "namespace": namespace, "annotations": noted}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def pod(namespace: str, made: Manifest, engine: dict[str, Any], **spec: Any) -> Manifest:
    """A pod of the Deployment, in which its engine or the rest differ."""
    template = copy.deepcopy(made["spec"]["template"])
    template["spec"]["containers"][1] |= engine
    template["spec"] |= spec
    noted = {"labels": {"app": "chat"}, **template["metadata"]}
    metadata = {"name": "chat-0", "namespace": namespace, **noted}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def variants(namespace: str, made: Manifest) -> dict[str, Manifest]:
    """Pods by what is odd about them."""
    mount = {"name": "mine", "mountPath": "/mnt/curvine/l2cache/"}
    out = pod(namespace, made, {})
    out["metadata"]["labels"] = {"app": "chat", "tierdeck.io/l2": "false"}
    return {
        "as rendered": pod(namespace, made, {}),
        "no variable at all but its chunks": pod(namespace, made, {"env": [ENV[2]]}),
        "a seed of its own": pod(namespace, made, {"env": [ENV[2], {"name": "PYTHONHASHSEED", "value": "0"}]}),
        "mounted by hand": pod(namespace, made, {"volumeMounts": [mount]}, volumes=[{"name": "mine", **CLAIM}]),
        "the claim under another name": pod(namespace, made, {}, volumes=[{"name": "mine", **CLAIM}]),
        "other sizes": pod(
            namespace, made, {"args": ["--gpu-memory-utilization", "0.7", "--model", "an/llm", "--max-num-seqs=8"]}
        ),
        "another volume in its place": pod(
            namespace, made, {"volumeMounts": [mount]}, volumes=[{"name": "mine", "emptyDir": {}}]
        ),
        "read-only": pod(namespace, made, {}, volumes=[{"name": "mine", "persistentVolumeClaim": {
            "claimName": "curvine-pvc", "readOnly": True}}]),
        "our name taken": pod(namespace, made, {}, volumes=[{"name": "tierdeck-l2", "emptyDir": {}}]),
        "other ranks": pod(namespace, made, {"args": ["--model", "an/llm", "--tensor-parallel-size", "2"]}),
        "another model": pod(namespace, made, {"args": ["--model", "another/llm"]}),
        "other chunks": pod(namespace, made, {"env": [{"name": "LMCACHE_CHUNK_SIZE", "value": "512"}]}),
        "another seed": pod(namespace, made, {"env": [ENV[2], {"name": "PYTHONHASHSEED", "value": "7"}]}),
        "a file of settings": pod(namespace, made, {"env": [ENV[2], {"name": "LMCACHE_CONFIG_FILE", "value": "/c"}]}),
        "opted out": out,
    }  # fmt: skip


UNTOUCHED = {
    "another volume in its place",
    "read-only",
    "our name taken",
    "other ranks",
    "another model",
    "other chunks",
    "another seed",
    "a file of settings",
    "opted out",
}


def settings(cluster: Cluster, namespace: str) -> Settings:
    return Settings(cluster="test", kubeconfig=cluster.kubeconfig, kube_namespaces=namespace)


def command(cluster: Cluster, namespace: str, *args: str) -> subprocess.CompletedProcess[str]:
    """The controller's own command."""
    environment = {"TIERDECK_KUBECONFIG": str(cluster.kubeconfig), "TIERDECK_KUBE_NAMESPACES": namespace}
    words = [sys.executable, "-m", "controller", *args]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def spec_of(made: Manifest) -> Manifest:
    """Without the volume of the service account's token, whose name is drawn by lot."""
    spec = copy.deepcopy(made["spec"])
    (token,) = [one["name"] for one in spec["volumes"] if one["name"].startswith("kube-api-access-")]
    return dict(json.loads(json.dumps(spec).replace(token, "token")))


@contextmanager
def applied(cluster: Cluster, documents: list[Manifest]) -> Iterator[None]:
    for one in documents:
        cluster.rest.apply(one)
    try:
        yield
    finally:
        for one in reversed(documents):
            cluster.rest.delete(one)


def test_a_policy_of_the_api_server_makes_of_a_pod_what_the_webhook_makes(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    made = deployment(namespace)
    cluster.rest.create(made)  # applying refuses variables of the same name
    pods = variants(namespace, made)
    before = {name: cluster.rest.create(one, dryRun="All") for name, one in pods.items()}
    done = command(
        cluster, namespace, "stage", "4", "--plan", "--as", "mutatingadmissionpolicy", "--out", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    documents = list(yaml.safe_load_all((tmp_path / "l2-policies.yaml").read_text("utf-8")))
    objects = look_once(settings(cluster, namespace), 0).objects
    target = target_of(View(objects), engines_of(View(objects))[0])
    assert isinstance(target, PolicyTarget)

    with applied(cluster, documents):

        def after(name: str) -> Manifest:
            return cluster.rest.create(pods[name], dryRun="All")

        cluster.wait_until(lambda: _noted(after("as rendered")) != "", "the policy")
        for name, was in before.items():
            now = after(name)
            if name in UNTOUCHED:
                assert spec_of(now) == spec_of(was), name
                assert _noted(now) == "", name
                continue
            patch = patch_of(was, target.container, target.wiring, target.identity)
            assert isinstance(patch, Patch), name
            webhooks = patched(was, patch.operations)
            assert spec_of(now) == spec_of(webhooks), name
            told, ours = json.loads(_noted(now)), json.loads(_noted(webhooks))
            assert {**told, "by": "", "did": ""} == {**ours, "by": "", "did": ""}, name
            again = {**now, "metadata": pods[name]["metadata"]}
            assert spec_of(cluster.rest.create(again, dryRun="All")) == spec_of(now), f"{name}, twice"


def _noted(made: Manifest) -> str:
    return str(made["metadata"].get("annotations", {}).get(ANNOTATION, ""))


def test_pods_without_l2_are_named_and_a_policy_outlives_what_the_operator_renders(
    cluster: Cluster, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod
) -> None:
    kubelets.add_node(Machine(gpus=8))
    made = endpoint(namespace)
    made["metadata"]["annotations"] = {"tierdeck.io/l2": "true", "tierdeck.io/l2-claim": "curvine-pvc"}
    cluster.rest.apply(made)

    def view() -> View:
        return View(look_once(settings(cluster, namespace), 0).objects, "v1")

    def found() -> list[Evidence]:
        return list(L2_WIRING.look(view()).evidence)

    cluster.wait_until(lambda: [one.fix[:18] for one in found()] == ["kubectl delete pod"], "the pod without L2")
    (told,) = found()
    assert "LMCACHE_REMOTE_URL" in told.found
    (file,) = L2_WIRING.plan(view(), Wishes({}, "mutatingadmissionpolicy")).files
    with applied(cluster, [*claim(namespace), *yaml.safe_load_all(file.text)]):
        (first,) = running_pods(cluster, namespace)
        probe = {**first, "metadata": {"name": "probe", "namespace": namespace, "labels": first["metadata"]["labels"]}}
        probe["spec"].pop("nodeName")
        cluster.wait_until(lambda: _noted(cluster.rest.create(probe, dryRun="All")) != "", "the policy")
        cluster.rest.delete(first)
        cluster.wait_until(lambda: [one.state for one in found()] == [State.DONE], "the pod that comes after it")
        assert all(has_l2(one) for one in running_pods(cluster, namespace))
        before = {one["metadata"]["uid"] for one in running_pods(cluster, namespace)}

        made["spec"]["worker"]["environmentVariables"].append({"name": "ANY", "value": "edit"})
        cluster.rest.apply(made)
        cluster.wait_until(lambda: _are_new(running_pods(cluster, namespace), before), "what the operator renders anew")
        assert all(has_l2(one) for one in running_pods(cluster, namespace))
        assert {one.state for one in found()} == {State.DONE}

        def is_wired() -> bool:
            return _noted(cluster.rest.create(probe, dryRun="All")) != ""

        assert is_wired()
        made["spec"]["modelSourceConfig"]["huggingFaceModel"] = {"modelId": "another/llm"}
        cluster.rest.apply(made)  # pods of both models are equal
        cluster.wait_until(lambda: not is_wired(), "the policy's look at the new model")


def _are_new(pods: list[Manifest], before: set[str]) -> bool:
    return bool(pods) and not before & {one["metadata"]["uid"] for one in pods}


def running_pods(cluster: Cluster, namespace: str) -> list[Manifest]:
    found = cluster.rest.objects("Pod", namespace, labelSelector="app=chat")
    return [
        one for one in found if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
    ]


def claim(namespace: str) -> list[Manifest]:
    """Curvine's, as its driver would have bound it."""
    size, mode = {"storage": "100Gi"}, ["ReadWriteMany"]
    common = {"accessModes": mode, "storageClassName": "curvine-sc"}
    ref = {"namespace": namespace, "name": "curvine-pvc"}
    csi = {"driver": "curvine", "volumeHandle": namespace}
    volume = {**common, "capacity": size, "claimRef": ref, "csi": csi}
    wanted = {**common, "volumeName": namespace, "resources": {"requests": size}}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": namespace}, "spec": volume},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": ref, "spec": wanted},
    ]


def pool(namespace: str, toml: str) -> list[Manifest]:
    """A Curvine pool as its chart makes it, as far as flags are concerned."""
    made: list[Manifest] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "curvine-config", "namespace": namespace},
            "data": {"curvine-cluster.toml": toml},
        }
    ]
    for part in ("master", "worker"):
        names = {"name": "curvine", "instance": "curvine", "component": part}
        labels = {f"app.kubernetes.io/{key}": value for key, value in names.items()}
        spec = {
            "containers": [{"name": part, "image": "curvine/curvine:v0.4.1", "args": [part, "start"]}],
            "volumes": [{"name": "config", "configMap": {"name": "curvine-config"}}],
        }
        template = {"metadata": {"labels": labels}, "spec": spec}
        metadata = {"name": f"curvine-{part}", "namespace": namespace, "labels": labels}
        body = {"serviceName": f"curvine-{part}", "selector": {"matchLabels": labels}, "template": template}
        made.append({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": body})
    return made


def test_flags_left_on_are_a_problem_of_the_pool_once_it_runs_until_they_are_off(
    cluster: Cluster, namespace: str, kubelets: Kubelets
) -> None:
    def problems() -> list[str]:
        (one,) = [one for one in look_once(settings(cluster, namespace), 0).sighting.deployed if one.is_pool]
        return [problem for problem in one.problems if "format" in problem]

    for one in pool(namespace, "format_worker = true\n[worker]\ndata_dir = ['[SSD:1GB]/data']\n"):
        cluster.rest.apply(one)
    assert problems() == []  # its first start: nothing was ready yet
    kubelets.add_node(Machine())
    cluster.wait_until(lambda: len(problems()) == 2, "both flags")
    worker, master = sorted(problems(), key=lambda one: "format_master" in one.split(":")[2])
    assert "format_worker = true, and the pool has run: a worker that restarts erases its part" in worker
    assert "format_master is absent, so it is true" in master
    found = json.loads(command(cluster, namespace, "stages", "--json").stdout)["stages"]
    assert [(one["stage"], one["state"]) for one in found if one["stage"] in (1, 2, 3, 5)] == [
        (1, "unknown"),
        (2, "unknown"),
        (3, "not_done"),
        (5, "unknown"),
    ]
    flags = [one for one in found[2]["evidence"] if "format_" in one["about"]]
    assert [one["state"] for one in flags] == ["not_done", "not_done"]

    cluster.rest.apply(pool(namespace, "format_master = false\nformat_worker = false\n")[0])
    assert problems() == []


def test_what_would_write_is_refused_with_the_commands(cluster: Cluster, namespace: str) -> None:
    done = command(cluster, namespace, "stage", "3", "--apply")
    assert done.returncode == 1
    assert done.stderr.startswith("tierdeck: this version of Tierdeck changes nothing in a cluster. Run the commands")
    assert "kubectl apply -f storage-class.yaml" in done.stdout
    told = json.loads(command(cluster, namespace, "stage", "3", "--undo", "--json").stdout)
    assert told["refused"]
    assert told["commands"]
