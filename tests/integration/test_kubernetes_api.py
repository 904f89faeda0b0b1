"""The Kubernetes API as the controller reads it: a real API server, its changes, its refusals, its faults."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from controller.api.client import Api
from controller.api.errors import ApiUnreachableError, CredentialsError, ExpiredError, ForbiddenError, NotServedError
from controller.api.mirror import Mirror
from controller.api.rights import rule
from controller.api.watches import Watches
from controller.resources import CLAIMS, DEPLOYMENTS, ENDPOINT_CONFIGS, PODS, RESOURCES, VLLM_RUNTIMES
from health.pulse import Pulse
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tests.support.processes import PATIENCE_SECONDS
from tierdeck.errors import TierdeckError

GROUP = "inference.sagemaker.aws.amazon.com"


def deployment(namespace: str, name: str = "chat", image: str = "vllm/vllm-openai:v0.32.0") -> Manifest:
    labels = {"app": name}
    container = {"name": "vllm", "image": image}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }


def custom_definition(group: str, version: str, plural: str, kind: str) -> Manifest:
    """A CustomResourceDefinition that takes anything."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


@contextmanager
def watching(api: Api, *namespaces: str) -> Iterator[tuple[Mirror, Watches]]:
    """Watches that have listed everything once."""
    stop, mirror = threading.Event(), Mirror("east")
    watches = Watches(api, mirror, namespaces, stop)
    thread = threading.Thread(target=watches.run, args=(Pulse(),), daemon=True)
    thread.start()
    try:
        until(lambda: mirror.is_complete)
        yield mirror, watches
    finally:
        stop.set()


