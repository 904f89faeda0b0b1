"""The bed itself: what tests rely on when they talk to the control plane, its nodes and the stand-in for HyperPod."""

from __future__ import annotations

import subprocess

import pytest
from kubernetes import client, config

from tests.cluster.hyperpod import endpoint
from tests.cluster.rendering import API, KIND
from tests.cluster.workloads import engine_pod
from tests.support.cluster import Cluster, control_plane
from tests.support.kube_rest import Manifest, RefusedError, Rest


def _settings(namespace: str, **data: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace},
        "data": data,
    }


def test_the_api_server_is_the_release_that_it_says(cluster: Cluster) -> None:
    command = [*control_plane().command("kube-apiserver"), "--version"]
    says = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    with cluster.client() as api:
        assert client.VersionApi(api).get_code().git_version == says


def test_server_side_apply_refuses_a_field_that_another_manager_owns(rest: Rest, namespace: str) -> None:
    rest.apply(_settings(namespace, tier="l1"), manager="helm", force=False)
    rest.apply(_settings(namespace, other="x"), manager="tierdeck", force=False)
    with pytest.raises(RefusedError, match='conflict with "helm"') as refused:
        rest.apply(_settings(namespace, tier="l2"), manager="tierdeck", force=False)
    assert refused.value.status == 409
    taken = rest.apply(_settings(namespace, tier="l2"), manager="tierdeck")
    assert taken["data"] == {"tier": "l2"}


def test_an_object_that_changed_meanwhile_is_not_replaced(rest: Rest, namespace: str) -> None:
    read = rest.apply(_settings(namespace, tier="l1"))
    rest.merge(read, {"data": {"tier": "l2"}})
    with pytest.raises(RefusedError) as refused:
        rest.replace({**read, "data": {"tier": "l3"}})
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")


def test_a_dry_run_is_checked_and_changes_nothing(rest: Rest, namespace: str) -> None:
    answer = rest.apply(_settings(namespace, tier="l1"), dryRun="All")
    assert answer["data"] == {"tier": "l1"}
    assert rest.find("ConfigMap", "settings", namespace) is None
    with pytest.raises(RefusedError) as refused:
        rest.apply({**_settings(namespace), "data": {"no good key": "x"}}, dryRun="All")
    assert refused.value.status == 422


def test_a_service_account_may_do_what_its_role_says_and_no_more(cluster: Cluster, rest: Rest, namespace: str) -> None:
    rest.apply(_settings(namespace, tier="l1"))
    meta = {"name": "reader", "namespace": namespace}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]
    group = "rbac.authorization.k8s.io"
    rest.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    rest.apply({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta, "rules": rules})
    rest.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", **meta}],
        }
    )
    kubeconfig = cluster.kubeconfig_for(namespace, "reader")
    with config.new_client_from_config(str(kubeconfig)) as api:  # type: ignore[no-untyped-call]
        core = client.CoreV1Api(api)
        cluster.wait_until(lambda: _readable(core, namespace), "the role")
        with pytest.raises(client.ApiException) as refused:
            core.delete_namespaced_config_map("settings", namespace)
    assert refused.value.status == 403


def _readable(core: client.CoreV1Api, namespace: str) -> bool:
    try:
        return core.read_namespaced_config_map("settings", namespace).data == {"tier": "l1"}
    except client.ApiException as error:
        if error.status != 403:
            raise
        return False  # the API server's own copy of the roles is a moment behind


def test_a_watch_goes_on_from_a_version(rest: Rest, namespace: str) -> None:
    first = rest.apply(_settings(namespace, tier="l1"))
    rest.merge(first, {"data": {"tier": "l2"}})
    rest.delete(first)
    events = rest.watch("ConfigMap", namespace, resourceVersion=first["metadata"]["resourceVersion"])
    seen = [next(events) for _ in range(2)]
    events.close()
    told = [(one["type"], one["object"]["data"]) for one in seen]
    assert told == [("MODIFIED", {"tier": "l2"}), ("DELETED", {"tier": "l2"})]


def test_a_watch_that_begins_with_what_is_there_marks_the_end_of_that(rest: Rest, namespace: str) -> None:
    rest.apply(_settings(namespace, tier="l1"))
    start = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    events = rest.watch("ConfigMap", namespace, fieldSelector="metadata.name=settings", **start)
    seen = [next(events) for _ in range(2)]
    events.close()
    assert [one["type"] for one in seen] == ["ADDED", "BOOKMARK"]
    mark, added = seen[1]["object"]["metadata"], seen[0]["object"]["metadata"]
    assert int(mark["resourceVersion"]) >= int(added["resourceVersion"])


def test_a_watch_from_a_version_that_is_too_old_is_told_to_list_again(rest: Rest, namespace: str) -> None:
    # The API server's memory of this kind begins when the kind was made, long after the store's first version.
    events = rest.watch(KIND, namespace, API, resourceVersion="1")
    first = next(events)
    events.close()
    assert first["type"] == "ERROR"
    assert (first["object"]["code"], first["object"]["reason"]) == (410, "Expired")


def test_the_schema_of_a_custom_resource_refuses_nonsense(rest: Rest, namespace: str) -> None:
    routing = {"enabled": True, "routingStrategy": "fastest"}
    with pytest.raises(RefusedError, match='Unsupported value: "fastest"') as refused:
        rest.create(endpoint(namespace, intelligentRoutingSpec=routing))
    assert refused.value.status == 422
    with pytest.raises(RefusedError, match="field not declared in schema"):
        rest.apply(endpoint(namespace, tierSize="8Gi"))
    made = rest.create(endpoint(namespace, kvCacheSpec={}))
    assert made["spec"]["kvCacheSpec"] == {"enableL1Cache": True, "enableL2Cache": False}


def test_a_quota_refuses_pods_beyond_it(cluster: Cluster, rest: Rest, namespace: str) -> None:
    meta = {"name": "gpus", "namespace": namespace}
    spec = {"hard": {"requests.nvidia.com/gpu": "1"}}
    rest.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec})
    used = {"requests.nvidia.com/gpu": "0"}
    known = lambda: rest.get("ResourceQuota", "gpus", namespace).get("status", {}).get("used") == used  # noqa: E731
    cluster.wait_until(known, "the quota's first count")
    with pytest.raises(RefusedError, match="exceeded quota") as refused:
        rest.create(engine_pod(namespace, gpus=2))
    assert refused.value.status == 403
