"""The examples of each way of deploying, written into a real cluster: what people write, not what controllers add."""

from __future__ import annotations

import json

from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tests.support.manifests import documents

_MADE_BY_CONTROLLERS = ("Pod", "ReplicaSet", "ControllerRevision")
_NOT_SERVED = ("ScaledObject", "CacheServer")
"""Their definitions are not among those that tests install."""


def write(cluster: Cluster, *names: str) -> None:
    """Owners are written before what they own, whose references get their real uids."""
    uids: dict[str, str] = {}
    for name in names:
        for one in json.loads(json.dumps(documents(name))):
            if one["kind"] in (*_MADE_BY_CONTROLLERS, *_NOT_SERVED):
                continue
            _namespace(cluster, one["metadata"].get("namespace", ""))
            if one["kind"] == "PersistentVolumeClaim":
                cluster.rest.create(_volume(one))
            uid = one["metadata"].pop("uid", "")
            made = cluster.rest.create(_complete(one, uids))
            uids[uid] = made["metadata"]["uid"]


def _complete(one: Manifest, uids: dict[str, str]) -> Manifest:
    """With what the API wants and the examples leave out."""
    one.pop("status", None)
    metadata, spec = one["metadata"], one.get("spec", {})
    for name in ("managedFields", "generation", "creationTimestamp"):
        metadata.pop(name, None)
    known = [owner for owner in metadata.pop("ownerReferences", []) if owner["uid"] in uids]
    if known:
        owners = [{"apiVersion": "apps/v1", **owner, "uid": uids[owner["uid"]]} for owner in known]
        metadata["ownerReferences"] = owners
    if one["apiVersion"] == "apps/v1" and "selector" not in spec:
        spec["selector"] = {"matchLabels": spec["template"]["metadata"]["labels"]}
    return one


def _volume(claim: Manifest) -> Manifest:
    """What Curvine's driver would have made for it."""
    spec, metadata = claim["spec"], claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": spec["volumeName"]},
        "spec": {
            "capacity": spec["resources"]["requests"],
            "accessModes": ["ReadWriteMany"],
            "storageClassName": spec["storageClassName"],
            "claimRef": {"namespace": metadata["namespace"], "name": metadata["name"]},
            "csi": {"driver": "curvine", "volumeHandle": spec["volumeName"]},
        },
    }


def _namespace(cluster: Cluster, name: str) -> None:
    if name and cluster.rest.find("Namespace", name) is None:
        cluster.rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        cluster.wait_until(
            lambda: cluster.rest.find("ServiceAccount", "default", name) is not None, f"namespace {name}"
        )
