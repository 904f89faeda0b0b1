"""Changes in rows: JSON with columns for what is asked for; one that can't be read is told as such."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from db.change_facts import UnreadableError, dump_change, load_change
from db.change_schema import change_steps, changes
from tierdeck.changes.change import Change, State, Step
from tierdeck.changes.wish import Wish

UNREADABLE = "unreadable"
"""The note of a change that this version can't read."""
AT_ONCE = 0.0
"""When a change is due that a person moved: their clock may be ahead of the controller's."""
NOBODY = {"holder": None, "held_until": None}


def read_change(connection: Connection, number: int) -> Change | None:
    """None: there is none."""
    row = connection.execute(select(changes).where(changes.c.id == number)).first()
    return None if row is None else change_of(row)


def read_changes(connection: Connection, cluster: str | None, endpoint: str | None, limit: int) -> list[Change]:
    """The newest first."""
    asked = {"cluster": cluster, "endpoint": endpoint}
    wanted = [changes.c[name] == value for name, value in asked.items() if value is not None]
    newest = select(changes).where(*wanted).order_by(changes.c.id.desc()).limit(limit)
    return [change_of(row) for row in connection.execute(newest)]


def read_open_changes(connection: Connection, cluster: str) -> list[Change]:
    """Those that have not ended, the oldest first."""
    wanted = (changes.c.cluster == cluster, changes.c.ended_at.is_(None))
    return [change_of(row) for row in connection.execute(select(changes).where(*wanted).order_by(changes.c.id))]


def read_change_steps(connection: Connection, number: int) -> list[Step]:
    """In the order written; a state of a newer version is passed over."""
    rows = connection.execute(
        select(change_steps).where(change_steps.c.change_id == number).order_by(change_steps.c.id)
    )
    known = set(State)
    return [Step(number, row.at, State(row.state), row.made_by, row.words) for row in rows if row.state in known]


def is_unreadable(change: Change) -> bool:
    """It stands for a row that this version can't read: only its columns are known."""
    return any(note.startswith(f"{UNREADABLE}:") for note in change.notes)


def values_of(change: Change) -> dict[str, object]:
    return {"state": change.state.value, "ended_at": change.ended_at, "facts": dump_change(change)}


def change_of(row: Row[Any]) -> Change:
    try:
        found, state = load_change(row.facts), State(row.state)
    except (UnreadableError, ValueError) as error:
        return _unreadable(row, error)
    columns = {"cluster": row.cluster, "endpoint": row.endpoint, "key": row.key, "by": row.made_by}
    return replace(found, id=row.id, state=state, proposed_at=row.proposed_at, ended_at=row.ended_at, **columns)


def _unreadable(row: Row[Any], error: Exception) -> Change:
    """What the columns tell; it is shown, and nothing is done with it."""
    known = State(row.state) if row.state in set(State) else State.FAILED
    return Change(
        cluster=row.cluster,
        endpoint=row.endpoint,
        wish=Wish(strategy="(unreadable)"),
        by=row.made_by,
        reason="",
        key=row.key,
        proposed_at=row.proposed_at,
        was={},
        id=row.id,
        state=known,
        outcome="this version can't read the change",
        next_step="Upgrade Tierdeck to the version that wrote it; if it did, the row is damaged: restore a backup.",
        notes=(f"{UNREADABLE}: {error}",),
        ended_at=row.ended_at,
    )


def add_step(connection: Connection, step: Step) -> None:
    values = {"change_id": step.change_id, "at": step.at, "state": step.state.value, "made_by": step.by}
    connection.execute(insert(change_steps).values(**values, words=step.words.replace("\0", "")))
