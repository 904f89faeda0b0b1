"""The files of a Curvine pool: values of its two charts, StorageClass and claim; each says why it is so.

Sources: CurvineIO/curvine-helm (values of curvine-runtime and curvine-csi) and CurvineIO/curvine (what its
configuration and its StorageClass's parameters do).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import yaml

from controller.reading.curvine_fuse import default_port
from controller.reading.pools import PROVISIONER
from controller.stage import File
from controller.stages.pool_wishes import GpuNodes, PoolWishes

CSI_VALUES, SERVER_VALUES, FIRST_START = "curvine-csi-values.yaml", "curvine-values.yaml", "curvine-first-start.yaml"
STORAGE_CLASS, CLAIM = "storage-class.yaml", "claim.yaml"
_PROVISIONER_IMAGE, _REGISTRAR_IMAGE = (
    "sig-storage/csi-provisioner:v3.6.0",
    "sig-storage/csi-node-driver-registrar:v2.10.0",
)


def document(content: Mapping[str, object], comments: Iterable[str]) -> str:
    """A YAML document under its comments."""
    head = "".join(f"# {line}\n" for line in comments)
    return head + yaml.safe_dump(dict(content), sort_keys=False, width=110, default_flow_style=False)


def server_values(wishes: PoolWishes, nodes: GpuNodes) -> File:
    """Of the server's chart, for every start after the first."""
    where: dict[str, object] = {}
    if nodes.selector:
        where["nodeSelector"] = nodes.selector
    if nodes.tolerations:
        where["tolerations"] = [dict(one) for one in nodes.tolerations]
    directories = [
        {
            "name": f"data{number}",
            "type": "SSD",
            "enabled": True,
            "size": wishes.worker_size,
            "storageClass": "",
            "hostPath": path,
            "mountPath": f"/data/data{number}",
        }
        for number, path in enumerate(wishes.data_paths.split(","), 1)
    ]
    content = {
        "cluster": {"id": wishes.release, "formatMaster": False, "formatWorker": False, "formatJournal": False},
        "image": {"tag": f"v{wishes.version}"},
        "master": {
            "replicas": 1,
            "webPort": 9000,
            "storage": {
                "meta": {"enabled": True, "storageClass": wishes.master_class, "size": "10Gi"},
                "journal": {"enabled": True, "storageClass": wishes.master_class, "size": "50Gi"},
            },
            **where,
        },
        "worker": {
            "replicas": wishes.workers,
            "webPort": 9001,
            "antiAffinity": {"enabled": True, "type": "required"},
            "storage": {"dataDirs": directories},
            **where,
        },
        "configOverrides": {
            "master": {
                "ttl_checker_interval": "5m",
                "ttl_bucket_interval": "5m",
                "enable_quota_eviction": False,
            }
        },
    }
    comments = (
        "Curvine's servers: one master on EBS, a worker per GPU node on that node's NVMe.",
        "format*: false. True makes the next restart erase the pool; only the very first start needs it, and a file",
        "that leaves them out counts as true.",
        "The master's meta and journal are on EBS: without them every file of the pool is lost.",
        "A data directory has either storageClass or hostPath. Two workers on one node would share its directory and",
        "be taken for one, so anti-affinity is required; a worker without a node of its own stays Pending.",
        "webPort: the metrics of master and worker, said here because Curvine's own defaults moved after 0.4.1.",
        "ttl_*_interval: files that have expired go within 5 minutes, not within an hour.",
        "enable_quota_eviction: false. It frees nothing for files without an expired TTL, and reports that it did.",
        *(() if nodes.selector else ("No label tells the GPU nodes apart: set worker.nodeSelector yourself.",)),
    )
    return File(SERVER_VALUES, document(content, comments))


def first_start() -> File:
    """On top of the server's values, once."""
    content = {"cluster": {"formatMaster": True, "formatWorker": True, "formatJournal": True}}
    comments = (
        f"On top of {SERVER_VALUES}, for the very first start only: empty directories are formatted.",
        "Never apply it to a pool that has run: it erases the pool.",
    )
    return File(FIRST_START, document(content, comments))


