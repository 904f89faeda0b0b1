"""Leases: one holder at a time, for as long as it says so again."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from db.alert_schema import leases
from db.upsert import incoming


def hold_lease(connection: Connection, name: str, holder: str, now: float, seconds: float) -> bool:
    """True where it is the holder's until `now + seconds`: it was free, has run out, or was the holder's already."""
    new = incoming(leases)
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    values = {"name": name, "holder": holder, "until_at": now + seconds}
    statement = (
        dialect.insert(leases)
        .values(values)
        .on_conflict_do_update(
            index_elements=[leases.c.name],
            set_={"holder": new.c.holder, "until_at": new.c.until_at},
            where=(leases.c.holder == new.c.holder) | (leases.c.until_at <= now),
        )
        .returning(leases.c.name)
    )
    return connection.execute(statement).first() is not None


def drop_lease(connection: Connection, name: str, holder: str) -> None:
    """Free for the next one, if it is the holder's."""
    connection.execute(delete(leases).where(leases.c.name == name, leases.c.holder == holder))


def read_leases(connection: Connection, beginning: str) -> dict[str, tuple[str, float]]:
    """By the rest of their names, the holders of leases whose names begin so, and until when; also those run out."""
    wanted = leases.c.name.startswith(beginning, autoescape=True)
    rows = connection.execute(select(leases.c.name, leases.c.holder, leases.c.until_at).where(wanted))
    return {row.name.removeprefix(beginning): (row.holder, row.until_at) for row in rows}