def until(ready: Callable[[], bool]) -> None:
    """Poll a condition for as long as a slow machine may need."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not ready():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_what_is_there_is_listed_and_what_changes_is_followed(cluster: Cluster, namespace: str) -> None:
    key = namespace, "chat"
    cluster.rest.apply(deployment(namespace))
    with watching(Api.of(cluster.client())) as (mirror, watches):
        found = mirror.look().get(DEPLOYMENTS, *key)
        assert found is not None
        assert found["spec"]["replicas"] == 2
        cluster.rest.apply(deployment(namespace, image="vllm/vllm-openai:v0.33.0"))
        cluster.rest.apply(deployment(namespace, "second"))
        until(lambda: mirror.look().get(DEPLOYMENTS, namespace, "second") is not None)

        def image() -> object:
            seen = mirror.look().get(DEPLOYMENTS, *key)
            return seen["spec"]["template"]["spec"]["containers"][0]["image"] if seen else None

        until(lambda: image() == "vllm/vllm-openai:v0.33.0")
        cluster.rest.delete(deployment(namespace))
        until(lambda: mirror.look().get(DEPLOYMENTS, *key) is None)
        assert mirror.look().blind == {}
        assert watches.trouble == ""


def test_a_look_does_not_change_while_it_is_looked_at(cluster: Cluster, namespace: str) -> None:
    with watching(Api.of(cluster.client()), namespace) as (mirror, _):
        before = mirror.look()
        cluster.rest.apply(deployment(namespace))
        until(lambda: mirror.look().get(DEPLOYMENTS, namespace, "chat") is not None)
        assert before.get(DEPLOYMENTS, namespace, "chat") is None


def test_only_the_namespaces_that_are_named_are_looked_into(cluster: Cluster, namespace: str) -> None:
    cluster.rest.apply(deployment(namespace))
    with watching(Api.of(cluster.client()), "default") as (mirror, _):
        assert list(mirror.look().all(DEPLOYMENTS)) == []


def test_a_missing_right_is_named_with_the_rule_that_grants_it_and_the_rest_goes_on(
    cluster: Cluster, namespace: str
) -> None:
    seen = [resource for resource in RESOURCES if resource is not CLAIMS]
    rules = [{"apiGroups": [one.group], "resources": [one.plural], "verbs": ["list", "watch"]} for one in seen]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": namespace}}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": namespace},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    cluster.rest.apply(role | {"rules": rules})
    cluster.rest.apply(binding)
    cluster.rest.apply(deployment(namespace))
    try:
        with watching(Api.of(cluster.client_with(cluster.token_for(namespace, "default")))) as (mirror, _):
            look = mirror.look()
            assert look.get(DEPLOYMENTS, namespace, "chat") is not None
            assert [resource.name for resource in look.blind] == ["persistentvolumeclaims"]
            assert "cannot list resource" in look.blind[CLAIMS]
            wanted = '- {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [get, list, watch]}'
            assert rule(CLAIMS) == wanted
    finally:
        cluster.rest.delete(binding)
        cluster.rest.delete(role)


def test_who_is_not_known_is_told_to_renew_the_credentials(cluster: Cluster) -> None:
    with pytest.raises(CredentialsError, match="does not know who asks") as caught:
        Api.of(cluster.client_with("no-such-token")).get("/apis")
    assert "Renew" in caught.value.hint


def test_each_refusal_has_its_kind(cluster: Cluster, namespace: str) -> None:
    poor, rich = Api.of(cluster.client_with(cluster.token_for(namespace, "default"))), Api.of(cluster.client())
    with pytest.raises(ForbiddenError, match="cannot list resource"):
        poor.get("/api/v1/pods")
    with pytest.raises(NotServedError):
        rich.get("/apis/no.such.group/v1/things")


def test_a_definition_that_comes_later_is_watched_from_then_on_and_one_that_goes_is_empty(own_cluster: Cluster) -> None:
    definition = custom_definition(GROUP, "v1", "inferenceendpointconfigs", "InferenceEndpointConfig")
    endpoint = {"apiVersion": f"{GROUP}/v1", "kind": "InferenceEndpointConfig", "metadata": {"name": "chat"}}
    with watching(Api.of(own_cluster.client())) as (mirror, watches):
        assert ENDPOINT_CONFIGS not in mirror.look().blind
        own_cluster.rest.apply(definition)
        path = f"/apis/{GROUP}/v1/namespaces/default/inferenceendpointconfigs"
        own_cluster.wait_until(lambda: _is_served(own_cluster, path), "the definition")
        own_cluster.rest.create(endpoint | {"metadata": {"name": "chat", "namespace": "default"}})
        watches.step()
        until(lambda: mirror.look().get(ENDPOINT_CONFIGS, "default", "chat") is not None)
        own_cluster.rest.delete(definition)
        until(lambda: list(mirror.look().all(ENDPOINT_CONFIGS)) == [])


def _is_served(cluster: Cluster, path: str) -> bool:
    try:
        Api.of(cluster.client()).get(path)
    except TierdeckError:  # it is not there yet, or says that it is about to be
        return False
    return True


def test_a_definition_in_another_version_is_said_and_kinds_of_the_family_that_are_not_read_are_named(
    own_cluster: Cluster,
) -> None:
    own_cluster.rest.apply(custom_definition("production-stack.vllm.ai", "v2", "vllmruntimes", "VLLMRuntime"))
    own_cluster.rest.apply(custom_definition(GROUP, "v1alpha1", "inferencegatewayconfigs", "InferenceGatewayConfig"))
    paths = "/apis/production-stack.vllm.ai/v2/vllmruntimes", f"/apis/{GROUP}/v1alpha1/inferencegatewayconfigs"
    own_cluster.wait_until(lambda: all(_is_served(own_cluster, path) for path in paths), "the definitions")
    with watching(Api.of(own_cluster.client())) as (mirror, watches):
        assert "served as v2 only, this version reads v1alpha1" in mirror.look().blind[VLLM_RUNTIMES]
        assert watches.served is not None
        assert watches.served.unknown == (f"InferenceGatewayConfig ({GROUP}, of HyperPod's inference operator)",)


def test_a_resource_whose_conversion_fails_is_said_and_the_rest_goes_on(own_cluster: Cluster) -> None:
    definition = custom_definition(GROUP, "v1alpha1", "inferenceendpointconfigs", "InferenceEndpointConfig")
    (old,) = definition["spec"]["versions"]
    definition["spec"]["versions"] = [old, {**old, "name": "v1", "storage": False}]
    nobody = {"url": "https://127.0.0.1:1/convert"}
    webhook = {"clientConfig": nobody, "conversionReviewVersions": ["v1"]}
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    own_cluster.rest.apply(definition)
    stored = f"/apis/{GROUP}/v1alpha1/inferenceendpointconfigs"
    own_cluster.wait_until(lambda: _is_served(own_cluster, stored), "the definition")
    metadata = {"name": "chat", "namespace": "default"}
    own_cluster.rest.create(
        {"apiVersion": f"{GROUP}/v1alpha1", "kind": "InferenceEndpointConfig", "metadata": metadata}
    )
    own_cluster.rest.apply(deployment("default"))
    with watching(Api.of(own_cluster.client())) as (mirror, watches):
        look = mirror.look()
        assert "can't answer now (500)" in look.blind[ENDPOINT_CONFIGS]
        assert list(look.blind) == [ENDPOINT_CONFIGS]
        assert look.get(DEPLOYMENTS, "default", "chat") is not None
        assert watches.trouble == ""


def test_an_api_server_that_goes_and_comes_back_loses_nothing(own_cluster: Cluster) -> None:
    own_cluster.rest.apply(deployment("default"))
    with watching(Api.of(own_cluster.client())) as (mirror, watches):
        own_cluster.api_server.kill()
        watches.step()
        assert "does not answer" in watches.trouble
        assert "what is known is as of" in watches.trouble
        assert mirror.look().get(DEPLOYMENTS, "default", "chat") is not None
        own_cluster.start_api_server()
        with pytest.raises(ExpiredError):
            list(Api.of(own_cluster.client()).watch("/api/v1/nodes", {"resourceVersion": "1"}, 5))
        own_cluster.rest.delete(deployment("default"))
        own_cluster.rest.apply(deployment("default", "second"))
        watches.step()
        assert watches.trouble == ""
        until(lambda: mirror.look().get(DEPLOYMENTS, "default", "second") is not None)
        until(lambda: mirror.look().get(DEPLOYMENTS, "default", "chat") is None)


def test_an_api_server_that_answers_nothing_is_given_up_in_time(own_cluster: Cluster) -> None:
    api = Api.of(own_cluster.client())
    own_cluster.etcd.hold()
    try:
        with pytest.raises(ApiUnreachableError):
            api.get("/api/v1/pods", {"resourceVersion": ""}, read_seconds=1)
    finally:
        own_cluster.etcd.go_on()


def test_thousands_of_pods_of_others_are_known_and_cost_little(own_cluster: Cluster) -> None:
    container = {"name": "web", "image": "nginx", "env": [{"name": f"V{number}", "value": "x"} for number in range(20)]}
    pods: list[Manifest] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"other-{number}", "namespace": "default"},
            "spec": {"containers": [container], "schedulerName": "nobody"},
        }
        for number in range(600)
    ]
    for pod in pods:
        own_cluster.rest.create(pod)
    with watching(Api.of(own_cluster.client())) as (mirror, _):
        assert len(list(mirror.look().all(PODS))) == 600  # two pages
