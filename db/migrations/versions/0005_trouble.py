"""What keeps a process from its work, told with its heartbeat.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("processes", sa.Column("trouble", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
