"""The tables of changes; instants are epoch seconds. Ids stand in links and messages: SQLite never gives one again."""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from db.schema import metadata

_OPEN = text("ended_at IS NULL")

changes = Table(
    "changes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("proposed_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("due_at", Double, nullable=False),
    Column("holder", Text),
    Column("held_until", Double),
    Column("facts", Text, nullable=False),
    UniqueConstraint("cluster", "key", name="uq_changes_key"),
    Index("uq_changes_open", "cluster", "endpoint", unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN),
    Index("ix_changes_endpoint", "cluster", "endpoint", "id"),
    sqlite_autoincrement=True,
)
"""`facts` is the whole change as JSON; what has a column is as the column says. `due_at`: when a controller looks at
it next. `holder` alone works on it until `held_until`; a person who approves or cancels takes it from its holder."""

change_steps = Table(
    "change_steps",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("change_id", Integer, ForeignKey("changes.id", ondelete="CASCADE"), nullable=False),
    Column("at", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("words", Text, nullable=False),
    Index("ix_change_steps_change", "change_id"),
)
proofs = Table(
    "proofs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("facts", Text, nullable=False),
    Index("ix_proofs_endpoint", "cluster", "endpoint", "at"),
    Index("ix_proofs_at", "at"),
    sqlite_autoincrement=True,
)
"""What probes of a router's behaviour told, those of a change and those that somebody asked for."""
