"""The stand-in for HyperPod's operator: it renders, drops patches by hand, reports, and refuses as the real one."""

from __future__ import annotations

import pytest

from tests.cluster.hyperpod import OPERATOR, Hyperpod, endpoint
from tests.cluster.kubelet import Kubelets
from tests.cluster.rendering import API, KIND, SYSTEM, EnvHandling
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest, RefusedError

L2_URL = "LMCACHE_REMOTE_URL"
BY_HAND = "fs://localhost:0/mnt/curvine/l2cache/"


class Endpoint:
    """The endpoint of a test: what was asked for, and what is there."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.rest = cluster.rest
        self.namespace = namespace

    def make(self, **spec: object) -> None:
        """Apply it; returns when it is rendered."""
        self.rest.apply(endpoint(self.namespace, "chat", **spec))
        self.wait_for("DeploymentInProgress", "DeploymentComplete")

    def edit(self, **spec: object) -> None:
        """Change it; returns when the operator has seen that."""
        self.rest.merge(self.config(), {"spec": spec})
        self.wait_for("DeploymentInProgress", "DeploymentComplete", "DeploymentFailed")

    def wait_for(self, *states: str) -> None:
        self.cluster.wait_until(lambda: self._seen_in(states), f"an endpoint that is {' or '.join(states)}")

    def config(self) -> Manifest:
        return self.rest.get(KIND, "chat", self.namespace, API)

    def deployment(self) -> Manifest:
        return self.rest.get("Deployment", "chat", self.namespace, "apps/v1")

    def router(self) -> Manifest | None:
        return self.rest.find("Deployment", f"chat-{self.namespace}-router", SYSTEM, "apps/v1")

    def variables(self, name: str) -> list[str]:
        """All values of a worker's variable, in order."""
        worker = self.deployment()["spec"]["template"]["spec"]["containers"][0]
        return [one["value"] for one in worker["env"] if one["name"] == name]

    def patch_by_hand(self) -> None:
        """As kubectl does it: again where somebody else wrote in between."""

        def is_done() -> bool:
            try:
                self._patch_once()
            except RefusedError as refused:
                if refused.status != 409:
                    raise
                return False
            return True

        self.cluster.wait_until(is_done, "the patch")

    def _patch_once(self) -> None:
        """What operators do to have an L2 that the custom resource can't express."""
        found = self.deployment()
        env = found["spec"]["template"]["spec"]["containers"][0]["env"]
        for one in env:
            if one["name"] == L2_URL:
                one["value"] = BY_HAND
        self.rest.replace(found, fieldManager="kubectl-patch")
        assert self.variables(L2_URL) == [BY_HAND]

    def _seen_in(self, states: tuple[str, ...]) -> bool:
        found = self.config()
        status = found.get("status", {})
        return status.get("state") in states and status["observedGeneration"] == found["metadata"]["generation"]


@pytest.fixture
def chat(cluster: Cluster, namespace: str, hyperpod: Hyperpod) -> Endpoint:
    assert hyperpod.cluster is cluster
    return Endpoint(cluster, namespace)


def test_an_endpoint_becomes_three_containers_a_router_and_services(chat: Endpoint, kubelets: Kubelets) -> None:
    kubelets.add_node()
    chat.make()
    chat.wait_for("DeploymentComplete")
    made = chat.deployment()
    containers = made["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["chat", "reverse-proxy", "otel-collector"]
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "chat"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == chat.config()["metadata"]["uid"]
    assert chat.variables(L2_URL) == ["sagemaker-hyperpod://$(NODE_IP):9200"]
    router = chat.router()
    assert router is not None
    arguments = router["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[arguments.index("--routing-logic") + 1] == "prefixaware"
    assert chat.rest.find("Service", f"chat-{chat.namespace}-routing-service", SYSTEM) is not None
    status = chat.config()["status"]
    assert (status["replicas"], status["selector"]) == (1, "app=chat")
    assert len(chat.rest.objects("Pod", chat.namespace, labelSelector=status["selector"])) == 1


def test_an_edit_drops_what_was_patched_by_hand(chat: Endpoint) -> None:
    chat.make()
    chat.patch_by_hand()
    chat.edit(intelligentRoutingSpec={"routingStrategy": "session"})
    chat.cluster.wait_until(lambda: chat.variables(L2_URL) != [BY_HAND], "the operator's own value")
    router = chat.router()
    assert router is not None
    assert "session" in router["spec"]["template"]["spec"]["containers"][0]["args"]


def test_a_paused_operator_leaves_a_patch_until_it_is_back(chat: Endpoint, hyperpod: Hyperpod) -> None:
    chat.make()
    own = chat.rest.get("Deployment", OPERATOR, SYSTEM, "apps/v1")
    chat.rest.merge(own, {"spec": {"replicas": 0}})
    hyperpod.settle()
    chat.patch_by_hand()
    chat.rest.merge(chat.config(), {"spec": {"replicas": 2}})
    generation = chat.config()["metadata"]["generation"]
    assert chat.config()["status"]["observedGeneration"] < generation
    assert chat.variables(L2_URL) == [BY_HAND]
    chat.rest.merge(own, {"spec": {"replicas": 1}})
    chat.cluster.wait_until(lambda: chat.variables(L2_URL) != [BY_HAND], "the operator's own value")
    assert chat.deployment()["spec"]["replicas"] == 2


def test_a_deleted_deployment_is_rendered_anew(chat: Endpoint) -> None:
    chat.make()
    first = chat.deployment()
    chat.rest.delete(first)
    found = ("Deployment", "chat", chat.namespace, "apps/v1")
    chat.cluster.wait_until(
        lambda: (chat.rest.find(*found) or first)["metadata"]["uid"] != first["metadata"]["uid"], "another deployment"
    )


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (EnvHandling.KEEPS, ["40"]),
        (EnvHandling.DUPLICATES, ["5.0", "40"]),
        (EnvHandling.STRIPS, ["5.0"]),
    ],
)
def test_what_becomes_of_a_variable_depends_on_the_version(
    chat: Endpoint, hyperpod: Hyperpod, env: EnvHandling, expected: list[str]
) -> None:
    hyperpod.env = env
    worker: Manifest = endpoint(chat.namespace)["spec"]["worker"]
    worker["environmentVariables"].append({"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "40"})
    chat.make(worker=worker)
    assert chat.variables("LMCACHE_MAX_LOCAL_CPU_SIZE") == expected
    assert chat.variables("PYTHONHASHSEED") == ["0"]


def test_an_upgrade_renders_every_endpoint_anew(chat: Endpoint, hyperpod: Hyperpod) -> None:
    chat.make()
    chat.patch_by_hand()
    hyperpod.upgrade("v3.7", EnvHandling.STRIPS)
    chat.cluster.wait_until(lambda: chat.variables(L2_URL) != [BY_HAND], "the operator's own value")


def test_routing_can_not_be_switched_off_on_a_live_endpoint(chat: Endpoint) -> None:
    chat.make()
    chat.edit(intelligentRoutingSpec={"enabled": False})  # the API server takes it: no schema forbids it
    chat.wait_for("DeploymentFailed")
    assert "cannot be modified" in chat.config()["status"]["conditions"][0]["message"]
    assert chat.router() is not None
    chat.edit(intelligentRoutingSpec={"enabled": True})
    chat.wait_for("DeploymentInProgress", "DeploymentComplete")


def test_the_router_goes_with_its_endpoint(chat: Endpoint) -> None:
    chat.make()
    chat.rest.delete(chat.config())
    chat.cluster.wait_until(lambda: chat.router() is None, "the router's end")
