"""What computing and loading cost, requests that failed, and those that wait for the cache.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

TABLES = ("ledger_raw", "ledger_1m", "ledger_10m", "ledger_1h")
COLUMNS = ("failed", "prefill_seconds", "load_seconds", "load_tokens", "deferred")


def upgrade() -> None:
    for table in TABLES:
        for name in COLUMNS:
            op.add_column(table, sa.Column(name, sa.Double))


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
