"""What FUSE clients tell of their mounts of the pool.

Revision ID: 0010
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "mounts",
        sa.Column("cluster", sa.Text, primary_key=True),
        sa.Column("endpoint", sa.Text, primary_key=True),
        sa.Column("replica", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("active", sa.Double),
        sa.Column("queued", sa.Double),
        sa.Column("progress_at", sa.Double),
        sa.Column("requests", sa.Double),
        sa.Column("moved_at", sa.Double, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
