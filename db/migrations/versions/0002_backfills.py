"""How far back-fills have come.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "backfills",
        *[sa.Column(name, sa.Text, primary_key=True) for name in ("cluster", "source")],
        *[sa.Column(name, sa.Double, nullable=False) for name in ("start_at", "end_at", "done_at", "told_at")],
    )


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
