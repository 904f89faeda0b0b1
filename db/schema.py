"""Every table of the store; the time series have one table per resolution and the key (series_id, at).

Instants are epoch seconds. A raw row's `at` is the end of what it covers; a rolled-up row's `at` is
the start of its bucket (at, at + width]. docs/store.md draws the picture.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from tierdeck.account import GAUGE_FIELDS
from tierdeck.ledger import COUNTS, TALLIES
from tierdeck.resolution import ROLLUPS, Resolution

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012")
"""Revisions of the schema, oldest first; a test holds them against db/migrations."""

POOL_FIELDS = (
    "capacity_bytes",
    "available_bytes",
    "used_bytes",
    "live",
    "lost",
    "blacklisted",
    "decommissioned",
    "files",
    "blocks",
    "data_dirs",
    "read_bytes",
    "written_bytes",
    "failed_requests",
)
SALT_FIELDS = ("lookup_tokens", "l1_found", "l2_found")
ENDPOINT_FIGURES = (
    "prompt_tokens",
    "l0",
    "lower",
    "l1",
    "l1_low",
    "l1_high",
    "l2",
    "l2_low",
    "l2_high",
    "miss",
    "transfer",
    "requests",
    "running",
    "waiting",
    "kv_usage_ratio",
    "kv_capacity_tokens",
)
"""Figures of a whole endpoint in one bucket; NULL: unknown (`transfer`: nobody transfers)."""

metadata = MetaData()


def _series_key(*more: Column[int] | Column[str]) -> list[Column[int] | Column[float] | Column[str]]:
    """The key that all time series share, with its index in this order."""
    owner = Column("series_id", Integer, ForeignKey("series.id"), primary_key=True, autoincrement=False)
    return [owner, *more, Column("at", Double, primary_key=True, autoincrement=False)]


def _doubles(names: Sequence[str]) -> list[Column[float]]:
    return [Column(name, Double) for name in names]


series = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("replica", Text, nullable=False),
    UniqueConstraint("cluster", "endpoint", "replica", name="uq_series"),
)
"""Whose rows they are. `replica` is "" for the endpoint as a whole."""

models = Table(
    "models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("model", Text, nullable=False),
    UniqueConstraint("model", name="uq_models"),
)
"""Served models. They are no part of a series' key: a round without an answer tells none."""

layouts = Table(
    "layouts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bounds", Text, nullable=False),
    UniqueConstraint("bounds", name="uq_layouts"),
)
"""Bucket layouts of histograms: finite upper bounds as a JSON list."""

salts = Table(
    "salts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("salt", Text, nullable=False),
    UniqueConstraint("cluster", "endpoint", "salt", name="uq_salts"),
)
"""The cache salts that are kept apart, per endpoint."""


def _ledger(resolution: Resolution) -> Table:
    return Table(
        f"ledger_{resolution.suffix}",
        metadata,
        *_series_key(),
        Column("started_at", Double, nullable=False),
        Column("ended_at", Double, nullable=False),
        *_doubles(COUNTS),
        *[Column(name, Integer, nullable=False) for name in TALLIES],
        Column("stores_in_flight", Double),
        Column("cache_at_start", Boolean),
        Column("cache_at_end", Boolean),
        Column("prompt_tokens_since_restart", Double),
        Column("requests_since_restart", Double),
        Column("notes", Text),
        *_doubles(GAUGE_FIELDS),
        Column("answer", Text, nullable=False),
        Column("model_id", Integer, ForeignKey("models.id")),
        Column("ttft_layout_id", Integer, ForeignKey("layouts.id")),
        *([] if resolution is Resolution.RAW else [Column("rounds", Integer, nullable=False)]),
        sqlite_with_rowid=False,
    )


def _histogram(resolution: Resolution) -> Table:
    return Table(
        f"histograms_{resolution.suffix}",
        metadata,
        *_series_key(Column("metric", Text, primary_key=True)),
        Column("layout_id", Integer, ForeignKey("layouts.id"), nullable=False),
        Column("counts", Text, nullable=False),
        Column("sum", Double, nullable=False),
        Column("layouts_differ", Boolean, nullable=False),
        sqlite_with_rowid=False,
    )


def _salt_counts(resolution: Resolution) -> Table:
    return Table(
        f"salts_{resolution.suffix}",
        metadata,
        *_series_key(Column("salt_id", Integer, ForeignKey("salts.id"), primary_key=True, autoincrement=False)),
        *_doubles(SALT_FIELDS),
        sqlite_with_rowid=False,
    )


