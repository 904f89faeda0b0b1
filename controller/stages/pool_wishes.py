"""What a plan of a Curvine pool is made of: what is wanted, and what the cluster tells of its GPU nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from controller.objects import Objects, Raw
from controller.reading.fields import items, labels, mapping, named, text
from controller.reading.images import tag_version
from controller.reading.lineage import template_spec
from controller.reading.pools import Pool
from controller.reading.quantities import amount
from controller.resources import NODES, STORAGE_CLASSES
from tierdeck.l2.policy import CLAIM_PATTERN

_NAME = f"^{CLAIM_PATTERN}$"
_QUANTITY = r"^[1-9][0-9]*(Mi|Gi|Ti)$"
_PATHS = r"^/[^,\s]+(,/[^,\s]+)*$"
_GPU = "nvidia.com/gpu"
_GPU_LABELS = (("sagemaker.amazonaws.com/compute-type", "hyperpod"), ("nvidia.com/gpu.present", "true"))
"""Sources: HyperPod's node labels; NVIDIA's GPU feature discovery."""
_EBS = "ebs.csi.aws.com"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


class PoolWishes(BaseModel):
    """`--set` of stage 3; each description says what a value has to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = Field("0.3.2-alpha", pattern=r"^\d+\.\d+\.\d+(-[a-z0-9.]+)?$", description="a version of Curvine")
    namespace: str = Field("curvine", pattern=_NAME, description="a namespace")
    release: str = Field("curvine", pattern=_NAME, description="the name of a Helm release")
    workers: int = Field(1, ge=1, le=1000, description="a number of workers")
    worker_size: str = Field("100Gi", pattern=_QUANTITY, description="a size of each data directory, such as 100Gi,")
    data_paths: str = Field(
        "/opt/dlami/nvme/curvine-data", pattern=_PATHS, description="a path of the nodes' NVMe, or several with commas,"
    )
    master_class: str = Field("gp3", pattern=_NAME, description="a StorageClass of EBS volumes")
    storage_class: str = Field("curvine-sc", pattern=_NAME, description="a name of a StorageClass")
    fs_path: str = Field("/l2cache", pattern=r"^(/[A-Za-z0-9._-]+)+$", description="a path inside Curvine")
    claim: str = Field(
        "default/curvine-pvc",
        pattern=f"^{CLAIM_PATTERN}/{CLAIM_PATTERN}$",
        description="namespace/name of a claim, where the engines run,",
    )
    ttl: str = Field("24h", pattern=r"^([1-9][0-9]*[hd]|none)$", description="a time such as 24h or 7d, or none,")
    registry: str = Field("", pattern=r"^[a-z0-9.:/_-]*$", description="a registry that has the CSI sidecars")

    @property
    def master(self) -> str:
        """Where clients find the master."""
        return f"{self.release}-master-0.{self.release}-master.{self.namespace}.svc.cluster.local:8995"

    @property
    def ttl_hours(self) -> str:
        """In hours, as Curvine's parameter is known to take it; `none` stays."""
        return f"{int(self.ttl[:-1]) * 24}h" if self.ttl.endswith("d") else self.ttl


@dataclass(frozen=True, slots=True)
class GpuNodes:
    """The nodes that can hold a worker beside an engine.

    Attributes:
        selector: a label that all of them have, and nobody else; empty: none was found.
        tolerations: of the taints that all of them have.
    """

    names: tuple[str, ...]
    selector: dict[str, str]
    tolerations: tuple[dict[str, str], ...]


def gpu_nodes(objects: Objects) -> GpuNodes:
    """As their allocatable devices tell."""
    nodes = [raw for _, raw in named(objects, NODES)]
    with_gpus = [raw for raw in nodes if amount(mapping(raw, "status", "allocatable").get(_GPU))]
    names = tuple(text(raw, "metadata", "name") for raw in with_gpus)
    return GpuNodes(names, _selector(with_gpus), tuple(_tolerations(with_gpus)))


def _selector(nodes: list[Raw]) -> dict[str, str]:
    for key, value in _GPU_LABELS:
        if nodes and all(labels(raw, "metadata", "labels").get(key) == value for raw in nodes):
            return {key: value}
    return {}


def _tolerations(nodes: list[Raw]) -> Iterable[dict[str, str]]:
    found = {
        (text(taint, "key"), text(taint, "effect"))
        for raw in nodes
        for taint in items(raw, "spec", "taints")
        if text(taint, "key") and not text(taint, "key").startswith("node.kubernetes.io/")
    }
    for key, effect in sorted(found):
        yield {"key": key, "operator": "Exists", "effect": effect}


def usual_of(objects: Objects, nodes: GpuNodes, pool: Pool | None) -> dict[str, object]:
    """What the cluster itself suggests: a worker per GPU node, the class of its EBS volumes, the pool that is there."""
    usual: dict[str, object] = {}
    if pool is not None:
        usual |= {"namespace": pool.namespace, "release": pool.instance}
        version = _version_of(pool)
        usual |= {"version": version} if version else {}
    wanted = pool.wanted if pool is not None else None
    if wanted or nodes.names:
        usual["workers"] = wanted or len(nodes.names)
    ebs = [one for one in named(objects, STORAGE_CLASSES) if text(one[1], "provisioner") == _EBS]
    first = sorted(ebs, key=lambda one: labels(one[1], "metadata", "annotations").get(_DEFAULT_CLASS) != "true")
    if first:
        usual["master_class"] = first[0][0].name
    return usual


def _version_of(pool: Pool) -> str:
    """Of its masters' image; empty where the tag tells none."""
    containers = [one for _, raw in pool.masters for one in items(template_spec(raw), "containers")]
    return next((version for one in containers if (version := tag_version(text(one, "image")))), "")
