"""Changes of live deployments: what was asked, how far it came, and what probes told.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

OPEN = sa.text("ended_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("id", sa.Integer, primary_key=True),
        *[sa.Column(name, sa.Text, nullable=False) for name in ("cluster", "endpoint", "key", "state", "made_by")],
        sa.Column("proposed_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("due_at", sa.Double, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("held_until", sa.Double),
        sa.Column("facts", sa.Text, nullable=False),
        sa.UniqueConstraint("cluster", "key", name="uq_changes_key"),
        sqlite_autoincrement=True,
    )
    columns = ["cluster", "endpoint"]
    op.create_index("uq_changes_open", "changes", columns, unique=True, sqlite_where=OPEN, postgresql_where=OPEN)
    op.create_index("ix_changes_endpoint", "changes", [*columns, "id"])
    op.create_table(
        "change_steps",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("change_id", sa.Integer, sa.ForeignKey("changes.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        *[sa.Column(name, sa.Text, nullable=False) for name in ("state", "made_by", "words")],
    )
    op.create_index("ix_change_steps_change", "change_steps", ["change_id"])
    op.create_table(
        "proofs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("cluster", sa.Text, nullable=False),
        sa.Column("endpoint", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_proofs_endpoint", "proofs", ["cluster", "endpoint", "at"])
    op.create_index("ix_proofs_at", "proofs", ["at"])


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
