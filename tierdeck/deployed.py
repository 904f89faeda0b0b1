"""How endpoints and pools are deployed in a cluster, as its Kubernetes API tells it: what is configured, what runs.

Pure values: the controller makes them from API objects, the store keeps the newest of each, and
`tierdeck.happened` compares two of the same thing to say what happened in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tierdeck.fleet import POOL
from tierdeck.tiers import Tier


class Component(StrEnum):
    """The parts of a deployment, as images are told apart."""

    ENGINE = "engine"
    ROUTER = "router"
    LMCACHE = "lmcache"
    LMCACHE_COORDINATOR = "lmcache-coordinator"
    CURVINE_MASTER = "curvine-master"
    CURVINE_WORKER = "curvine-worker"
    CURVINE_FUSE = "curvine-fuse"
    CURVINE_CSI = "curvine-csi"
    OTHER = "other"


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """A Kubernetes object; `namespace` is empty for one of the whole cluster."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Stated:
    """A word as something states it, such as a routing strategy.

    Attributes:
        value: empty exactly when `reason` says why.
        where: the object and the field that state it.
    """

    value: str
    where: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if bool(self.value) == bool(self.reason):
            raise ValueError("a stated value has either a value or the reason why there is none")

    @classmethod
    def unknown(cls, reason: str, where: str = "") -> Stated:
        return cls("", where, reason)


@dataclass(frozen=True, slots=True)
class StatedSize:
    """A tier's size as something states it: L0 and L1 of one replica (all its ranks), L2 of the whole pool.

    Attributes:
        size_bytes: 0 is a tier that is off; None exactly when `reason` says why there is no number.
        text: what is written there in its own unit, spelled the same wherever it is found
            (`--gpu-memory-utilization 0.9`, `40 GiB × 2 ranks`); empty where nothing is written.
        where: the object and the field that state it.
    """

    size_bytes: int | None
    text: str = ""
    where: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.size_bytes is None) != bool(self.reason):
            raise ValueError("a stated size has either bytes or the reason why there are none")
        if self.size_bytes is not None and self.size_bytes < 0:
            raise ValueError(f"a size can't be negative: {self.size_bytes}")

    @classmethod
    def unknown(cls, reason: str, text: str = "", where: str = "") -> StatedSize:
        return cls(None, text, where, reason)

    @property
    def said(self) -> str:
        """What is compared: bytes where they are known, else what is written."""
        return self.text if self.size_bytes is None else str(self.size_bytes)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Routing strategy and tier sizes, as one side states them."""

    strategy: Stated
    l0: StatedSize
    l1: StatedSize
    l2: StatedSize

    def sizes(self) -> Iterator[tuple[Tier, StatedSize]]:
        """Hottest first."""
        yield from ((Tier.L0, self.l0), (Tier.L1, self.l1), (Tier.L2, self.l2))


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """What else writes to a deployment: Argo CD, Flux, Helm, KEDA, an HPA, an operator.

    Attributes:
        tool: `argo-cd`, `flux`, `helm`, `keda`, `hpa`, `hyperpod-operator`, `production-stack-operator`,
            or the field manager's own name for a hand that edits (`kubectl-edit`).
        name: the application, release or object there; empty where it has none.
        evidence: the label, annotation or field manager that says so.
    """

    tool: str
    name: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of a workload's pod template, as its ReplicaSet or ControllerRevision keeps it.

    Attributes:
        identity: uid of that object: the same revision used again is a rollout back to it.
        images: (container, image), in order.
    """

    number: int
    identity: str
    created_at: float
    images: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment, StatefulSet or DaemonSet that runs a part of an endpoint or a pool.

    Attributes:
        wanted: pods wanted; None where an autoscaler has not said yet.
        components: (container, its part), in order.
        revisions: those that are still kept, oldest first; the last is the one wanted now.
        is_rolling: pods of an older revision are still there, or pods are missing.
        trouble: why a rollout does not go on, in the API's words; empty otherwise.
    """

    ref: ObjectRef
    uid: str
    wanted: int | None
    ready: int
    components: tuple[tuple[str, Component], ...]
    revisions: tuple[Revision, ...] = ()
    is_rolling: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """One container of a pod.

    Attributes:
        restarts: as the kubelet counts.
        started_at: of the process that runs now; None: none does.
        last_reason, last_exit_code, last_finished_at: how the process before it ended (`OOMKilled`);
            empty and None where there was none.
        waiting: why it does not run (`CrashLoopBackOff`); empty where it runs or is just starting.
    """

    name: str
    component: Component
    image: str
    restarts: int = 0
    started_at: float | None = None
    last_reason: str = ""
    last_exit_code: int | None = None
    last_finished_at: float | None = None
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class PodRun:
    """One pod of an endpoint or a pool.

    Attributes:
        revision: identity of the revision that it was made from; empty where that is not known.
        trouble: why it is not ready, in the API's words (`Unschedulable: 0/3 nodes …`); empty otherwise.
    """

    name: str
    namespace: str
    uid: str
    node: str
    address: str
    phase: str
    is_ready: bool
    created_at: float
    workload: ObjectRef | None
    revision: str = ""
    containers: tuple[ContainerRun, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim that the pods mount.

    Attributes:
        requested_bytes, capacity_bytes: None: not told. On Curvine neither limits anything.
    """

    name: str
    namespace: str
    storage_class: str
    provisioner: str
    phase: str
    requested_bytes: int | None
    capacity_bytes: int | None


