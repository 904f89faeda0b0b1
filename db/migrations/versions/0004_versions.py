"""What the process behind a target says of its version.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("scrapes", sa.Column("version", sa.Text))


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
