"""What a plan of a Curvine pool is made of: what is wanted, and what the cluster tells of its GPU nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from controller.objects import Objects, Raw
from controller.reading.fields import items, labels, mapping, named, text
from controller.reading.images import tag_version
from controller.reading.lineage import Found, template_spec
from controller.reading.pools import PROVISIONER, Pool, pool_of_addresses
from controller.reading.quantities import amount
from controller.reading.scene import Scene
from controller.reading.storage import read_claim
from controller.resources import CLAIMS, NODES, STORAGE_CLASSES
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
    ttl: str = Field("none", pattern=r"^([1-9][0-9]*[hd]|none)$", description="a time such as 24h or 7d, or none,")
    registry: str = Field("", pattern=r"^[a-z0-9.:/_-]*$", description="a registry that has the CSI sidecars")
    first_start: str = Field("false", pattern="^(true|false)$", description="true or false")

    @property
    def fullname(self) -> str:
        """What the server chart's objects begin with.

        Source: CurvineIO/curvine-helm, _helpers.tpl, `curvine.fullname`.
        """
        name = self.release if "curvine" in self.release else f"{self.release}-curvine"
        return name[:63].rstrip("-")

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
    others = [raw for raw in nodes if not any(raw is one for one in with_gpus)]
    names = tuple(text(raw, "metadata", "name") for raw in with_gpus)
    return GpuNodes(names, _selector(with_gpus, others), tuple(_tolerations(with_gpus)))


def _selector(nodes: list[Raw], others: list[Raw]) -> dict[str, str]:
    for key, value in _GPU_LABELS:
        have = [labels(raw, "metadata", "labels").get(key) == value for raw in nodes]
        if have and all(have) and not any(labels(raw, "metadata", "labels").get(key) == value for raw in others):
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


def usual_of(scene: Scene, nodes: GpuNodes, pool: Pool | None) -> dict[str, object]:
    """What the cluster itself suggests: a worker per GPU node, the class of its EBS volumes, the pool that is there."""
    objects, usual = scene.objects, dict[str, object]()
    if pool is not None:
        usual |= {"namespace": pool.namespace, "release": pool.instance}
        version = _version_of(pool)
        usual |= {"version": version} if version else {}
        classes = [ref.name for ref, raw in classes_of(objects) if leads_to(raw, pool)]
        usual |= {"storage_class": classes[0]} if classes else {}
    bound = bound_claims(scene, pool)
    usual |= {"claim": bound[0]} if bound else {}
    wanted = pool.wanted if pool is not None else None
    if wanted or nodes.names:
        usual["workers"] = wanted or len(nodes.names)
    ebs = [one for one in named(objects, STORAGE_CLASSES) if text(one[1], "provisioner") == _EBS]
    first = sorted(ebs, key=lambda one: labels(one[1], "metadata", "annotations").get(_DEFAULT_CLASS) != "true")
    if first:
        usual["master_class"] = first[0][0].name
    return usual


def classes_of(objects: Objects) -> list[Found]:
    """Curvine's StorageClasses."""
    return [one for one in named(objects, STORAGE_CLASSES) if text(one[1], "provisioner") == PROVISIONER]


def leads_to(storage_class: Raw, pool: Pool) -> bool:
    """Its masters are that pool's."""
    return pool_of_addresses(text(storage_class, "parameters", "master-addrs"), (pool,)) is pool


def bound_claims(scene: Scene, pool: Pool | None) -> list[str]:
    """Curvine's claims that are Bound and lie in that pool; None: in one that is not found. `namespace/name`."""
    found = []
    for ref, raw in named(scene.objects, CLAIMS):
        claim = read_claim(scene.objects, ref.namespace, ref.name, raw)
        if (claim.provisioner, claim.phase) == (PROVISIONER, "Bound") and scene.storage("").pool_of(claim) is pool:
            found.append(f"{claim.namespace}/{claim.name}")
    return found


def _version_of(pool: Pool) -> str:
    """Of its masters' image; empty where the tag tells none."""
    containers = [one for _, raw in pool.masters for one in items(template_spec(raw), "containers")]
    return next((version for one in containers if (version := tag_version(text(one, "image")))), "")
