"""One minute of everything for alerting, from rolled-up rows: a query per kind of row, none per endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, or_, select

from db.alert_rows import read_open
from db.clauses import by_series, scope
from db.codec import add_up
from db.dimensions import read_layouts
from db.doubted import read_doubted
from db.inventory import Whose, read_roles
from db.restated import read_restated
from db.schema import ENDPOINTS, LEDGERS, POOL_FIELDS, POOLS, events, series
from tierdeck.account import Answer, PoolAccount
from tierdeck.alerts.alert import AlertState, Subject
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.events import EventKind
from tierdeck.fleet import FLEET, POOL
from tierdeck.histogram import Histogram
from tierdeck.resolution import Resolution

Owner = tuple[str, str]
"""Cluster and endpoint."""
Told = dict[str, Any]
"""Fields of `Minute`."""

CHANGES = (
    EventKind.ROUTING_CHANGED,
    EventKind.SIZE_CHANGED,
    EventKind.IMAGE_CHANGED,
    EventKind.ROLLOUT,
    EventKind.SCALED_OUT,
)
_UNBELIEVED = dict.fromkeys(("hit_tokens", "l0", "l1", "l2"))
_LATE_SECONDS = 600.0
"""An event that is seen late, by no more than this, counts in the minute in which it is seen, too."""
_WHOLE, _PARTS, _POOLS = ENDPOINTS[Resolution.MINUTE], LEDGERS[Resolution.MINUTE], POOLS[Resolution.RAW]
_FIGURES = ("prompt_tokens", "requests", "l0", "l1", "l2", "running", "waiting")
_COUNTS = {
    "loaded_tokens": "external_hits",
    "deferred": "deferred",
    **{name: name for name in ("failed", "computed_tokens", "prefill_seconds", "load_seconds", "load_tokens")},
}
"""Columns by field: sums over the readable replicas, unknown where one of them can't tell."""
_CACHE_COUNTS = {
    "stores_submitted": "stores_submitted",
    "stores_completed": "stores_completed",
    "lookup_tokens": "lookup_tokens",
    "found_l1": "l1_found",
    "found_l2": "l2_found",
}
"""Likewise, but of the cache server that the replicas share, where there is one."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The minute that begins at `at`; `stale_after_seconds`: an older reading of a pool is none at its end."""

    at: float
    cluster: str | None
    stale_after_seconds: float

    @property
    def end_at(self) -> float:
        return self.at + Resolution.MINUTE.value


def read_scene(connection: Connection, moment: Moment) -> Scene:
    """What is declared, and whatever else has rows in the minute."""
    declared = read_roles(connection, Whose(moment.cluster))
    told: dict[Owner, Told] = {owner: {"replicas": len(roles.keys() - {FLEET})} for owner, roles in declared.items()}
    for owner, values in _endpoints(connection, moment):
        known = told.setdefault(owner, {"replicas": 0})
        told[owner] = known | values | {"replicas": max(known["replicas"], values["replicas"])}
    for owner, values in _parts(connection, moment):
        if owner in told:
            told[owner] |= values
    for owner, replica in _stuck(connection, moment):
        if owner in told:
            told[owner]["stuck"] = (*told[owner].get("stuck", ()), replica)
    for owner in read_doubted(connection, moment.at, moment.cluster) & told.keys():
        told[owner] |= _UNBELIEVED
    marks = {"is_changed": _changed(connection, moment)}
    marks["is_restated"] = read_restated(connection, moment.at, moment.cluster)
    for name, owners in marks.items():
        for owner in owners & told.keys():
            told[owner][name] = True
    minutes = {Subject(*owner): Minute(moment.at, **values) for owner, values in told.items()}
    firing = (one.key for one in read_open(connection, moment.cluster) if one.state is AlertState.FIRING)
    return Scene(moment.at, minutes, _pools(connection, moment), frozenset(firing))


def _endpoints(connection: Connection, moment: Moment) -> Iterator[tuple[Owner, Told]]:
    """The endpoints' own rows."""
    names = (*_FIGURES, "lower", "replicas", "readable", "ttft_layout_id", "ttft_counts", "ttft_sum")
    statement = (
        select(series.c.cluster, series.c.endpoint, *(_WHOLE.c[name] for name in names))
        .select_from(by_series(_WHOLE))
        .where(series.c.replica == "", _WHOLE.c.at == moment.at, *_of(moment))
    )
    layouts = read_layouts(connection)
    for cluster, endpoint, *values in connection.execute(statement):
        row = dict(zip(names, values, strict=True))
        layout_id, counts, total = (row.pop(name) for name in names[-3:])
        if layout_id is not None:
            bounds = layouts[layout_id]
            row["ttft"] = Histogram(bounds, add_up(counts or "[0]", len(bounds) + 1), total or 0.0)
        row["hit_tokens"] = _hits(row["prompt_tokens"], row["l0"], row.pop("lower"))
        yield (cluster, endpoint), row


