"""Silences and maintenance windows: written, ended early, and found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from db.alert_schema import silences
from db.codec import dump, load
from db.declarations import record
from tierdeck.alerts.silence import Silence
from tierdeck.errors import UsageError

_LABELS = ("rule", "severity", "cluster", "endpoint", "part")
_FROZEN = ("cluster", "endpoint")
_end_at = func.coalesce(silences.c.ended_at, silences.c.ends_at)


def write_silence(connection: Connection, one: Silence) -> Silence:
    """With its id.

    Raises:
        UsageError: it would match everything or nothing, ends before it begins, or does not say why.
    """
    _check(one)
    values = {
        "matchers": dump(dict(one.matchers)),
        "starts_at": one.starts_at,
        "ends_at": one.ends_at,
        "why": one.why,
        "made_by": one.by,
        "is_maintenance": one.is_maintenance,
        "ended_at": one.ended_at,
    }
    number: int = connection.execute(insert(silences).values(values).returning(silences.c.id)).scalar_one()
    detail = {"id": number, "why": one.why, "starts_at": one.starts_at, "ends_at": one.ends_at}
    record(connection, one.by, _kind(one), _words(one.matchers), detail)
    return replace(one, id=number)


def end_silence(connection: Connection, number: int, by: str, at: float) -> Silence:
    """As it is now; one that has not begun yet never will.

    Raises:
        UsageError: no such silence, or it is over.
    """
    row = connection.execute(select(silences).where(silences.c.id == number).with_for_update()).first()
    if row is None:
        raise UsageError(f"there is no silence {number}", "`tierdeck silence list` lists them.")
    found = _silence(row)
    if found.ended_at is not None or found.ends_at <= at:
        raise UsageError(f"silence {number} is over already")
    connection.execute(update(silences).where(silences.c.id == number).values(ended_at=at))
    record(connection, by, f"end_{_kind(found)}", _words(found.matchers), {"id": number})
    return replace(found, ended_at=at)


def read_silences(connection: Connection, now: float | None) -> list[Silence]:
    """By their beginning; with `now` those that are active then or still to come."""
    wanted = [] if now is None else [silences.c.ends_at > now, _end_at > now]
    rows = connection.execute(select(silences).where(*wanted).order_by(silences.c.starts_at, silences.c.id))
    return [_silence(row) for row in rows]


def read_frozen(connection: Connection, cluster: str, endpoint: str, now: float) -> Silence | None:
    """Of several maintenance windows the one that ends last."""
    asked = {"cluster": cluster, "endpoint": endpoint}
    found = [
        one
        for one in read_silences(connection, now)
        if one.is_maintenance and one.is_active(now) and one.matchers.items() <= asked.items()
    ]
    return max(found, key=lambda one: one.ends_at, default=None)


def prune_silences(connection: Connection, before: float) -> int:
    """How many that ended before were deleted."""
    return connection.execute(delete(silences).where((silences.c.ends_at < before) | (_end_at < before))).rowcount


def _check(one: Silence) -> None:
    if not one.matchers:
        raise UsageError("a silence without matchers would silence everything", f"Match {', '.join(_LABELS)}.")
    unknown = sorted(one.matchers.keys() - set(_LABELS))
    if unknown:
        raise UsageError(f"alerts have no label {unknown[0]}", f"Match {', '.join(_LABELS)}.")
    beyond = sorted(one.matchers.keys() - set(_FROZEN))
    if one.is_maintenance and beyond:
        message = f"a maintenance window is about a cluster or an endpoint, not a {beyond[0]}"
        raise UsageError(message, f"Match {' and '.join(_FROZEN)} only.")
    if one.ends_at <= one.starts_at:
        raise UsageError("a silence can't end before it begins")
    if not (one.why.strip() and one.by.strip()):
        raise UsageError("a silence needs a reason and a name", "Say why, and who you are.")


def _kind(one: Silence) -> str:
    return "maintenance" if one.is_maintenance else "silence"


def _words(matchers: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in matchers.items())


def _silence(row: Row[Any]) -> Silence:
    return Silence(
        matchers=load(row.matchers),
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        why=row.why,
        by=row.made_by,
        is_maintenance=row.is_maintenance,
        ended_at=row.ended_at,
        id=row.id,
    )
