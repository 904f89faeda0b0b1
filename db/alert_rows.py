"""Alerts: at most one open one of a key, each change of state a row of its history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, Row, delete, insert, or_, select, text, update

from db.alert_schema import alert_steps, alerts
from db.declarations import record
from tierdeck.alerts.alert import Acknowledgement, Alert, AlertState
from tierdeck.errors import UsageError

_LOCK = 7410215
"""PostgreSQL's advisory lock for saving alerts."""
_ORDER = list(AlertState)
_OPEN = alerts.c.state != AlertState.RESOLVED.value
_LIST = "`tierdeck alerts` lists them."
Step = tuple[float, str, str]
"""When, what, and why or by whom."""


@dataclass(frozen=True, slots=True)
class WantedAlerts:
    """Which alerts, of those that were open at some time in [start_at, end_at]; None: any."""

    start_at: float
    end_at: float
    cluster: str | None = None
    endpoint: str | None = None
    rule: str | None = None
    limit: int = 500

    def conditions(self) -> list[ColumnElement[bool]]:
        wanted = ((alerts.c.cluster, self.cluster), (alerts.c.endpoint, self.endpoint), (alerts.c.rule, self.rule))
        return [
            alerts.c.pending_at <= self.end_at,
            or_(alerts.c.resolved_at.is_(None), alerts.c.resolved_at >= self.start_at),
            or_(_OPEN, alerts.c.fired_at.is_not(None)),
            *(column == value for column, value in wanted if value is not None),
        ]


def dump_alert(alert: Alert) -> str:
    """Without its id and its acknowledgement, which have columns."""
    return _adapter().dump_json(replace(alert, id=0, acknowledged=None)).decode()


def load_alert(facts: str) -> Alert:
    """A field that the text lacks has its default, one that is no longer known is passed over."""
    return _adapter().validate_json(facts)


