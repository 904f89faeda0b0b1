"""The tables of alerting; instants are epoch seconds. Ids stand in links and messages: SQLite never gives one again."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from db.schema import metadata

_OPEN = text("state <> 'resolved'")
_WAITING = text("sent_at IS NULL AND given_up_at IS NULL")

alerts = Table(
    "alerts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("rule", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("part", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("pending_at", Double, nullable=False),
    Column("fired_at", Double),
    Column("resolved_at", Double),
    Column("facts", Text, nullable=False),
    Column("acknowledged_by", Text),
    Column("acknowledged_at", Double),
    Column("acknowledged_note", Text),
    Index(
        "uq_alerts_open",
        "rule",
        "cluster",
        "endpoint",
        "part",
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    ),
    Index("ix_alerts_pending_at", "pending_at"),
    sqlite_autoincrement=True,
)
"""`facts` is the whole alert as JSON; the columns are what is asked for. Acknowledgements are columns only: people
write them while the alerting process writes the rest."""

alert_steps = Table(
    "alert_steps",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("alert_id", Integer, ForeignKey("alerts.id", ondelete="CASCADE"), nullable=False),
    Column("at", Double, nullable=False),
    Column("what", Text, nullable=False),
    Column("why", Text, nullable=False),
    Index("ix_alert_steps_alert", "alert_id"),
)
silences = Table(
    "silences",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("matchers", Text, nullable=False),
    Column("starts_at", Double, nullable=False),
    Column("ends_at", Double, nullable=False),
    Column("why", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("is_maintenance", Boolean, nullable=False),
    Column("ended_at", Double),
    sqlite_autoincrement=True,
)
notices = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("alert_id", Integer, ForeignKey("alerts.id", ondelete="CASCADE")),
    Column("facts", Text),
    Column("created_at", Double, nullable=False),
    Column("due_at", Double, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("sent_at", Double),
    Column("given_up_at", Double),
    Column("trouble", Text, nullable=False),
    Column("may_repeat", Boolean, nullable=False),
    Column("claimed_until", Double),
    Column("cluster", Text),
    UniqueConstraint("key", name="uq_notices"),
    Index("ix_notices_alert", "alert_id"),
    Index("ix_notices_due", "due_at", sqlite_where=_WAITING, postgresql_where=_WAITING),
    sqlite_autoincrement=True,
)
"""The outbox. `claimed_until` is set while a sending is under way, and stays where its sender ended in the middle.
`cluster` is of a test alone: whose channel it tries; NULL: anybody's of that name."""

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("until_at", Double, nullable=False),
)
channels = Table(
    "channels",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("position", Integer, nullable=False),
)
"""Ways out that a cluster's alerting process has; never their secrets."""

alert_limits = Table(
    "alert_limits",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("facts", Text, nullable=False),
)
"""What the file of limits said when that process started, as JSON."""

unjudged = Table(
    "unjudged",
    metadata,
    Column("cluster", Text, primary_key=True),
    Column("start_at", Double, primary_key=True),
    Column("end_at", Double, nullable=False),
)
"""Times in which no rule of a cluster was judged."""
