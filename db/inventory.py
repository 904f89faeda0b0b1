"""What is declared to be observed: endpoints with their replicas and targets, and pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, select

from db.codec import load
from db.schema import endpoints, replicas, scrapes, targets
from tierdeck.fleet import POOL, Endpoint, Replica, ReplicaKey, Role, Target


@dataclass(frozen=True, slots=True)
class Whose:
    """A part of the inventory; None: any."""

    cluster: str | None = None
    endpoint: str | None = None
    origin: str | None = None

    def conditions(self, table: Table) -> list[ColumnElement[bool]]:
        name = table.c.name if table is endpoints else table.c.endpoint
        wanted = ((table.c.cluster, self.cluster), (name, self.endpoint), (table.c.origin, self.origin))
        return [column == value for column, value in wanted if value is not None]


def read_told(connection: Connection, cluster: str | None) -> dict[ReplicaKey, dict[str, str]]:
    """What processes told of their versions, by replica and target; without those that are unknown."""
    statement = select(scrapes).where(scrapes.c.version.is_not(None))
    if cluster is not None:
        statement = statement.where(scrapes.c.cluster == cluster)
    found: dict[ReplicaKey, dict[str, str]] = {}
    for row in connection.execute(statement):
        found.setdefault(ReplicaKey(row.cluster, row.endpoint, row.replica), {})[row.name] = row.version
    return found


def read_endpoints(connection: Connection, whose: Whose) -> list[Endpoint]:
    """In the order declared, cluster by cluster."""
    owned = _read_replicas(connection, whose)
    return [
        Endpoint(
            cluster=row.cluster,
            name=row.name,
            replicas=tuple(owned.get((row.cluster, row.name), ())),
            backend=row.backend,
            model=row.model,
            strategy=row.strategy,
            kv_bytes_per_token=row.kv_bytes_per_token,
        )
        for row in _endpoint_rows(connection, whose)
    ]


def read_pools(connection: Connection, cluster: str | None, origin: str | None = None) -> list[Replica]:
    """In the order declared, cluster by cluster."""
    found = _read_replicas(connection, Whose(cluster, POOL, origin))
    return [pool for pools in found.values() for pool in pools]


def read_roles(connection: Connection, whose: Whose) -> dict[tuple[str, str], dict[str, Role]]:
    """Roles of the replicas by (cluster, endpoint) and name, `_fleet` included: the inventory without its targets."""
    owners = [(row.cluster, row.name) for row in _endpoint_rows(connection, whose)]
    found: dict[tuple[str, str], dict[str, Role]] = {owner: {} for owner in owners}
    columns = (replicas.c.cluster, replicas.c.endpoint, replicas.c.replica, replicas.c.role)
    statement = select(*columns).order_by(replicas.c.position)
    for cluster, endpoint, replica, role in connection.execute(statement.where(*whose.conditions(replicas))):
        if (cluster, endpoint) in found:
            found[cluster, endpoint][replica] = Role(role)
    return found


def _endpoint_rows(connection: Connection, whose: Whose) -> list[Row[Any]]:
    statement = select(endpoints).order_by(endpoints.c.cluster, endpoints.c.origin, endpoints.c.position)
    return list(connection.execute(statement.where(*whose.conditions(endpoints))))


def _read_replicas(connection: Connection, whose: Whose) -> dict[tuple[str, str], list[Replica]]:
    order = (replicas.c.cluster, replicas.c.endpoint, replicas.c.origin, replicas.c.position)
    joined = and_(*(targets.c[name] == replicas.c[name] for name in ("cluster", "endpoint", "replica")))
    statement = (
        select(replicas, targets.c.name, targets.c.url)
        .join_from(replicas, targets, joined, isouter=True)
        .where(*whose.conditions(replicas))
        .order_by(*order, targets.c.position)
    )
    rows: dict[ReplicaKey, list[Row[Any]]] = {}
    for row in connection.execute(statement):
        rows.setdefault(ReplicaKey(row.cluster, row.endpoint, row.replica), []).append(row)
    found: dict[tuple[str, str], list[Replica]] = {}
    for key, some in rows.items():
        own = tuple(Target(key, row.name, row.url) for row in some if row.name is not None)
        versions = tuple((component, version) for component, version in load(some[0].versions))
        found.setdefault((key.cluster, key.endpoint), []).append(Replica(key, own, Role(some[0].role), versions))
    return found
