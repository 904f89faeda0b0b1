"""Limits that each cluster's alerting process goes by, so that others can say what is judged."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter
from sqlalchemy import Connection, select

from db.alert_schema import alert_limits
from db.upsert import Upsert
from tierdeck.alerts.limits import AlertLimits

_DECLARED = Upsert(alert_limits)


def write_limits(connection: Connection, cluster: str, limits: AlertLimits) -> None:
    """Exactly these."""
    _DECLARED.run(connection, [(cluster, _adapter().dump_json(limits).decode())])


def read_limits(connection: Connection) -> dict[str, AlertLimits]:
    """By cluster; one whose process has not told yet is missing."""
    rows = connection.execute(select(alert_limits.c.cluster, alert_limits.c.facts))
    return {row.cluster: _adapter().validate_json(row.facts) for row in rows}


@cache
def _adapter() -> TypeAdapter[AlertLimits]:
    return TypeAdapter(AlertLimits)