def csi_values(wishes: PoolWishes) -> File:
    """Of the CSI driver's chart."""
    content: dict[str, object] = {
        "image": {"tag": f"v{wishes.version}", "pullPolicy": "IfNotPresent"},
        "node": {"mountMode": "standalone", "container": {"securityContext": {"privileged": True}}},
        "controller": {"container": {"securityContext": {"privileged": True}}},
    }
    comments = [
        "Curvine's CSI driver. standalone: FUSE runs in a pod of its own, outlives the driver's and can be scraped.",
    ]
    if wishes.registry:
        prefix = wishes.registry.rstrip("/")
        node, controller = content["node"], content["controller"]
        assert isinstance(node, dict)
        assert isinstance(controller, dict)
        controller["sidecars"] = {"provisioner": {"image": f"{prefix}/{_PROVISIONER_IMAGE}"}}
        node["sidecars"] = {"nodeDriverRegistrar": {"image": f"{prefix}/{_REGISTRAR_IMAGE}"}}
    else:
        comments += [
            "The chart's csi-provisioner is v1.6.0, which asks for APIs that Kubernetes no longer has. Set",
            f"controller.sidecars.provisioner.image to {_PROVISIONER_IMAGE} of your registry, and",
            f"node.sidecars.nodeDriverRegistrar.image to {_REGISTRAR_IMAGE} (or --set registry=HOST).",
        ]
    return File(CSI_VALUES, document(content, comments))


def storage_class(wishes: PoolWishes, addresses: str) -> File:
    """It can't be changed once it is there: another one means another claim, and an empty L2."""
    port = default_port(wishes.version)
    parameters = {
        "master-addrs": addresses,
        "fs-path": wishes.fs_path,
        "path-type": "DirectoryOrCreate",
        **({} if port is None else {"web-port": str(port)}),
        **({} if wishes.ttl == "none" else {"client.ttl-ms": wishes.ttl_hours, "client.ttl-action": "delete"}),
    }
    content = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": wishes.storage_class},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": False,
        "parameters": parameters,
    }
    comments = (
        "reclaimPolicy: Retain. With Delete, deleting the claim erases the cache's files.",
        "allowVolumeExpansion: false. Curvine's driver does not implement it: a larger request would stay pending for",
        "ever. The pool's size is the sum of its workers' directories.",
        "web-port: where the FUSE client serves its metrics: 9002 up to Curvine 0.4.1, 9003 after it.",
        *_retention(wishes),
        "These parameters can't be changed, and are copied into the volume: another retention needs another",
        "StorageClass and another claim, which begins empty.",
    )
    return File(STORAGE_CLASS, document(content, comments))


def _retention(wishes: PoolWishes) -> tuple[str, ...]:
    if wishes.ttl == "none":
        return (
            "No client.ttl-ms: Curvine deletes nothing by itself, and a full pool answers with I/O errors. Tierdeck's",
            "janitor makes room (docs/janitor.md).",
        )
    return (
        f"client.ttl-ms: {wishes.ttl_hours}. It counts from when a file was written, not from its last use, and holds",
        "for files made from now on. It keeps the pool from filling only if no more is written within that time than",
        "fits.",
        "It ends the L2 of an endpoint that is idle for so long: directories expire too, with all that is in them, and",
        "LMCache makes its directory only when an engine starts. From then on each store fails until a restart.",
    )


def claim(wishes: PoolWishes) -> File:
    """Shared by all engines of a namespace."""
    namespace, _, name = wishes.claim.partition("/")
    content = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": wishes.storage_class,
            "resources": {"requests": {"storage": "100Gi"}},
        },
    }
    comments = ("The request is a number that Kubernetes asks for; Curvine holds nobody to it.",)
    return File(CLAIM, document(content, comments))
