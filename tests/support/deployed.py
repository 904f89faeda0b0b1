"""Endpoints, pools and nodes as a cluster tells them, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from tierdeck.deployed import (
    Blind,
    Claim,
    Component,
    Configuration,
    ContainerRun,
    Deployed,
    Node,
    ObjectRef,
    Owner,
    PodRun,
    Revision,
    Sighting,
    Stated,
    StatedSize,
    Workload,
)
from tierdeck.events import Event, EventKind
from tierdeck.fleet import POOL

GIB = 2**30
NAME = "inference/chat"
SOURCE = ObjectRef("InferenceEndpointConfig", "inference", "chat")


def configuration(strategy: str = "prefixaware", l1_gib: float = 40, l2_gib: float | None = 500) -> Configuration:
    """L0 as a share of the GPU's memory, which nobody can tell in bytes."""
    l0 = StatedSize.unknown("the GPU's memory is not told", "--gpu-memory-utilization 0.9", "args of vllm")
    l1 = StatedSize(round(l1_gib * GIB), f"{l1_gib:g} GiB", f"{SOURCE}: spec.kvCacheSpec.l1CacheSize")
    l2 = (
        StatedSize.unknown("no pool is known") if l2_gib is None else StatedSize(round(l2_gib * GIB), f"{l2_gib:g} GiB")
    )
    return Configuration(Stated(strategy, f"{SOURCE}: spec.intelligentRoutingSpec.routingStrategy"), l0, l1, l2)


def pod(name: str = "chat-0", *, restarts: int = 0, node: str = "node-1", namespace: str = "inference") -> PodRun:
    run = ContainerRun("vllm", Component.ENGINE, "vllm/vllm-openai:v0.32.0", restarts, 1000.0)
    return PodRun(
        name, namespace, f"uid-{name}", node, "10.0.0.7", "Running", is_ready=True, created_at=900.0,
        workload=ObjectRef("Deployment", namespace, "chat"), revision="rs-1", containers=(run,),
    )  # fmt: skip


def deployed(
    name: str = NAME,
    *,
    cluster: str = "east",
    configured: Configuration | None = None,
    effective: Configuration | None = None,
    pods: Sequence[PodRun] = (),
    owners: Sequence[Owner] = (Owner("argo-cd", "chat", "label argocd.argoproj.io/instance"),),
    problems: Sequence[str] = (),
) -> Deployed:
    """Everything that an endpoint can have."""
    revision = Revision(3, "rs-1", 900.0, (("vllm", "vllm/vllm-openai:v0.32.0"),))
    workload = Workload(
        ObjectRef("Deployment", "inference", "chat"), "uid-d", 2, 2, (("vllm", Component.ENGINE),), (revision,)
    )
    claim = Claim("models", "inference", "curvine-sc", "curvine-csi", "Bound", 500 * GIB, None)
    return Deployed(
        cluster, name, "", "hyperpod", SOURCE, "uid-1", configured or configuration(), effective or configuration(),
        model="Llama-3.3-70B", wanted=2, owners=tuple(owners), workloads=(workload,), pods=tuple(pods),
        claims=(claim,), changed_by="argocd-controller", problems=tuple(problems),
    )  # fmt: skip


def pool(name: str = "curvine/main", cluster: str = "east") -> Deployed:
    no_size = StatedSize.unknown("a pool has no such tier")
    nothing = Configuration(Stated.unknown("a pool routes nothing"), no_size, no_size, StatedSize(500 * GIB))
    source = ObjectRef("CurvineCluster", "curvine", "main")
    return Deployed(cluster, POOL, name, "curvine", source, "uid-2", nothing, nothing)


def node(name: str = "node-1", *, pressures: Sequence[str] = (), cluster: str = "east") -> Node:
    return Node(cluster, name, f"uid-{name}", 100.0, "g6e", "g6e.12xlarge", pressures=tuple(pressures), gpus=4)


def sighting(at: float, *seen: Deployed, nodes: Sequence[Node] = (), blind: Sequence[Blind] = ()) -> Sighting:
    return Sighting("east", at, seen, tuple(nodes), tuple(blind))


def event(
    at: float,
    key: str,
    kind: EventKind = EventKind.RESTART,
    *,
    endpoint: str = NAME,
    replica: str = "chat-0",
    words: str = "vllm restarted: OOMKilled",
    cluster: str = "east",
) -> Event:
    subject = f"Pod inference/{replica}" if replica else str(SOURCE)
    return Event(cluster, endpoint, replica, at, kind, subject, words, key, {"by": "kubelet"})
