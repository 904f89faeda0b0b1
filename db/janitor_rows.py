"""The janitor's rounds: written when they begin, again as they go on, read newest first."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from db.codec import dump, load
from db.janitor_schema import janitor_runs
from tierdeck.l2.janitor_runs import IdentityPart, JanitorRun, Order, Outcome

_KNOWN = {field.name for field in fields(JanitorRun)}
_PARTS = {field.name for field in fields(IdentityPart)}


def write_run(connection: Connection, run: JanitorRun) -> JanitorRun:
    """With its id."""
    facts = asdict(run)
    del facts["id"]
    values = {
        "cluster": run.cluster,
        "pool": run.pool,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "outcome": run.outcome.value,
        "facts": dump(facts),
    }
    if run.id:
        connection.execute(update(janitor_runs).where(janitor_runs.c.id == run.id).values(values))
        return run
    number: int = connection.execute(insert(janitor_runs).values(values).returning(janitor_runs.c.id)).scalar_one()
    return replace(run, id=number)


def read_runs(connection: Connection, cluster: str | None, pool: str | None, limit: int) -> list[JanitorRun]:
    """The newest first."""
    asked = {"cluster": cluster, "pool": pool}
    wanted = [janitor_runs.c[name] == value for name, value in asked.items() if value is not None]
    newest = select(janitor_runs).where(*wanted)
    newest = newest.order_by(janitor_runs.c.started_at.desc(), janitor_runs.c.id.desc()).limit(limit)
    return [_run(row) for row in connection.execute(newest)]


def read_pools(connection: Connection, cluster: str) -> list[str]:
    """The names of those of which there are rounds."""
    named = select(janitor_runs.c.pool).where(janitor_runs.c.cluster == cluster).distinct()
    return sorted(connection.execute(named).scalars())


def prune_runs(connection: Connection, before: float) -> int:
    """How many were deleted."""
    return connection.execute(delete(janitor_runs).where(janitor_runs.c.started_at < before)).rowcount


def _run(row: Row[Any]) -> JanitorRun:
    """A row of an older version has defaults for what it lacks, one of a newer loses what is not known here."""
    facts = {name: value for name, value in load(row.facts).items() if name in _KNOWN}
    parts = [{name: part[name] for name in part if name in _PARTS} for part in facts.pop("identities", ())]
    facts["outcome"], facts["order"] = Outcome(facts["outcome"]), Order(facts["order"])
    return JanitorRun(**facts, identities=tuple(IdentityPart(**part) for part in parts), id=row.id)
