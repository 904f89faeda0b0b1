"""Counts that others are held against, and lengths of prompts.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TABLES = ("ledger_raw", "ledger_1m", "ledger_10m", "ledger_1h")
COUNTS = (
    "computed_tokens", "local_source_tokens", "external_source_tokens", "cached_tokens", "cached_by_source",
    "first_tokens", "aborted", "measured_prompts", "measured_tokens", "reachable_low", "reachable_high",
    "long_prompts",
)


def upgrade() -> None:
    for table in TABLES:
        for name in COUNTS:
            op.add_column(table, sa.Column(name, sa.Double))
