"""Channels and tests of them belong to a cluster; limits that are set, and times in which nobody judged, are known.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.drop_table("channels")  # declared again by each alerting process at its start
    op.create_table(
        "channels",
        sa.Column("cluster", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
    )
    op.add_column("notices", sa.Column("cluster", sa.Text))
    op.create_table(
        "alert_limits",
        sa.Column("cluster", sa.Text, primary_key=True),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_table(
        "unjudged",
        sa.Column("cluster", sa.Text, primary_key=True),
        sa.Column("start_at", sa.Double, primary_key=True),
        sa.Column("end_at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
