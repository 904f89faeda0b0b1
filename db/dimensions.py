"""The ids behind series, models, bucket layouts and cache salts; found once per process, then remembered."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import Connection, Insert, Table, select
from sqlalchemy.dialects import postgresql, sqlite

from db.codec import dump_numbers, load_numbers
from db.database import Database
from db.records import OTHER_SALTS
from db.schema import layouts, models, salts, series

layout_text = lru_cache(maxsize=1024)(dump_numbers)
"""Bounds as their row has them; cached, since every round brings the same."""


class SeriesKey(NamedTuple):
    """Whose rows they are; `replica` is "" for the endpoint as a whole."""

    cluster: str
    endpoint: str
    replica: str


class SaltKey(NamedTuple):
    """One tenant of one endpoint."""

    cluster: str
    endpoint: str
    salt: str


@dataclass(slots=True)
class Needs:
    """What a write refers to."""

    series: set[SeriesKey] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    layouts: set[tuple[float, ...]] = field(default_factory=set)
    salts: set[SaltKey] = field(default_factory=set)


class Dimensions:
    """Ids by key; new ones are committed before anything refers to them.

    Args:
        max_salts: salts kept apart per endpoint; further ones share the id of `(other)`.
    """

    def __init__(self, max_salts: int) -> None:
        self._max_salts = max_salts
        self._lock = threading.Lock()
        self._known: dict[str, dict[tuple[str, ...], int]] = {}
        self._is_loaded = False

    def forget(self) -> None:
        """Read everything anew: another process has pruned what is remembered here."""
        self._is_loaded = False

    def prepare(self, database: Database, needs: Needs) -> None:
        """Make sure that these have ids."""
        with self._lock:
            if not self._is_loaded:
                self._known, self._is_loaded = _load(database), True
            known = self._known
            wanted: list[tuple[Table, Collection[tuple[str, ...]]]] = [
                (series, needs.series - known[series.name].keys()),
                (models, {(model,) for model in needs.models} - known[models.name].keys()),
                (layouts, {(layout_text(one),) for one in needs.layouts} - known[layouts.name].keys()),
                (salts, self._bounded(needs.salts, known[salts.name])),
            ]
            if not any(keys for _, keys in wanted):
                return
            with database.write() as connection:
                found = {table.name: _allocate(connection, table, sorted(keys)) for table, keys in wanted}
            for name, ids in found.items():
                known[name].update(ids)

    def series_id(self, key: SeriesKey) -> int:
        return self._id(series, key)

    def model_id(self, model: str) -> int | None:
        """None: unknown."""
        return self._id(models, (model,)) if model else None

    def layout_id(self, bounds: tuple[float, ...]) -> int:
        return self._id(layouts, (layout_text(bounds),))

    def salt_id(self, key: SaltKey) -> int:
        return self._known[salts.name].get(key) or self._id(salts, key._replace(salt=OTHER_SALTS))

    def _id(self, table: Table, key: tuple[str, ...]) -> int:
        return self._known[table.name][key]

    def _bounded(self, wanted: Iterable[SaltKey], known: Collection[tuple[str, ...]]) -> set[tuple[str, ...]]:
        """Those that may have an id of their own; `(other)` for the rest of an endpoint."""
        kept: dict[tuple[str, ...], int] = {}
        for key in known:
            kept[key[:2]] = kept.get(key[:2], 0) + (key[2] != OTHER_SALTS)
        found: set[tuple[str, ...]] = set()
        for key in sorted(wanted):
            owner, other = key[:2], key._replace(salt=OTHER_SALTS)
            if key in known:
                continue
            if kept.get(owner, 0) < self._max_salts:
                kept[owner] = kept.get(owner, 0) + 1
                found.add(key)
            elif other not in known:
                found.add(other)
        return found


def read_layouts(connection: Connection) -> dict[int, tuple[float, ...]]:
    """Bounds by id."""
    return {row.id: load_numbers(row.bounds) for row in connection.execute(select(layouts))}


def read_models(connection: Connection) -> dict[int, str]:
    """Models by id."""
    return {row.id: row.model for row in connection.execute(select(models))}


def _load(database: Database) -> dict[str, dict[tuple[str, ...], int]]:
    """All that the store knows so far, by table."""
    with database.read() as connection:
        return {
            table.name: {tuple(row[1:]): row[0] for row in connection.execute(select(table))}
            for table in (series, models, layouts, salts)
        }


def _allocate(connection: Connection, table: Table, keys: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """Ids of rows with these keys; another process may be making them at this moment."""
    names = [column.name for column in table.columns if not column.primary_key]
    ids = {}
    for key in keys:
        values = dict(zip(names, key, strict=True))
        connection.execute(_insert(connection, table).values(values))
        same = [table.c[name] == value for name, value in values.items()]
        ids[key] = int(connection.execute(select(table.c.id).where(*same)).scalar_one())
    return ids


def _insert(connection: Connection, table: Table) -> Insert:
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()
