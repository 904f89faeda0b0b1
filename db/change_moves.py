"""Changes as controllers move them: one holder at a time, and nothing is written by one whose lease ran out."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, select, update

from db.change_rows import NOBODY, add_step, change_of, is_unreadable, values_of
from db.change_schema import changes
from tierdeck.changes.change import NEXT, Change, State, Step


def is_any_due(connection: Connection, cluster: str, now: float) -> bool:
    """Held by somebody or not."""
    due = (changes.c.cluster == cluster, changes.c.ended_at.is_(None), changes.c.due_at <= now)
    return connection.execute(select(changes.c.id).where(*due).limit(1)).first() is not None


def take_change(connection: Connection, cluster: str, holder: str, now: float, seconds: float) -> Change | None:
    """The open change that has been due longest, this holder's alone until `now + seconds`; None: nothing is due.

    One that can't be read is nobody's: it is left as it is.
    """
    due = (
        select(changes)
        .where(changes.c.cluster == cluster, changes.c.ended_at.is_(None), changes.c.due_at <= now)
        .where(changes.c.held_until.is_(None) | (changes.c.held_until <= now) | (changes.c.holder == holder))
        .order_by(changes.c.due_at, changes.c.id)
        .with_for_update(skip_locked=True)  # SQLite knows no such lock, and needs none
    )
    for row in connection.execute(due).all():
        change = change_of(row)
        if not is_unreadable(change):
            lease = {"holder": holder, "held_until": now + seconds}
            connection.execute(update(changes).where(changes.c.id == row.id).values(lease))
            return change
    return None


def hold_change(connection: Connection, number: int, holder: str, now: float, seconds: float) -> bool:
    """True where it still was the holder's, and is so until `now + seconds`."""
    mine = (changes.c.id == number, changes.c.holder == holder, changes.c.held_until > now)
    longer = update(changes).where(*mine, changes.c.ended_at.is_(None)).values(held_until=now + seconds)
    return connection.execute(longer).rowcount == 1


def drop_change(connection: Connection, number: int, holder: str) -> None:
    """Free for another one, if it is the holder's."""
    connection.execute(update(changes).where(changes.c.id == number, changes.c.holder == holder).values(NOBODY))


def write_move(
    connection: Connection, change: Change, step: Step | None, holder: str, *, now: float, due_at: float
) -> bool:
    """True where it was written: the holder's lease holds, and the way from the stored state leads there.

    One that is over there ends now, if it does not say when.

    Args:
        change: as it is from now on; within a state what else is told of it may differ.
        due_at: when to look at it next; until then it is nobody's.
    """
    row = connection.execute(select(changes).where(changes.c.id == change.id).with_for_update()).first()
    if row is None or row.holder != holder or row.held_until is None or row.held_until <= now:
        return False
    before = State(row.state)
    if change.state is not before and change.state not in NEXT[before]:
        raise ValueError(f"no way leads from {before} to {change.state}")
    lease = NOBODY if change.state.is_over or due_at > now else {}
    ended_at = (change.ended_at or now) if change.state.is_over else None
    values = {**values_of(replace(change, ended_at=ended_at)), "due_at": due_at, **lease}
    connection.execute(update(changes).where(changes.c.id == change.id).values(values))
    if step is not None:
        add_step(connection, step)
    return True
