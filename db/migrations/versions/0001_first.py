"""Everything.

Revision ID: 0001
Revises:

Written out, not taken from `db.schema`: a revision stays as it was when the schema moves on.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ALL = ("raw", "1m", "10m", "1h")
ROLLED_UP = ALL[1:]

COUNTS = (
    "prompt_tokens", "l0_hits", "external_queries", "external_hits", "host_hits", "disk_hits", "transfer_tokens",
    "unattributed_tokens", "processed_tokens", "requests", "preemptions", "recounting_preemptions", "lookup_tokens",
    "l1_found", "l2_found", "found_tokens", "stores_submitted", "stores_completed", "request_ratio_sum",
    "request_ratio_count",
)
TALLIES = ("restarts", "counter_resets", "engine_scrapes", "engine_gaps", "cache_gaps")
GAUGES = ("kv_usage_ratio", "kv_capacity_tokens", "running", "waiting", "l1_used_bytes", "l1_capacity_bytes")
SALTS = ("lookup_tokens", "l1_found", "l2_found")
POOLS = ("capacity_bytes", "available_bytes", "used_bytes", "live", "lost", "blacklisted", "decommissioned")
ENDPOINTS = (
    "prompt_tokens", "l0", "lower", "l1", "l1_low", "l1_high", "l2", "l2_low", "l2_high", "miss", "transfer",
    "requests", "running", "waiting", "kv_usage_ratio", "kv_capacity_tokens",
)


def doubles(*names, nullable=True):
    return [sa.Column(name, sa.Double, nullable=nullable) for name in names]


def integers(*names, nullable=False):
    return [sa.Column(name, sa.Integer, nullable=nullable) for name in names]


def texts(*names, nullable=False):
    return [sa.Column(name, sa.Text, nullable=nullable) for name in names]


def key(*names):
    return [sa.Column(name, sa.Text, primary_key=True) for name in names]


def time_series(name, *columns, more=()):
    op.create_table(
        name,
        sa.Column("series_id", sa.Integer, sa.ForeignKey("series.id"), primary_key=True, autoincrement=False),
        *more,
        sa.Column("at", sa.Double, primary_key=True, autoincrement=False),
        *columns,
        sqlite_with_rowid=False,
    )


def upgrade() -> None:
    dimensions()
    for suffix in ALL:
        ledger(suffix)
        time_series(
            f"histograms_{suffix}",
            sa.Column("layout_id", sa.Integer, sa.ForeignKey("layouts.id"), nullable=False),
            *texts("counts"),
            *doubles("sum", nullable=False),
            sa.Column("layouts_differ", sa.Boolean, nullable=False),
            more=key("metric"),
        )
        salt = sa.Column("salt_id", sa.Integer, sa.ForeignKey("salts.id"), primary_key=True, autoincrement=False)
        time_series(f"salts_{suffix}", *doubles(*SALTS), more=[salt])
        time_series(f"pools_{suffix}", *doubles(*POOLS), *texts("reason"))
    for suffix in ROLLED_UP:
        time_series(
            f"endpoints_{suffix}",
            *doubles("ended_at", nullable=False),
            *integers("rounds", "replicas", "readable"),
            *doubles(*ENDPOINTS),
            sa.Column("ttft_layout_id", sa.Integer, sa.ForeignKey("layouts.id")),
            *texts("ttft_counts", nullable=True),
            *doubles("ttft_sum"),
        )
    inventory()
    bookkeeping()


def dimensions() -> None:
    names = ("cluster", "endpoint", "replica")
    op.create_table(
        "series", sa.Column("id", sa.Integer, primary_key=True), *texts(*names),
        sa.UniqueConstraint(*names, name="uq_series"),
    )
    op.create_table(
        "models", sa.Column("id", sa.Integer, primary_key=True), *texts("model"),
        sa.UniqueConstraint("model", name="uq_models"),
    )
    op.create_table(
        "layouts", sa.Column("id", sa.Integer, primary_key=True), *texts("bounds"),
        sa.UniqueConstraint("bounds", name="uq_layouts"),
    )
    names = ("cluster", "endpoint", "salt")
    op.create_table(
        "salts", sa.Column("id", sa.Integer, primary_key=True), *texts(*names),
        sa.UniqueConstraint(*names, name="uq_salts"),
    )


def ledger(suffix: str) -> None:
    time_series(
        f"ledger_{suffix}",
        *doubles("started_at", "ended_at", nullable=False),
        *doubles(*COUNTS),
        *integers(*TALLIES),
        *doubles("stores_in_flight"),
        sa.Column("cache_at_start", sa.Boolean),
        sa.Column("cache_at_end", sa.Boolean),
        *doubles("prompt_tokens_since_restart", "requests_since_restart"),
        *texts("notes", nullable=True),
        *doubles(*GAUGES),
        *texts("answer"),
        sa.Column("model_id", sa.Integer, sa.ForeignKey("models.id")),
        sa.Column("ttft_layout_id", sa.Integer, sa.ForeignKey("layouts.id")),
        *([] if suffix == "raw" else integers("rounds")),
    )


def inventory() -> None:
    op.create_table(
        "endpoints", *key("cluster", "name"), *texts("origin"), *integers("position"),
        *texts("backend", "model", "strategy"), *integers("kv_bytes_per_token", nullable=True),
    )
    op.create_table(
        "replicas", *key("cluster", "endpoint", "replica"), *texts("origin"), *integers("position"),
        *texts("role", "versions"),
    )
    op.create_table(
        "targets", *key("cluster", "endpoint", "replica", "name"), *integers("position"), *texts("url"),
        sa.ForeignKeyConstraint(
            ["cluster", "endpoint", "replica"],
            ["replicas.cluster", "replicas.endpoint", "replicas.replica"],
            name="fk_targets_replicas",
            ondelete="CASCADE",
        ),
    )


def bookkeeping() -> None:
    op.create_table(
        "scrapes", *key("cluster", "endpoint", "replica", "name"), *doubles("last_attempt_at", nullable=False),
        *doubles("last_success_at"), sa.Column("answered", sa.Boolean, nullable=False), *texts("reason"),
        *doubles("duration_seconds", nullable=False), *integers("body_bytes", "consecutive_failures"),
    )
    op.create_table(
        "memories", *key("cluster", "endpoint", "replica"), *doubles("at", nullable=False), *texts("memory"),
    )
    op.create_table(
        "processes", *key("name", "instance"), *texts("version"), *doubles("started_at", "beat_at", nullable=False),
    )
    op.create_table(
        "audit", sa.Column("id", sa.Integer, primary_key=True), *doubles("at", nullable=False),
        *texts("actor", "action", "subject", "detail"),
    )
    op.create_table("watermarks", *key("name"), *doubles("at", nullable=False))


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
