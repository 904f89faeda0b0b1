"""What a cluster's API tells of deployments, and what happened to them.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def _facts(table: str, *keys: str) -> None:
    op.create_table(
        table,
        *[sa.Column(name, sa.Text, primary_key=True) for name in keys],
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
    )


def upgrade() -> None:
    _facts("deployed", "cluster", "endpoint", "name")
    _facts("nodes", "cluster", "name")
    op.create_table(
        "blind",
        *[sa.Column(name, sa.Text, primary_key=True) for name in ("cluster", "what")],
        *[sa.Column(name, sa.Text, nullable=False) for name in ("reason", "fix")],
        sa.Column("since_at", sa.Double, nullable=False),
    )
    op.create_table(
        "sighted",
        sa.Column("cluster", sa.Text, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("unknown_kinds", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True),
        *[sa.Column(name, sa.Text, nullable=False) for name in ("cluster", "endpoint", "replica")],
        sa.Column("at", sa.Double, nullable=False),
        *[sa.Column(name, sa.Text, nullable=False) for name in ("kind", "subject", "words", "detail", "key")],
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.UniqueConstraint("cluster", "key", name="uq_events"),
    )
    op.create_index("ix_events_owner", "events", ["cluster", "endpoint", "at"])
    op.create_index("ix_events_at", "events", ["at"])


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
