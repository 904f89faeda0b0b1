"""Endpoints of which a counter means something else since a minute: the first rows with a note that says so."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.clauses import by_series, scope
from db.codec import load_notes
from db.schema import LEDGERS, series
from tierdeck.notes import Note, NoteCode
from tierdeck.resolution import Resolution

Owner = tuple[str, str]

_TABLE = LEDGERS[Resolution.MINUTE]
_BACK_SECONDS = (600.0, 86400.0)
"""An old version's rows carry their note for ever: the ones just before explain most, and few need the day before."""


def read_restated(connection: Connection, at: float, cluster: str | None) -> set[Owner]:
    """Cluster and endpoint of those with a note in the minute of `at` that none of their rows had the day before."""
    fresh = _notes(connection, at, at, cluster)
    for seconds in _BACK_SECONDS:
        if fresh:
            known = _notes(connection, at - seconds, at - Resolution.MINUTE.value, cluster)
            fresh = {owner: new for owner, notes in fresh.items() if (new := notes - known.get(owner, set()))}
    return set(fresh)


def _notes(connection: Connection, first_at: float, last_at: float, cluster: str | None) -> dict[Owner, set[Note]]:
    """Changed meanings in the rows of [first_at, last_at]."""
    statement = (
        select(series.c.cluster, series.c.endpoint, _TABLE.c.notes)
        .select_from(by_series(_TABLE))
        .where(_TABLE.c.at >= first_at, _TABLE.c.at <= last_at, *scope(cluster))
        .where(_TABLE.c.notes.contains(NoteCode.MEANING_CHANGED.value, autoescape=True))
        .distinct()
    )
    found: dict[Owner, set[Note]] = {}
    for name, endpoint, text in connection.execute(statement):
        told = {note for note in load_notes(text) if note.code is NoteCode.MEANING_CHANGED}
        found.setdefault((name, endpoint), set()).update(told)
    return {owner: notes for owner, notes in found.items() if notes}
