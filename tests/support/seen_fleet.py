"""A fleet that a controller watches, as an operator meets it: drift, a rollout that is stuck, a node that went."""

from __future__ import annotations

from dataclasses import replace

from db import Store
from tests.support.console_store import CLUSTER, Habit, Made, fill
from tests.support.deployed import configuration, deployed, event, node, pod
from tierdeck.deployed import Blind, Owner, Sighting, StatedSize
from tierdeck.events import Event, EventKind
from tierdeck.fleet import POOL

CHAT, RAG = "inference/chat", "inference/rag"
FIX = """- apiGroups: ["inference.sagemaker.aws.amazon.com"]
  resources: ["inferenceendpointconfigs"]
  verbs: ["get", "list", "watch"]"""


def fill_watched(url: str, end_at: float, *, seconds: float = 900.0) -> None:
    """Two endpoints with figures, and what the cluster's API tells of them."""
    chat = [Habit(by_request=True, restarts_at=end_at - 400 if number == 1 else None) for number in range(3)]
    made = [
        Made(CHAT, chat),
        Made(RAG, [Habit(l0=0.25, l1=0.3, ttft=0.5), Habit(ttft=0.6)], model="Qwen2.5-32B", strategy="kvaware"),
    ]
    fill(url, made, end_at - seconds, end_at)
    with Store.open(url) as store:
        store.sight(watched(end_at - 5), lambda *_: events(end_at))


def watched(at: float) -> Sighting:
    """What a controller sees: chat runs another strategy and a smaller L1 than configured."""
    less = StatedSize(96 * 2**30, "96 GiB", "Deployment inference/chat: env LMCACHE_MAX_LOCAL_CPU_SIZE")
    running = replace(configuration("roundrobin"), l1=less)
    pods = [replace(pod(f"{CHAT}-{number}"), name=f"chat-{number}") for number in range(3)]
    pods[2] = replace(
        pods[2], is_ready=False, trouble="Unschedulable: 0/3 nodes are available: insufficient nvidia.com/gpu"
    )
    chat = replace(
        deployed(
            CHAT,
            cluster=CLUSTER,
            configured=configuration(l1_gib=120),
            effective=running,
            pods=pods,
            owners=[Owner("argo-cd", "chat", "label"), Owner("keda", "chat-scaler", "ScaledObject")],
            problems=["two routers answer for this endpoint"],
        ),
        drifting=("strategy", "L1"),
    )
    rag = deployed(
        RAG, cluster=CLUSTER, configured=configuration("kvaware", 96), effective=configuration("kvaware", 96)
    )
    nodes = (
        node("ip-10-0-1-7", cluster=CLUSTER),
        node("ip-10-0-1-8", cluster=CLUSTER, pressures=["MemoryPressure"]),
        replace(node("ip-10-0-1-9", cluster=CLUSTER), gone_at=at - 300, replaced_by="ip-10-0-1-12"),
    )
    blind = (Blind("inferenceendpointconfigs.inference.sagemaker.aws.amazon.com", "the API server forbids it", FIX),)
    return Sighting(CLUSTER, at, (chat, rag), nodes, blind)


def events(end_at: float) -> list[Event]:
    """Of the last minutes; the second replica's restart at 400 s is the one that its counters show."""
    pod_name = f"{CHAT}-1"

    def one(seconds: float, kind: EventKind, words: str, endpoint: str = CHAT, replica: str = "") -> Event:
        made = event(end_at - seconds, f"{kind} {seconds}", kind, endpoint=endpoint, replica=replica, words=words)
        return replace(made, cluster=CLUSTER)

    return [
        one(800, EventKind.ROUTING_CHANGED, "routing roundrobin → prefixaware, by argocd-controller"),
        one(402, EventKind.OOM, "chat-1: vllm ran out of memory and restarted", replica=pod_name),
        one(200, EventKind.DRIFT, "strategy: prefixaware is configured, roundrobin runs"),
        one(190, EventKind.ROLLOUT, "Deployment rag rolls out revision 4", RAG),
        one(30, EventKind.NODE_GONE, "node ip-10-0-1-9 is gone"),
        one(20, EventKind.RESTART, "curvine-master-0: master restarted (Error, exit code 1)", POOL, "curvine/main"),
    ]
