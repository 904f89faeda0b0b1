"""What the Admin view and every header say of clusters: when they were seen, what can't be seen, nodes in trouble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from console.words import Freshness, age_words
from db import BlindPart, Sighted
from tierdeck.deployed import Node
from tierdeck.units import format_size

_LATE_SECONDS = 120.0
"""A controller looks every 15 seconds; a cluster that was not seen for so long is not watched now."""


@dataclass(frozen=True, slots=True)
class BlindLine:
    """One part that can't be seen; `fix` is YAML, or what else to do."""

    title: str
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """Complete; `nodes` has only those in trouble.

    Attributes:
        seen: a line for each cluster that a controller has seen; () where none was.
    """

    seen: tuple[str, ...] = ()
    blind: tuple[BlindLine, ...] = ()
    nodes: pd.DataFrame = field(default_factory=pd.DataFrame)
    nodes_words: str = ""


def cluster_part(seen: Sequence[Sighted], blind: Sequence[BlindPart], nodes: Sequence[Node], now: float) -> ClusterPart:
    """Instants become ages at `now`."""
    troubled = [node for node in nodes if _trouble(node)]
    rows = [
        {
            "cluster": node.cluster,
            "node": node.name,
            "trouble": f"▲ {_trouble(node)}",
            "group": node.group or "not told",
            "instance type": node.instance_type or "not told",
            "GPUs": node.gpus,
            "memory": format_size(node.memory_bytes) if node.memory_bytes is not None else "not told",
        }
        for node in troubled
    ]
    return ClusterPart(
        seen=tuple(_seen(one, now) for one in seen),
        blind=tuple(
            BlindLine(
                f"{part.blind.what} in cluster {part.cluster}, for {age_words(max(0.0, now - part.since_at))}",
                part.blind.reason,
                part.blind.fix,
            )
            for part in blind
        ),
        nodes=pd.DataFrame(rows).astype({"GPUs": "Int64"}) if rows else pd.DataFrame(),
        nodes_words=_nodes_words(nodes, troubled),
    )


def blind_words(blind: Sequence[BlindPart]) -> Freshness | None:
    """What a header says: once, however many parts there are; None: everything can be seen."""
    if not blind:
        return None
    what = blind[0].blind.what.partition(".")[0] if len(blind) == 1 else f"{len(blind)} kinds of object"
    return Freshness(f"the controller can't see {what}: Admin says how to grant it", fresh=False)


def _seen(one: Sighted, now: float) -> str:
    age = max(0.0, now - one.at)
    late = " (no controller watches it now)" if age > _LATE_SECONDS else ""
    unread = f"; not read by this version: {', '.join(one.unknown_kinds)}" if one.unknown_kinds else ""
    return f"{one.cluster} was seen {age_words(age)} ago{late}{unread}"


def _trouble(node: Node) -> str:
    if node.gone_at is not None:
        return f"gone, {node.replaced_by} took its place" if node.replaced_by else "gone"
    return ", ".join([*node.pressures, *([] if node.is_schedulable else ["being drained"])])


def _nodes_words(nodes: Sequence[Node], troubled: Sequence[Node]) -> str:
    there = [node for node in nodes if node.gone_at is None]
    gone = len(nodes) - len(there)
    many = f"{len(there)} node{'' if len(there) == 1 else 's'}, {len(troubled) - gone or 'none'} in trouble"
    return f"{many}, {gone} gone" if gone else many if nodes else ""