@dataclass(frozen=True, slots=True)
class Deployed:
    """An endpoint (or, in `endpoint` = `_pool`, a pool) as the cluster's API tells it.

    Attributes:
        source: the object that an operator edits.
        source_uid: an object that was deleted and made anew is another one.
        configured: what the source states.
        effective: what the running pods carry; unknown where none runs, or where they differ.
        wanted: replicas of the engine that are wanted.
        changed_by: who wrote the source's strategy or sizes last, by field manager; empty: not told.
        drifting: of `drift`, what has lasted long enough to be said; a rollout in between leaves it as it was.
        problems: what is wrong or can't be told here, one sentence each.
        write_rules: the RBAC rules that the controller lacks to change it, as YAML; empty: it lacks none;
            None: not asked, since it changes nothing, or not told.
    """

    cluster: str
    endpoint: str
    name: str
    backend: str
    source: ObjectRef
    source_uid: str
    configured: Configuration
    effective: Configuration
    model: str = ""
    wanted: int | None = None
    owners: tuple[Owner, ...] = ()
    workloads: tuple[Workload, ...] = ()
    pods: tuple[PodRun, ...] = ()
    claims: tuple[Claim, ...] = ()
    changed_by: str = ""
    problems: tuple[str, ...] = ()
    drifting: tuple[str, ...] = ()
    write_rules: tuple[str, ...] | None = None

    @property
    def is_pool(self) -> bool:
        return self.endpoint == POOL

    @property
    def key(self) -> tuple[str, str, str]:
        """Cluster, endpoint (or `_pool`), and the pool's name (or "")."""
        return self.cluster, self.endpoint, self.name if self.is_pool else ""

    @property
    def is_settled(self) -> bool:
        """Every workload has rolled out: only then does what runs have to be what is configured."""
        return not any(workload.is_rolling for workload in self.workloads)

    def comparable(self) -> frozenset[str]:
        """`strategy` and tiers of which both sides state something."""
        one, other = self.configured, self.effective
        found = {"strategy"} if one.strategy.value and other.strategy.value else set()
        pairs = zip(one.sizes(), other.sizes(), strict=True)
        return frozenset(found | {tier.value for (tier, wanted), (_, seen) in pairs if wanted.said and seen.said})

    def drift(self) -> Mapping[str, tuple[str, str]]:
        """What is in effect but not as configured, once rolled out: by `strategy` or tier, (configured, effective).

        Only where both sides state something.
        """
        if not self.is_settled:
            return {}
        found: dict[str, tuple[str, str]] = {}
        one, other = self.configured, self.effective
        if one.strategy.value and other.strategy.value and one.strategy.value != other.strategy.value:
            found["strategy"] = one.strategy.value, other.strategy.value
        for (tier, wanted), (_, seen) in zip(one.sizes(), other.sizes(), strict=True):
            if wanted.said and seen.said and wanted.said != seen.said:
                found[tier.value] = wanted.text or wanted.said, seen.text or seen.said
        return found


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the cluster.

    Attributes:
        group: its node group, where a label tells it: a replacement joins the same one.
        pressures: conditions that are wrong now (`MemoryPressure`, `DiskPressure`, `NotReady`, …).
        gpus: allocatable ones.
        gone_at: when it was first missed; it is remembered for a while, so that its replacement is known as one.
        replaced_by: the node that took its place; empty while none has.
    """

    cluster: str
    name: str
    uid: str
    created_at: float
    group: str = ""
    instance_type: str = ""
    is_schedulable: bool = True
    pressures: tuple[str, ...] = ()
    cpu: float | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    gone_at: float | None = None
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class Blind:
    """A part of the cluster that the inventory can't see.

    Attributes:
        what: the resource (`inferenceendpointconfigs.inference.sagemaker.aws.amazon.com`).
        reason: one sentence.
        fix: the rule that grants it, as YAML, or what else to do; empty where nothing is to be done.
    """

    what: str
    reason: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Sighting:
    """All that an inventory saw at one time.

    Attributes:
        blind: what it could not see: nothing is said to be gone for want of sight.
        unknown_kinds: custom resources of the family that are there and that this version does not read.
    """

    cluster: str
    at: float
    deployed: tuple[Deployed, ...] = ()
    nodes: tuple[Node, ...] = ()
    blind: tuple[Blind, ...] = ()
    unknown_kinds: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the store remembers of a cluster from the sightings before.

    Attributes:
        deployed: by `Deployed.key`.
        nodes: by name.
        is_first: nothing was ever seen of this cluster: what is there now has not just appeared.
        at: when it was seen last, in epoch seconds; 0: never.
    """

    deployed: Mapping[tuple[str, str, str], Deployed] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    is_first: bool = False
    at: float = 0.0
