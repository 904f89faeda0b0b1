"""The injector as a process before a real API server, with nodes, claims and mounts of Curvine's for it to look at."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import Popen

import requests
import yaml

from controller.api.rights import injector_cluster_rules, injector_rules
from controller.injector.mutation import ANNOTATION
from controller.reading.origin import OWNERS
from tests.cluster.hyperpod import Hyperpod, running_hyperpod
from tests.cluster.kubelet import Kubelets, running_kubelets
from tests.cluster.nodes import Machine
from tests.cluster.rendering import EnvHandling
from tests.cluster.watched import CLUSTER, Watched
from tests.support.cluster import Cluster
from tests.support.cluster_namespace import fresh_namespace
from tests.support.cluster_programs import free_port
from tests.support.kube_rest import Manifest, Rest
from tests.support.processes import running, wait_until
from tests.support.rounds import a_round
from tierdeck.events import EventKind
from tierdeck.fleet import POOL, Replica, ReplicaKey, Target
from tierdeck.l2.members import MemberKind, MountFacts, PoolMember

CLAIM = "curvine-pvc"
MASTERS = "curvine-master-0.curvine-master.curvine.svc:8995"
_RBAC = "rbac.authorization.k8s.io/v1"
_ADMISSION = "admissionregistration.k8s.io/v1"
_OPT_IN = {"tierdeck.io/l2-injection": "enabled"}


class Injecting:
    """A namespace that may be injected into, and all that the injector looks at."""

    def __init__(self, cluster: Cluster, folder: Path, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod) -> None:
        self.cluster = cluster
        self.rest: Rest = cluster.rest.another()
        self.namespace = namespace
        self.kubelets = kubelets
        self.hyperpod = hyperpod
        self.name = f"tierdeck-{namespace}"
        self.port = free_port()
        self.log = folder / "injector.log"
        self._folder = folder
        self._stack = ExitStack()
        self._process: Popen[bytes] | None = None
        self._mounts: dict[str, PoolMember] = {}
        self._file = folder / "l2.yaml"
        self.list_endpoints()
        self.watched = self._stack.enter_context(
            Watched(folder, cluster.kubeconfig, TIERDECK_L2_FILE=str(self._file), TIERDECK_DRIFT_SECONDS="0")
        )

    def list_endpoints(self, *names: str, enabled: bool = True) -> None:
        """Write the file of policies."""
        endpoints = {f"{self.namespace}/{name}": {"claim": CLAIM} for name in names}
        self._file.write_text(yaml.safe_dump({"enabled": enabled, "endpoints": endpoints}), "utf-8")

    def prepare(self) -> None:
        """What an installation and Curvine's charts bring."""
        self.rest.merge(_object("v1", "Namespace", self.namespace), {"metadata": {"labels": _OPT_IN}})
        self.rest.create({
            **_object("storage.k8s.io/v1", "StorageClass", self.name),
            "provisioner": "curvine",
            "parameters": {"master-addrs": MASTERS, "fs-path": "/l2cache"},
        })  # fmt: skip
        self.make_claim(CLAIM)
        self.rest.create({**_object("v1", "Secret", self.name, self.namespace)})
        hook = {
            "name": "l2.tierdeck.io",
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}/mutate"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "namespaceSelector": {"matchLabels": _OPT_IN},
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "IfNeeded",
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
        }
        self.rest.create({**_object(_ADMISSION, "MutatingWebhookConfiguration", self.name), "webhooks": [hook]})
        self._give_rights()

    def clear(self) -> None:
        """What belongs to no namespace."""
        self._stack.close()
        whole = ((_ADMISSION, "MutatingWebhookConfiguration"), ("storage.k8s.io/v1", "StorageClass"))
        for api, kind in (*whole, (_RBAC, "ClusterRole"), (_RBAC, "ClusterRoleBinding")):
            self.rest.delete(_object(api, kind, self.name))
        for volume in self.rest.objects("PersistentVolume"):
            if volume["metadata"]["name"].startswith(self.namespace):
                self.rest.delete(volume)
        self.rest.close()

    def make_claim(self, name: str, *, bound: bool = True) -> None:
        """A claim of Curvine's class; with a volume, it is bound as soon as the controllers have seen both."""
        size = {"storage": "100Gi"}
        spec = {"accessModes": ["ReadWriteMany"], "storageClassName": self.name, "resources": {"requests": size}}
        claim = _object("v1", "PersistentVolumeClaim", name, self.namespace)
        volume = f"{self.namespace}-{name}"
        if bound:
            self.rest.create({
                **_object("v1", "PersistentVolume", volume),
                "spec": {
                    "capacity": size,
                    "accessModes": ["ReadWriteMany"],
                    "storageClassName": self.name,
                    "claimRef": {"namespace": self.namespace, "name": name},
                    "csi": {"driver": "curvine", "volumeHandle": volume},
                },
            })  # fmt: skip
            spec["volumeName"] = volume
        self.rest.create({**claim, "spec": spec})
        if bound:
            self.cluster.wait_until(lambda: self._phase(name) == "Bound", f"claim {name}")

    def add_node(self, instance_type: str, mount: MountFacts | None = None, *, driver: bool = True) -> None:
        """A node with Curvine's CSI plugin, and with a mount of which this is told, if anything is."""
        node = self.kubelets.add_node(Machine(gpus=8, instance_type=instance_type))
        if driver:
            self._pod(f"csi-{node}", node, {"app": "curvine-csi-node"}, ["csi-plugin"])
        if mount is not None:
            suffix = node.rpartition("-")[2]
            args = ["curvine-fuse", "--master-addrs", MASTERS]
            self._pod(f"curvine-csi-standalone-{suffix}", node, {"app": "curvine-standalone"}, args)
            self._mounts[node] = PoolMember(MemberKind.MOUNT, suffix, "", mount=mount)
            self._write_mounts()

    def start(self) -> None:
        """Returns once the API server can call it."""
        environment = {
            "TIERDECK_HOME": str(self._folder),
            "TIERDECK_DATABASE_URL": f"sqlite:///{self._folder / 'deck.db'}",
            "TIERDECK_CLUSTER": CLUSTER,
            "TIERDECK_KUBECONFIG": str(self.cluster.kubeconfig_for(self.namespace, "injector")),
            "TIERDECK_L2_FILE": str(self._file),
            "TIERDECK_INJECTOR_PORT": str(self.port),
            "TIERDECK_INJECTOR_NAMES": "127.0.0.1",
            "TIERDECK_INJECTOR_SECRET": f"{self.namespace}/{self.name}",
            "TIERDECK_INJECTOR_WEBHOOK": self.name,
            "TIERDECK_SCRAPE_INTERVAL_SECONDS": "300",  # a page is good for 900 s here
        }
        self._process = self._stack.enter_context(running("controller", "injector", log=self.log, **environment))
        wait_until(self.is_ready, "the injector", self.log)

    def kill(self) -> None:
        """As a node's power cut does it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """As Kubernetes ends it; its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(timeout=60)

    def is_ready(self) -> bool:
        """To whom trusts what the API server is told to trust."""
        trusted = self._folder / "trusted.pem"
        trusted.write_text(self.trusted(), "ascii")
        if not trusted.stat().st_size:
            return False
        try:
            return requests.get(f"https://127.0.0.1:{self.port}/readyz", verify=str(trusted), timeout=5).ok
        except requests.RequestException:
            return False

    def trusted(self) -> str:
        """The authorities that the API server trusts, in PEM."""
        hook = self.rest.get("MutatingWebhookConfiguration", self.name, api=_ADMISSION)["webhooks"][0]
        return base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode("ascii")

    def pods(self, app: str) -> list[Manifest]:
        """Those that run and are not on their way out."""
        found = self.rest.objects("Pod", self.namespace, labelSelector=f"app={app}")
        return [pod for pod in found if pod["status"].get("podIP") and "deletionTimestamp" not in pod["metadata"]]

    def new_pods(self, app: str, count: int = 1, after: frozenset[str] = frozenset()) -> list[Manifest]:
        """So many that run and are none of these uids."""

        def fresh() -> list[Manifest]:
            return [pod for pod in self.pods(app) if pod["metadata"]["uid"] not in after]

        def settled() -> bool:
            return len(fresh()) == count and len(self.pods(app)) == count

        self.cluster.wait_until(settled, f"{count} new pods of {app}")
        return fresh()

    def wait_for_operator(self, config: Manifest) -> None:
        """It has taken up the last edit of an endpoint."""
        at = ("InferenceEndpointConfig", config["metadata"]["name"], self.namespace, config["apiVersion"])
        wanted = config["metadata"]["generation"]
        self.cluster.wait_until(
            lambda: self.rest.get(*at).get("status", {}).get("observedGeneration", 0) >= wanted, "the operator"
        )

    def withheld(self, endpoint: str) -> list[str]:
        """What the deck says of it."""
        told = self.watched.events(EventKind.L2_WITHHELD, endpoint=f"{self.namespace}/{endpoint}")
        return [words for _, _, words in told]

    def wait_for_words(self, endpoint: str, words: str) -> None:
        """The deck says so."""
        wait_until(lambda: any(words in one for one in self.withheld(endpoint)), f"{words!r} in the deck", self.log)

    def wait_for_problem(self, endpoint: str, words: str) -> None:
        """The inventory says so of it."""
        self.watched.until(lambda: words in self._problems(endpoint), f"the problem {words!r}")

    def wait_without_problem(self, endpoint: str, words: str) -> None:
        self.watched.until(lambda: words not in self._problems(endpoint), f"no problem {words!r}")

    def wait_for_log(self, event: str) -> None:
        """The injector has logged it."""
        wait_until(lambda: event in self.log.read_text("utf-8"), event, self.log)

    def _problems(self, endpoint: str) -> str:
        found = self.watched.endpoints().get(f"{self.namespace}/{endpoint}")
        return " ".join(found.problems) if found is not None else ""

    def _give_rights(self) -> None:
        """Those of the chart's injector, and no more."""
        self.rest.create(_object("v1", "ServiceAccount", "injector", self.namespace))
        hooks = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"]}
        secrets = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [self.name]}
        rules = {
            "ClusterRole": [
                *yaml.safe_load(f"{injector_cluster_rules()}\n{injector_rules(OWNERS)}"),
                {**hooks, "resourceNames": [self.name], "verbs": ["get", "patch"]},
            ],
            "Role": [{**secrets, "verbs": ["get", "update"]}],
        }
        account = {"kind": "ServiceAccount", "namespace": self.namespace, "name": "injector"}
        for kind, given in rules.items():
            namespace = self.namespace if kind == "Role" else ""
            self.rest.create({**_object(_RBAC, kind, self.name, namespace), "rules": given})
            ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": self.name}
            binding = _object(_RBAC, f"{kind}Binding", self.name, namespace)
            self.rest.create({**binding, "roleRef": ref, "subjects": [account]})

    def _pod(self, name: str, node: str, labels: dict[str, str], command: list[str]) -> None:
        container = {"name": command[0], "image": "curvineio/curvine-csi:v0.4.1", "command": command}
        spec = {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 0}
        made = _object("v1", "Pod", name, self.namespace)
        made["metadata"]["labels"] = labels
        self.rest.create({**made, "spec": spec})
        self.cluster.wait_until(lambda: self._is_ready(name), f"pod {name}")

    def _is_ready(self, pod: str) -> bool:
        conditions = self.rest.get("Pod", pod, self.namespace)["status"].get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def _phase(self, claim: str) -> str:
        found = self.rest.get("PersistentVolumeClaim", claim, self.namespace)
        return str(found.get("status", {}).get("phase", ""))

    def _write_mounts(self) -> None:
        """As collectors do it."""
        key, mounts = ReplicaKey(CLUSTER, POOL, "curvine/curvine"), tuple(self._mounts.values())
        targets = tuple(Target(key, f"curvine-fuse.{one.name}", "http://127.0.0.1:1/metrics") for one in mounts)
        self.watched.store.declare(CLUSTER, [], [Replica(key, targets)], "tests", "tests")
        self.watched.store.append([replace(a_round(time.time(), key), scrapes=(), members=mounts)])


