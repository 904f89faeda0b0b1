"""The reading commands' documents as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.words import backend_words
from tierdeck.fleet import COMPONENTS, source_kind
from tierdeck.units import format_count, format_ratio, format_size

_NO_ENDPOINT = "No endpoint yet. Try `tierdeck up --demo`, or list yours in a file (docs/config.md)."


def status(document: dict[str, Any]) -> str:
    rows = [
        [
            row["name"],
            row["state"],
            "unknown" if row["prompt_tokens"] is None else format_count(row["prompt_tokens"]),
            "unknown" if row["hit_ratio"] is None else format_ratio(row["hit_ratio"]),
            row["why"].get("hit_ratio", "")
            or (
                ""
                if row["readable"] == row["replicas"]
                else f"{row['readable']} of {row['replicas']} replicas readable"
            ),
        ]
        for row in document["endpoints"]
    ]
    return grid(["endpoint", "state", "prompt tokens (15 min)", "hit ratio", ""], rows) if rows else _NO_ENDPOINT


def _partly(row: dict[str, Any]) -> str:
    """Where some replicas are left out of the figures."""
    readable, replicas = row["readable"], row["replicas"]
    return "" if readable == replicas else f"{readable} of {replicas} replicas readable"


def endpoints(document: dict[str, Any]) -> str:
    rows = [
        [
            row["name"],
            row["model"] or "unknown",
            str(row["replicas"]),
            f"{row['strategy']} ({row['proof']['words']})" if row["strategy"] else "not told",
            " / ".join(_size(row["sizes"][key]) for key in ("l0_bytes", "l1_bytes", "l2_bytes")),
            backend_words(row["backend"]),
            row["cluster"],
        ]
        for row in document["endpoints"]
    ]
    heads = ["endpoint", "model", "replicas", "strategy", "L0 / L1 / L2", "backend", "cluster"]
    if not rows:
        return _NO_ENDPOINT
    watched = [row for row in document["endpoints"] if row["source"] is not None]
    return "\n\n".join([grid(heads, rows), *(_deployment(row) for row in watched)])


def _deployment(row: dict[str, Any]) -> str:
    """How one endpoint is deployed: its object, its owners, its tiers, what is wrong."""
    source = row["source"]
    place = f"{source['namespace']}/{source['name']}" if source["namespace"] else source["name"]
    owners = ", ".join(f"{owner['tool']} {owner['name']}".strip() for owner in row["owners"]) or "nobody else"
    tiers = [
        [
            f"  {tier}",
            _stated(sizes["configured"]),
            _stated(sizes["effective"]),
            _used(sizes["used"]),
            "≠ drift" if tier in row["drift"] else "",
        ]
        for tier, sizes in row["tiers"].items()
    ]
    routing = [row["routing"][side]["value"] or "not known" for side in ("configured", "effective")]
    drift = "  ≠ drift" if "strategy" in row["drift"] else ""
    lines = [
        f"{row['name']}: {source['kind']} {place}, also written by {owners}",
        f"  strategy: configured {routing[0]}, running {routing[1]}{drift}",
        grid(["  tier", "configured", "running", "used", ""], tiers),
        *(f"  ! {problem}" for problem in row["problems"]),
    ]
    return "\n".join(lines)


def _stated(size: dict[str, Any]) -> str:
    if size["bytes"] is None:
        return size["text"] or f"unknown: {size['why']}"
    return format_size(size["bytes"])


def _used(used: dict[str, Any]) -> str:
    share = "" if used["ratio"] is None else f" ({format_ratio(used['ratio'])})"
    return f"unknown: {used['why']}{share}" if used["bytes"] is None else f"{format_size(used['bytes'])}{share}"


def targets(document: dict[str, Any]) -> str:
    rows = [
        [
            row["endpoint"],
            row["replica"],
            row["target"],
            row["last_success_at"] or "never",
            row["reason"] or "ok",
            _version(row),
            row["url"],
        ]
        for row in document["targets"]
    ]
    heads = ["endpoint", "replica", "target", "last success", "last scrape", "version", "address"]
    return grid(heads, rows) if rows else _NO_ENDPOINT


def _version(row: dict[str, Any]) -> str:
    """As the process tells it; what the configuration states beside it where that is another, or all there is."""
    told, stated = row["version"], row["stated_version"]
    if told is None:
        unknown = "unknown" if source_kind(row["target"]) in COMPONENTS else ""
        return f"{stated} (stated)" if stated else unknown
    return f"{told} (stated: {stated})" if stated and stated != told else told


def _size(size: float | None) -> str:
    return "unknown" if size is None else format_size(size)


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (heads, *rows)
    ]
    return "\n".join(lines)
