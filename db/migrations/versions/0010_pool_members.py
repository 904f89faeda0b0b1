"""What pools are made of, and what goes through them.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

TABLES = ("pools_raw", "pools_1m", "pools_10m", "pools_1h")
COLUMNS = ("files", "blocks", "data_dirs", "read_bytes", "written_bytes", "failed_requests")


def upgrade() -> None:
    for table in TABLES:
        for name in COLUMNS:
            op.add_column(table, sa.Column(name, sa.Double))
    op.create_table(
        "pool_members",
        *[sa.Column(name, sa.Text, primary_key=True) for name in ("cluster", "endpoint", "pool", "kind", "name")],
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("told_at", sa.Double),
        *[sa.Column(name, sa.Text, nullable=False) for name in ("address", "reason")],
        sa.Column("facts", sa.Text),
    )


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