def working() -> MountFacts:
    """Of a mount that works, of now."""
    return MountFacts(waiting=0.0, active=2.0, progress_at=time.time() - 1, is_attached=True)


def hanging() -> MountFacts:
    """Replies wait, and the sender stands still for ten minutes."""
    began = time.time() - 600
    return replace(working(), waiting=2.0, waiting_since=began, progress_at=began)


def engine_of(pod: Manifest) -> Manifest:
    """Its first container."""
    found: Manifest = pod["spec"]["containers"][0]
    return found


def urls(pod: Manifest) -> list[str]:
    """All values of LMCache's address, in order."""
    return [one.get("value", "") for one in engine_of(pod).get("env", []) if one["name"] == "LMCACHE_REMOTE_URL"]


def has_l2(pod: Manifest, claim: str = CLAIM) -> bool:
    """The claim is mounted in the engine and nowhere else, and there is one address, which lies in the mount."""
    volumes = {one["name"]: one.get("persistentVolumeClaim", {}).get("claimName") for one in pod["spec"]["volumes"]}
    by_container = [
        [one["mountPath"] for one in container.get("volumeMounts", []) if volumes.get(one["name"]) == claim]
        for container in pod["spec"]["containers"]
    ]
    if by_container[0] != ["/mnt/curvine/l2cache"] or any(by_container[1:]):
        return False
    noted = json.loads(pod["metadata"]["annotations"][ANNOTATION])
    return (
        len(urls(pod)) == 1
        and urls(pod)[0].startswith("fs://localhost:0/mnt/curvine/l2cache/")
        and (noted["url"] == urls(pod)[0])
    )


def uids(pods: list[Manifest]) -> frozenset[str]:
    return frozenset(pod["metadata"]["uid"] for pod in pods)


@contextmanager
def injecting(cluster: Cluster, folder: Path) -> Iterator[Injecting]:
    """All of it, with one node whose mount works; the injector is not started yet."""
    with (
        running_kubelets(cluster) as kubelets,
        running_hyperpod(cluster, EnvHandling.DUPLICATES) as hyperpod,
        fresh_namespace(cluster) as namespace,
    ):
        one = Injecting(cluster, folder, namespace, kubelets, hyperpod)
        try:
            one.prepare()
            yield one
        finally:
            one.clear()


def _object(api: str, kind: str, name: str, namespace: str = "") -> Manifest:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata}
