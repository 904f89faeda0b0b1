"""The table of the janitor's rounds; instants are epoch seconds."""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, Integer, Table, Text

from db.schema import metadata

janitor_runs = Table(
    "janitor_runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("cluster", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("outcome", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Index("ix_janitor_runs_pool", "cluster", "pool", "started_at"),
    Index("ix_janitor_runs_started_at", "started_at"),
    sqlite_autoincrement=True,
)
"""`facts` is the whole round as JSON; the columns are what is asked for."""
