"""Can I trust what I see: targets, processes, the audit log, data age, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, and_, func, literal, select, text

from db.codec import load
from db.frames import frame
from db.schema import audit, memories, metadata, processes, replicas, scrapes, targets, watermarks
from db.upsert import Upsert
from tierdeck.fleet import COMPONENTS, source_kind

if TYPE_CHECKING:
    import pandas as pd

BEAT = Upsert(processes)
SIGN_OFF = Upsert(watermarks)
WHOLE = "(all)"
"""The row of `read_sizes` about the whole store."""
SIGNED_OFF = "stopped "
"""How the names of watermarks begin that say when a process ended."""
_STATUS = (
    "last_attempt_at",
    "last_success_at",
    "answered",
    "reason",
    "duration_seconds",
    "body_bytes",
    "consecutive_failures",
    "version",
)
_COUNT_BELOW_ROWS = 1_000_000
"""PostgreSQL's own estimate is taken for larger tables."""


def read_target_status(connection: Connection, cluster: str | None) -> pd.DataFrame:
    """Declared targets in their order, with the last scrape of each."""
    owner = ("cluster", "endpoint", "replica")
    same = and_(*(targets.c[name] == scrapes.c[name] for name in (*owner, "name")))
    own = and_(*(targets.c[name] == replicas.c[name] for name in owner))
    told = (targets.c[name] for name in (*owner, "name", "url")), (scrapes.c[name] for name in _STATUS)
    statement = (
        select(*told[0], *told[1], replicas.c.versions)
        .join_from(targets, scrapes, same, isouter=True)
        .join(replicas, own)
        .order_by(*(targets.c[name] for name in owner), targets.c.position)
    )
    if cluster is not None:
        statement = statement.where(targets.c.cluster == cluster)
    rows = []
    for row in connection.execute(statement):
        kind = source_kind(row.name)
        stated = dict(load(row.versions)).get(COMPONENTS.get(kind, ""), "")
        rows.append((*row[:4], kind.value, *row[4:-1], stated))
    columns = (*owner, "target", "kind", "url", *_STATUS, "stated_version")
    numbers = ("duration_seconds", "body_bytes", "consecutive_failures")
    found = frame(rows, columns, instants=("last_attempt_at", "last_success_at"), numbers=numbers)
    found["answered"] = found["answered"].astype("boolean")
    for name in ("reason", "version", "stated_version"):
        found[name] = found[name].astype("str").fillna("")
    return found


def sign_off_name(name: str, instance: str) -> str:
    """The watermark of a process's end."""
    return f"{SIGNED_OFF}{name} {instance}"


def read_processes(connection: Connection) -> pd.DataFrame:
    """The newest beat first; `stopped_at` of a process that signed off and has not beaten since."""
    ends = watermarks.c.name == literal(SIGNED_OFF) + processes.c.name + " " + processes.c.instance
    since = watermarks.c.at >= processes.c.beat_at
    statement = (
        select(processes, watermarks.c.at)
        .join_from(processes, watermarks, and_(ends, since), isouter=True)
        .order_by(processes.c.beat_at.desc(), processes.c.name)
    )
    columns = (*processes.columns.keys(), "stopped_at")
    return frame(connection.execute(statement), columns, instants=("started_at", "beat_at", "stopped_at"))


def read_audit(connection: Connection, limit: int) -> pd.DataFrame:
    """The newest first."""
    columns = ("at", "actor", "action", "subject", "detail")
    statement = select(*(audit.c[name] for name in columns)).order_by(audit.c.id.desc()).limit(limit)
    return frame(connection.execute(statement), columns)


def read_last_at(connection: Connection, cluster: str | None) -> float | None:
    """The newest round's end: the memories are one row per replica, and each round renews its own."""
    statement = select(func.max(memories.c.at))
    if cluster is not None:
        statement = statement.where(memories.c.cluster == cluster)
    found: float | None = connection.execute(statement).scalar()
    return found


def read_sizes(connection: Connection) -> pd.DataFrame:
    """Columns table, rows, bytes; the largest first, the whole store last."""
    is_sqlite = connection.dialect.name == "sqlite"
    sizes, whole = _sqlite_bytes(connection) if is_sqlite else _postgresql_bytes(connection)
    rows = [(name, _rows(connection, name), sizes.get(name)) for name in metadata.tables]
    rows.sort(key=lambda row: (-(row[2] or 0), row[0]))
    rows.append((WHOLE, sum(row[1] for row in rows), whole))
    return frame(rows, ("table", "rows", "bytes"), numbers=("bytes",))


def _rows(connection: Connection, name: str) -> int:
    if connection.dialect.name != "sqlite":
        estimate = connection.execute(
            text("SELECT reltuples FROM pg_class WHERE oid = to_regclass(:name)"), {"name": name}
        )
        rows = int(estimate.scalar_one())
        if rows >= _COUNT_BELOW_ROWS:
            return rows
    return int(connection.execute(select(func.count()).select_from(metadata.tables[name])).scalar_one())


def _sqlite_bytes(connection: Connection) -> tuple[dict[str, int], int]:
    """By table with its indexes; empty where SQLite was built without dbstat."""
    options = {row[0] for row in connection.exec_driver_sql("PRAGMA compile_options")}
    pages = int(connection.exec_driver_sql("PRAGMA page_count").scalar_one())
    whole = pages * int(connection.exec_driver_sql("PRAGMA page_size").scalar_one())
    if "ENABLE_DBSTAT_VTAB" not in options:
        return {}, whole
    query = (
        "SELECT master.tbl_name, SUM(dbstat.pgsize) FROM dbstat JOIN sqlite_master AS master"
        " ON master.name = dbstat.name WHERE dbstat.aggregate = TRUE GROUP BY master.tbl_name"
    )
    return {row[0]: int(row[1]) for row in connection.exec_driver_sql(query)}, whole


def _postgresql_bytes(connection: Connection) -> tuple[dict[str, int], int]:
    query = "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'p')"
    found = {row[0]: int(row[1]) for row in connection.execute(text(query)) if row[0] in metadata.tables}
    return found, int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