def _pool(resolution: Resolution) -> Table:
    return Table(
        f"pools_{resolution.suffix}",
        metadata,
        *_series_key(),
        *_doubles(POOL_FIELDS),
        Column("reason", Text, nullable=False),
        sqlite_with_rowid=False,
    )


def _endpoint(resolution: Resolution) -> Table:
    return Table(
        f"endpoints_{resolution.suffix}",
        metadata,
        *_series_key(),
        Column("ended_at", Double, nullable=False),
        Column("rounds", Integer, nullable=False),
        Column("replicas", Integer, nullable=False),
        Column("readable", Integer, nullable=False),
        *_doubles(ENDPOINT_FIGURES),
        Column("ttft_layout_id", Integer, ForeignKey("layouts.id")),
        Column("ttft_counts", Text),
        Column("ttft_sum", Double),
        sqlite_with_rowid=False,
    )


LEDGERS = {resolution: _ledger(resolution) for resolution in Resolution}
HISTOGRAMS = {resolution: _histogram(resolution) for resolution in Resolution}
SALTS = {resolution: _salt_counts(resolution) for resolution in Resolution}
POOLS = {resolution: _pool(resolution) for resolution in Resolution}
ENDPOINTS = {resolution: _endpoint(resolution) for resolution in ROLLUPS}

pool_members = Table(
    "pool_members",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("pool", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("at", Double, nullable=False),
    Column("told_at", Double),
    Column("address", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("facts", Text),
)
"""Workers and mounts of each pool as they were last: `at` the round, `facts` as of `told_at`; NULL: never told."""

endpoints = Table(
    "endpoints",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("origin", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("backend", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("kv_bytes_per_token", Integer),
)
replicas = Table(
    "replicas",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("replica", Text, primary_key=True),
    Column("origin", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("versions", Text, nullable=False),
)
"""Replicas, what an endpoint's replicas share (`_fleet`), and pools (endpoint `_pool`)."""

targets = Table(
    "targets",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("replica", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("url", Text, nullable=False),
    ForeignKeyConstraint(
        ["cluster", "endpoint", "replica"],
        ["replicas.cluster", "replicas.endpoint", "replicas.replica"],
        name="fk_targets_replicas",
        ondelete="CASCADE",
    ),
)
scrapes = Table(
    "scrapes",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("replica", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("last_attempt_at", Double, nullable=False),
    Column("last_success_at", Double),
    Column("answered", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("duration_seconds", Double, nullable=False),
    Column("body_bytes", Integer, nullable=False),
    Column("consecutive_failures", Integer, nullable=False),
    Column("version", Text),
)
"""The last attempt at each target; apart from `targets`, so that a declaration never touches it.

`version` is what the process behind it told of itself; NULL: unknown."""

memories = Table(
    "memories",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("replica", Text, primary_key=True),
    Column("at", Double, nullable=False),
    Column("memory", Text, nullable=False),
)
processes = Table(
    "processes",
    metadata,
    Column("name", Text, primary_key=True),
    Column("instance", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("beat_at", Double, nullable=False),
    Column("trouble", Text, nullable=False, server_default=""),
)
audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
watermarks = Table(
    "watermarks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("at", Double, nullable=False),
)
"""Named instants: how far the roll-up has come, and when processes signed off."""

backfills = Table(
    "backfills",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("start_at", Double, nullable=False),
    Column("end_at", Double, nullable=False),
    Column("done_at", Double, nullable=False),
    Column("told_at", Double, nullable=False),
)
"""How far each back-fill has come."""

deployed = Table(
    "deployed",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("endpoint", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("facts", Text, nullable=False),
    Column("seen_at", Double, nullable=False),
)
"""Endpoints and pools as the cluster's API told them last, by `Deployed.key`; `facts` have been so since `seen_at`."""

nodes = Table(
    "nodes",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("facts", Text, nullable=False),
    Column("seen_at", Double, nullable=False),
)
blind = Table(
    "blind",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("what", Text, primary_key=True),
    Column("reason", Text, nullable=False),
    Column("fix", Text, nullable=False),
    Column("since_at", Double, nullable=False),
)
sighted = Table(
    "sighted",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("at", Double, nullable=False),
    Column("unknown_kinds", Text, nullable=False),
)
"""The last sighting of each cluster; its row is what sightings queue at."""

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("replica", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("seen_at", Double, nullable=False),
    UniqueConstraint("cluster", "key", name="uq_events"),
    Index("ix_events_owner", "cluster", "endpoint", "at"),
    Index("ix_events_at", "at"),
)
"""What happened; each thing once, whoever saw it and however often."""
