"""Rounds of the janitor: what it found in a pool, what went, and why.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "janitor_runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("cluster", sa.Text, nullable=False),
        sa.Column("pool", sa.Text, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_janitor_runs_pool", "janitor_runs", ["cluster", "pool", "started_at"])
    op.create_index("ix_janitor_runs_started_at", "janitor_runs", ["started_at"])


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