def save_alerts(connection: Connection, changed: Sequence[Alert], at: float) -> list[Alert]:
    """The alerts as stored, in the order given.

    Who saves takes turns, so that two alerting processes can't open one alert twice: the second one's is the
    first one's. A state never goes back: what says so was written by somebody who was overtaken.

    Raises:
        UsageError: no alert has the id.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    known = {one.id: one for one in read_open(connection)}
    by_key = {one.key: one for one in known.values()}
    saved = []
    for one in changed:
        before = known.get(one.id) or read_alert(connection, one.id) if one.id else by_key.get(one.key)
        if one.id and before is None:
            raise UsageError(f"there is no alert {one.id}", _LIST)
        after = _save(connection, one, before, at)
        known[after.id] = after
        if after.is_open:
            by_key[after.key] = after
        elif before is not None and before.is_open:
            del by_key[after.key]
        saved.append(after)
    return saved


def read_open(connection: Connection, cluster: str | None = None) -> list[Alert]:
    """The newest first."""
    own = [] if cluster is None else [alerts.c.cluster == cluster]
    statement = select(alerts).where(_OPEN, *own).order_by(alerts.c.pending_at.desc(), alerts.c.id.desc())
    return [_alert(row) for row in connection.execute(statement)]


def read_alert(connection: Connection, number: int) -> Alert | None:
    """None: there is none, or it is pruned."""
    row = connection.execute(select(alerts).where(alerts.c.id == number)).first()
    return None if row is None else _alert(row)


def read_alerts(connection: Connection, wanted: WantedAlerts) -> list[Alert]:
    """The newest first."""
    order = (alerts.c.pending_at.desc(), alerts.c.id.desc())
    statement = select(alerts).where(*wanted.conditions()).order_by(*order).limit(wanted.limit)
    return [_alert(row) for row in connection.execute(statement)]


def read_steps(connection: Connection, number: int) -> list[Step]:
    """In the order written."""
    columns = (alert_steps.c.at, alert_steps.c.what, alert_steps.c.why)
    rows = connection.execute(select(*columns).where(alert_steps.c.alert_id == number).order_by(alert_steps.c.id))
    return [(row.at, row.what, row.why) for row in rows]


def write_acknowledgement(connection: Connection, number: int, ack: Acknowledgement) -> Alert:
    """The alert with it; an earlier one is replaced.

    Raises:
        UsageError: no such alert, or it is over.
    """
    alert = _open_alert(connection, number)
    values = {"acknowledged_by": ack.by, "acknowledged_at": ack.at, "acknowledged_note": ack.note}
    connection.execute(update(alerts).where(alerts.c.id == number).values(values))
    _add_steps(connection, number, [(ack.at, "acknowledged", ": ".join(filter(None, (ack.by, ack.note))))])
    record(connection, ack.by, "acknowledge", f"alert {number}", {"rule": alert.rule, "note": ack.note})
    return replace(alert, acknowledged=ack)


def delete_acknowledgement(connection: Connection, number: int, by: str, at: float) -> Alert:
    """The alert without it.

    Raises:
        UsageError: no such alert, or it is over, or nobody acknowledged it.
    """
    alert = _open_alert(connection, number)
    if alert.acknowledged is None:
        raise UsageError(f"alert {number} is not acknowledged")
    nothing = {"acknowledged_by": None, "acknowledged_at": None, "acknowledged_note": None}
    connection.execute(update(alerts).where(alerts.c.id == number).values(nothing))
    _add_steps(connection, number, [(at, "unacknowledged", by)])
    record(connection, by, "unacknowledge", f"alert {number}", {"rule": alert.rule})
    return replace(alert, acknowledged=None)


def prune_alerts(connection: Connection, before: float) -> int:
    """How many were deleted, with their steps and notices; open ones never are."""
    return connection.execute(delete(alerts).where(~_OPEN, alerts.c.resolved_at < before)).rowcount


@cache
def _adapter() -> TypeAdapter[Alert]:
    return TypeAdapter(Alert)


def _alert(row: Row[Any]) -> Alert:
    who = row.acknowledged_by
    ack = None if who is None else Acknowledgement(who, row.acknowledged_at, row.acknowledged_note)
    return replace(load_alert(row.facts), id=row.id, acknowledged=ack)


def _open_alert(connection: Connection, number: int) -> Alert:
    alert = read_alert(connection, number)
    if alert is None:
        raise UsageError(f"there is no alert {number}", _LIST)
    if not alert.is_open:
        raise UsageError(f"alert {number} is over", _LIST)
    return alert


def _save(connection: Connection, alert: Alert, before: Alert | None, at: float) -> Alert:
    if before is not None and _ORDER.index(alert.state) < _ORDER.index(before.state):
        return before
    values = {
        "rule": alert.rule,
        "cluster": alert.subject.cluster,
        "endpoint": alert.subject.endpoint,
        "part": alert.subject.part,
        "state": alert.state.value,
        "pending_at": alert.pending_at,
        "fired_at": alert.fired_at,
        "resolved_at": alert.resolved_at,
        "facts": dump_alert(alert),
    }
    if before is None:
        number: int = connection.execute(insert(alerts).values(values).returning(alerts.c.id)).scalar_one()
    else:
        number = before.id
        connection.execute(update(alerts).where(alerts.c.id == number).values(values))
    _add_steps(connection, number, _steps(before, alert, at))
    return replace(alert, id=number, acknowledged=before.acknowledged if before else None)


def _steps(before: Alert | None, after: Alert, at: float) -> Iterator[Step]:
    if before is None or before.state is not after.state:
        entered = {
            AlertState.PENDING: after.pending_at,
            AlertState.FIRING: after.fired_at,
            AlertState.RESOLVED: after.resolved_at,
        }[after.state]
        yield at if entered is None else entered, after.state.value, after.words
    was = before.suppressed_by if before else ""
    if after.suppressed_by != was:
        yield at, "suppressed" if after.suppressed_by else "unsuppressed", after.suppressed_by or was


def _add_steps(connection: Connection, number: int, steps: Iterable[Step]) -> None:
    rows = [{"alert_id": number, "at": at, "what": what, "why": why} for at, what, why in steps]
    if rows:
        connection.execute(insert(alert_steps), rows)
