"""The Admin view's content: what is read, by which processes, how long it is kept, and who changed what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pandas as pd

from console.cluster_part import ClusterPart, cluster_part
from console.words import BEAT_LATE_SECONDS, age_words
from db import BlindPart, Sighted
from tierdeck.deployed import Node
from tierdeck.resolution import Resolution
from tierdeck.settings import Settings
from tierdeck.units import format_seconds, format_size

_KEPT = {
    Resolution.RAW: "raw (one row per scrape)",
    Resolution.MINUTE: "1 minute",
    Resolution.TEN_MINUTES: "10 minutes",
    Resolution.HOUR: "1 hour",
}


@dataclass(frozen=True, slots=True)
class AdminPage:
    """Complete; every frame is ready to show, the failing targets first."""

    store: str
    summary: str
    targets: pd.DataFrame
    failing: int
    processes: pd.DataFrame
    retention: pd.DataFrame
    sizes: pd.DataFrame
    audit: pd.DataFrame
    cluster: ClusterPart = field(default_factory=ClusterPart)


@dataclass(frozen=True, slots=True)
class Told:
    """What the store told, as `db.Store` gives it."""

    targets: pd.DataFrame
    processes: pd.DataFrame
    sizes: pd.DataFrame
    audit: pd.DataFrame
    sighted: Sequence[Sighted] = ()
    blind: Sequence[BlindPart] = ()
    nodes: Sequence[Node] = ()


def admin_page(told: Told, url: str, kept_seconds: Mapping[str, int], now: float) -> AdminPage:
    """Instants become ages at `now`, sizes words."""
    at = pd.Timestamp(now, unit="s", tz="UTC")
    targets = _targets(told.targets, at)
    failing = int((targets["last error"] != "").sum())
    whole = told.sizes["bytes"].iloc[-1] if len(told.sizes) else float("nan")
    kept = [{"rows": what, "kept for": format_seconds(seconds)} for what, seconds in kept_seconds.items()]
    return AdminPage(
        store=store_words(url),
        summary=format_size(whole) if pd.notna(whole) else "size not told",
        targets=targets,
        failing=failing,
        processes=_processes(told.processes, at),
        retention=pd.DataFrame(kept),
        sizes=_sizes(told.sizes),
        audit=_audit(told.audit),
        cluster=cluster_part(told.sighted, told.blind, told.nodes, now),
    )


def kept_seconds(settings: Settings) -> dict[str, int]:
    """How long each kind of row is kept."""
    return {_KEPT[one]: told for one, told in settings.retention_seconds.items()} | {
        "events": settings.event_retention_seconds,
        "alerts that are over": settings.alert_retention_seconds,
    }


def store_words(url: str) -> str:
    """Kind and place of the store; never its user or password."""
    parts = urlsplit(url)
    if parts.scheme.startswith("sqlite"):
        return "SQLite, one file"
    return f"PostgreSQL at {parts.hostname or 'a local socket'}"


def _targets(found: pd.DataFrame, now: pd.Timestamp) -> pd.DataFrame:
    never = found["last_attempt_at"].isna()
    shown = pd.DataFrame(
        {
            "cluster": found["cluster"],
            "endpoint": found["endpoint"],
            "replica": found["replica"].replace("_fleet", "(shared)"),
            "target": found["target"],
            "last success": [_ago(at, now) for at in found["last_success_at"]],
            "last error": found["reason"].mask(never, "not scraped yet"),
            "failures in a row": found["consecutive_failures"],
            "took": [format_seconds(value) if value > 0 else "" for value in found["duration_seconds"]],
            "size": [format_size(value) if pd.notna(value) else "" for value in found["body_bytes"]],
            "address": found["url"],
        }
    )
    return shown.sort_values("last error", key=lambda reasons: reasons == "", kind="stable").reset_index(drop=True)


def _processes(found: pd.DataFrame, now: pd.Timestamp) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "process": found["name"],
            "state": [_state(*row, now) for row in zip(found["beat_at"], found["stopped_at"], strict=True)],
            "trouble": found["trouble"],
            "last heartbeat": [_ago(at, now) for at in found["beat_at"]],
            "up for": [
                _age(at, end) for at, end in zip(found["started_at"], found["stopped_at"].fillna(now), strict=True)
            ],
            "version": found["version"],
            "instance": found["instance"],
        }
    )


def _state(beat_at: pd.Timestamp, stopped_at: pd.Timestamp, now: pd.Timestamp) -> str:
    if pd.notna(stopped_at):
        return f"○ stopped at {stopped_at:%Y-%m-%d %H:%M} UTC"
    return "✕ silent" if (now - beat_at).total_seconds() > BEAT_LATE_SECONDS else "● alive"


def _audit(found: pd.DataFrame) -> pd.DataFrame:
    when = found["at"].dt.strftime("%Y-%m-%d %H:%M:%S")
    return found.assign(at=when).rename(columns={"at": "when (UTC)"})


def _sizes(found: pd.DataFrame) -> pd.DataFrame:
    found = found[found["rows"] > 0].sort_values("rows", ascending=False, kind="stable")
    sizes = [format_size(value) if pd.notna(value) else "not told" for value in found["bytes"]]
    return found.assign(bytes=sizes).rename(columns={"bytes": "size"})


def _ago(at: pd.Timestamp, now: pd.Timestamp) -> str:
    return "never" if pd.isna(at) else f"{_age(at, now)} ago"


def _age(at: pd.Timestamp, now: pd.Timestamp) -> str:
    return age_words(max(0.0, (now - at).total_seconds()))
