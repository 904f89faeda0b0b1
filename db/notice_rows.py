"""The outbox: notices written once each, taken by one sender at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, and_, case, delete, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from db.alert_rows import dump_alert, load_alert
from db.alert_schema import alerts, notices
from tierdeck.alerts.alert import Alert, Subject
from tierdeck.alerts.notice import Notice, NoticeKind

_WAITING = (notices.c.sent_at.is_(None), notices.c.given_up_at.is_(None))


def write_notices(connection: Connection, some: Iterable[Notice], saved: Iterable[Alert] = ()) -> int:
    """How many were new, by their key.

    Args:
        saved: alerts as stored; a notice whose alert has no id yet is about the one of the same key.
    """
    ids = {one.key: one.id for one in saved}
    return sum(_write(connection, one, ids) for one in some)


def take_notice(
    connection: Connection, now: float, channels: Collection[str], claim_seconds: float, cluster: str | None = None
) -> Notice | None:
    """The one that has been due longest, claimed: no other sender gets it until the claim ends.

    What is said of one alert on one channel goes out in the order in which it was written: that it is over never
    overtakes that it fires.

    Two that ask at once: SQLite lets one transaction write at a time, PostgreSQL passes over the row that
    the other one holds.
    """
    is_free = or_(notices.c.claimed_until.is_(None), notices.c.claimed_until <= now)
    before = notices.alias()
    is_next = ~(
        select(before.c.id)
        .where(before.c.sent_at.is_(None), before.c.given_up_at.is_(None), before.c.id < notices.c.id)
        .where(before.c.alert_id == notices.c.alert_id, before.c.channel == notices.c.channel)
        .exists()
    )
    whose = select(alerts.c.id).where(alerts.c.cluster == cluster)
    is_test = and_(notices.c.alert_id.is_(None), or_(notices.c.cluster.is_(None), notices.c.cluster == cluster))
    own = [] if cluster is None else [or_(is_test, notices.c.alert_id.in_(whose))]
    oldest = (
        select(notices.c.id)
        .where(*_WAITING, is_free, is_next, *own, notices.c.due_at <= now, notices.c.channel.in_(sorted(channels)))
        .order_by(notices.c.due_at, notices.c.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=notices)  # SQLite knows no such lock
    )
    number = connection.execute(oldest).scalar()
    if number is None:
        return None
    was_begun = case((notices.c.claimed_until.is_not(None), True), else_=notices.c.may_repeat)
    claim = {"tries": notices.c.tries + 1, "may_repeat": was_begun, "claimed_until": now + claim_seconds}
    taken = update(notices).where(notices.c.id == number).values(claim).returning(*notices.columns)
    return _notice(connection.execute(taken).one())


def mark_sent(connection: Connection, number: int, at: float) -> None:
    """It arrived; the first outcome stays."""
    values = {"sent_at": at, "trouble": "", "claimed_until": None}
    connection.execute(update(notices).where(notices.c.id == number, *_WAITING).values(values))


def mark_failed(connection: Connection, number: int, at: float, trouble: str, again_at: float | None) -> None:
    """It did not arrive, and is due again at `again_at`; None: it is given up."""
    ending = {"given_up_at": at} if again_at is None else {"due_at": again_at}
    values = {"trouble": trouble, "claimed_until": None, **ending}
    connection.execute(update(notices).where(notices.c.id == number, *_WAITING).values(values))


def read_notices(connection: Connection, limit: int, alert_id: int | None) -> list[Notice]:
    """The newest first."""
    own = [] if alert_id is None else [notices.c.alert_id == alert_id]
    rows = connection.execute(select(notices).where(*own).order_by(notices.c.id.desc()).limit(limit))
    return [_notice(row) for row in rows]


def count_waiting(connection: Connection) -> int:
    """Neither sent nor given up."""
    return int(connection.execute(select(func.count()).select_from(notices).where(*_WAITING)).scalar_one())


def prune_notices(connection: Connection, before: float) -> int:
    """Those of no alert; the others go with theirs."""
    old = delete(notices).where(notices.c.alert_id.is_(None), notices.c.created_at < before)
    return connection.execute(old).rowcount


def _write(connection: Connection, one: Notice, ids: Mapping[tuple[str, Subject], int]) -> bool:
    alert_id = (one.alert.id or ids.get(one.alert.key)) if one.alert else None
    values = {
        "key": one.key,
        "channel": one.channel,
        "kind": one.kind.value,
        "alert_id": alert_id,
        "facts": dump_alert(one.alert) if one.alert else None,
        "created_at": one.created_at,
        "due_at": one.due_at,
        "tries": one.tries,
        "sent_at": one.sent_at,
        "given_up_at": one.given_up_at,
        "trouble": one.trouble,
        "may_repeat": one.may_repeat,
        "cluster": one.cluster or None,
    }
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    added = dialect.insert(notices).values(values).on_conflict_do_nothing().returning(notices.c.id)
    return connection.execute(added).first() is not None


def _notice(row: Row[Any]) -> Notice:
    alert = None if row.facts is None else replace(load_alert(row.facts), id=row.alert_id or 0)
    return Notice(
        key=row.key,
        channel=row.channel,
        kind=NoticeKind(row.kind),
        alert=alert,
        created_at=row.created_at,
        due_at=row.due_at,
        tries=row.tries,
        sent_at=row.sent_at,
        given_up_at=row.given_up_at,
        trouble=row.trouble,
        may_repeat=row.may_repeat,
        id=row.id,
        cluster=row.cluster or "",
    )