def _hits(prompt_tokens: float | None, l0: float | None, lower: float | None) -> float | None:
    """Unknown where the counters contradict each other, as in `Ratio.of`."""
    if prompt_tokens is None or l0 is None or lower is None:
        return None
    return l0 + lower if 0 <= l0 + lower <= prompt_tokens else None


def _parts(connection: Connection, moment: Moment) -> Iterator[tuple[Owner, Told]]:
    """What only the rows of the replicas tell."""
    statement = _of_parts().where(_PARTS.c.at == moment.at, *_of(moment))
    for row in connection.execute(statement):
        cluster, endpoint, *values = row
        yield (cluster, endpoint), dict(zip(("restarts", *_COUNTS, *_CACHE_COUNTS), values, strict=True))


@cache
def _of_parts() -> Select[Any]:
    is_shared = series.c.replica == FLEET
    answers = or_(_PARTS.c.answer == Answer.ENGINE.value, _PARTS.c.engine_scrapes > 0)
    readable, has_cache = and_(~is_shared, answers), and_(is_shared, _PARTS.c.cache_at_end.is_not(None))

    def total(name: str) -> ColumnElement[Any]:
        column = _PARTS.c[name]
        all_tell = func.count(column).filter(readable) == func.count().filter(readable)
        return case((all_tell, func.sum(column).filter(readable)))

    def shared_or_total(name: str) -> ColumnElement[Any]:
        own = func.max(_PARTS.c[name]).filter(has_cache)
        return case((func.count().filter(has_cache) > 0, own), else_=total(name))

    return (
        select(
            series.c.cluster,
            series.c.endpoint,
            func.coalesce(func.sum(_PARTS.c.restarts).filter(~is_shared), 0),
            *(total(name) for name in _COUNTS.values()),
            *(shared_or_total(name) for name in _CACHE_COUNTS.values()),
        )
        .select_from(by_series(_PARTS))
        .where(*scope())
        .group_by(series.c.cluster, series.c.endpoint)
    )


def _stuck(connection: Connection, moment: Moment) -> Iterator[tuple[Owner, str]]:
    """Replicas whose requests wait for the cache at the minute's end, while nothing was loaded in all of it."""
    statement = (
        select(series.c.cluster, series.c.endpoint, series.c.replica)
        .select_from(by_series(_PARTS))
        .where(*scope(), series.c.replica != FLEET, _PARTS.c.at == moment.at, *_of(moment))
        .where(_PARTS.c.deferred > 0, _PARTS.c.external_hits == 0)
        .order_by(series.c.replica)
    )
    for cluster, endpoint, replica in connection.execute(statement):
        yield (cluster, endpoint), replica


def _changed(connection: Connection, moment: Moment) -> set[Owner]:
    """Endpoints of which something was changed in the minute, or was seen in it to have been changed."""
    at, seen_at, end_at = events.c.at, events.c.seen_at, moment.end_at
    is_late = and_(seen_at >= moment.at, seen_at < end_at)
    statement = (
        select(events.c.cluster, events.c.endpoint)
        .where(at >= moment.at - _LATE_SECONDS, at < end_at, or_(at >= moment.at, is_late))
        .where(events.c.kind.in_([kind.value for kind in CHANGES]))
        .distinct()
    )
    if moment.cluster is not None:
        statement = statement.where(events.c.cluster == moment.cluster)
    return {(cluster, endpoint) for cluster, endpoint in connection.execute(statement)}


def _pools(connection: Connection, moment: Moment) -> Mapping[Subject, PoolAccount]:
    """The last reading of each pool up to the minute's end."""
    names = (*POOL_FIELDS, "reason")
    columns = (_POOLS.c[name] for name in names)
    statement = (
        select(series.c.cluster, series.c.replica, *columns)
        .select_from(by_series(_POOLS))
        .where(series.c.endpoint == POOL, *_of(moment))
        .where(_POOLS.c.at > moment.end_at - moment.stale_after_seconds, _POOLS.c.at <= moment.end_at)
        .order_by(_POOLS.c.at)
    )
    return {
        Subject(cluster, POOL, name): PoolAccount(**dict(zip(names, values, strict=True)))
        for cluster, name, *values in connection.execute(statement)
    }


def _of(moment: Moment) -> list[ColumnElement[bool]]:
    return [] if moment.cluster is None else [series.c.cluster == moment.cluster]
