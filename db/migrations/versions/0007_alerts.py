"""Alerts with their history, what is said of them and when nothing is to be said, and who does the alerting.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_OPEN = sa.text("state <> 'resolved'")


def _texts(*names: str) -> list[sa.Column]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _doubles(*names: str) -> list[sa.Column]:
    return [sa.Column(name, sa.Double) for name in names]


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.Integer, primary_key=True),
        *_texts("rule", "cluster", "endpoint", "part", "state"),
        sa.Column("pending_at", sa.Double, nullable=False),
        *_doubles("fired_at", "resolved_at"),
        *_texts("facts"),
        sa.Column("acknowledged_by", sa.Text),
        sa.Column("acknowledged_at", sa.Double),
        sa.Column("acknowledged_note", sa.Text),
        sqlite_autoincrement=True,
    )
    key = ["rule", "cluster", "endpoint", "part"]
    op.create_index("uq_alerts_open", "alerts", key, unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_index("ix_alerts_pending_at", "alerts", ["pending_at"])
    op.create_table(
        "alert_steps",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("alert_id", sa.Integer, sa.ForeignKey("alerts.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        *_texts("what", "why"),
    )
    op.create_index("ix_alert_steps_alert", "alert_steps", ["alert_id"])
    op.create_table(
        "silences",
        sa.Column("id", sa.Integer, primary_key=True),
        *_texts("matchers"),
        sa.Column("starts_at", sa.Double, nullable=False),
        sa.Column("ends_at", sa.Double, nullable=False),
        *_texts("why", "made_by"),
        sa.Column("is_maintenance", sa.Boolean, nullable=False),
        *_doubles("ended_at"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer, primary_key=True),
        *_texts("key", "channel", "kind"),
        sa.Column("alert_id", sa.Integer, sa.ForeignKey("alerts.id", ondelete="CASCADE")),
        sa.Column("facts", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("due_at", sa.Double, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        *_doubles("sent_at", "given_up_at"),
        *_texts("trouble"),
        sa.Column("may_repeat", sa.Boolean, nullable=False),
        *_doubles("claimed_until"),
        sa.UniqueConstraint("key", name="uq_notices"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_notices_alert", "notices", ["alert_id"])
    waiting = sa.text("sent_at IS NULL AND given_up_at IS NULL")
    op.create_index("ix_notices_due", "notices", ["due_at"], sqlite_where=waiting, postgresql_where=waiting)
    op.create_table(
        "leases",
        sa.Column("name", sa.Text, primary_key=True),
        *_texts("holder"),
        sa.Column("until_at", sa.Double, nullable=False),
    )
    op.create_table(
        "channels",
        sa.Column("name", sa.Text, primary_key=True),
        *_texts("kind"),
        sa.Column("position", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("a store is never downgraded: restore its backup")
