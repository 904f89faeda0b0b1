"""What happened to nodes: gone, replaced, drained, under pressure; told to each endpoint that has pods there."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.deployed import Deployed, Node, Remembered, Sighting
from tierdeck.events import Event, EventKind
from tierdeck.telling import Telling


def node_events(before: Remembered, now: Sighting) -> Iterator[Event]:
    """Of nodes that were known before; a node with pods of nobody we know is told once, without an endpoint, if it
    has GPUs, and else not at all.
    """
    for node in now.nodes:
        old = before.nodes.get(node.name)
        if old is None:
            continue
        if old.uid != node.uid:
            words = f"node {node.name} was replaced by another of the same name"
            yield from _told(before, now, old, EventKind.NODE_REPLACED, words, f"node-replaced/{old.uid}")
            continue
        if node.gone_at is not None:
            if old.gone_at is None:
                words = f"node {node.name} is gone"
                yield from _told(before, now, old, EventKind.NODE_GONE, words, f"node-gone/{node.uid}")
            if node.replaced_by and not old.replaced_by:
                words = f"node {node.replaced_by} takes the place of {node.name} in {node.group}"
                yield from _told(before, now, old, EventKind.NODE_REPLACED, words, f"node-replaced/{node.uid}")
            continue
        moment = f"{now.at:.3f}"
        if old.is_schedulable and not node.is_schedulable:
            words = f"node {node.name} is being drained: nothing new is scheduled there"
            yield from _told(before, now, node, EventKind.NODE_DRAINED, words, f"node-drained/{node.uid}/{moment}")
        for pressure in node.pressures:
            if pressure not in old.pressures:
                words, key = f"node {node.name}: {pressure}", f"node-pressure/{node.uid}/{pressure}/{moment}"
                yield from _told(before, now, node, EventKind.NODE_PRESSURE, words, key)


def _told(before: Remembered, now: Sighting, node: Node, kind: EventKind, words: str, key: str) -> Iterator[Event]:
    subject = f"Node {node.name}"
    there = {one.key: one for one in (*before.deployed.values(), *now.deployed) if _is_on(one, node)}
    for one in there.values():
        pods = sorted(pod.name for pod in one.pods if pod.node == node.name)
        detail = {"node": node.name, "pods": ", ".join(pods)} if pods else {"node": node.name}
        yield Telling(one, now.at, subject).event(kind, words, key, detail)
    if not there and node.gpus:
        yield Event(now.cluster, "", "", now.at, kind, subject, words, key, {"node": node.name})


def _is_on(one: Deployed, node: Node) -> bool:
    return any(pod.node == node.name for pod in one.pods)
