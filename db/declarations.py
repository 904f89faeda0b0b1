"""One origin's inventory made exactly what it says, with an audit row where that is a change."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from db.codec import dump
from db.inventory import Whose, read_endpoints, read_pools
from db.schema import audit, endpoints, replicas, targets
from tierdeck.errors import UsageError
from tierdeck.fleet import POOL, Endpoint, Replica

Name = tuple[str, ...]
"""(endpoint,) or (`_pool`, pool): what one origin owns."""
_UNIQUE = "Names must be unique, and a replica's key must name its cluster and endpoint."


@dataclass(frozen=True, slots=True)
class Declaration:
    """All that `origin` observes in a cluster, as `actor` says."""

    cluster: str
    endpoints: Sequence[Endpoint]
    pools: Sequence[Replica]
    origin: str
    actor: str

    def things(self) -> dict[Name, Endpoint | Replica]:
        """What is declared, by name.

        Raises:
            UsageError: a name twice, or a key that does not fit.
        """
        found: dict[Name, Endpoint | Replica] = {}
        for endpoint in self.endpoints:
            keys = {(replica.key.cluster, replica.key.endpoint) for replica in endpoint.replicas}
            fits = endpoint.cluster == self.cluster and keys <= {(self.cluster, endpoint.name)}
            if not fits or endpoint.name == POOL or (endpoint.name,) in found:
                raise UsageError(f"endpoint {endpoint.name} can't be declared in cluster {self.cluster}", _UNIQUE)
            found[endpoint.name,] = endpoint
        for pool in self.pools:
            name = (POOL, pool.key.replica)
            if (pool.key.cluster, pool.key.endpoint) != (self.cluster, POOL) or name in found:
                raise UsageError(f"pool {pool.key.replica} can't be declared in cluster {self.cluster}", _UNIQUE)
            found[name] = pool
        return found


def declare(connection: Connection, new: Declaration) -> bool:
    """True when that changed anything.

    Raises:
        UsageError: another origin has declared one of the names, or a name does not fit.
    """
    stored = Whose(new.cluster, origin=new.origin)
    known = read_endpoints(connection, stored), read_pools(connection, new.cluster, new.origin)
    before = Declaration(new.cluster, *known, new.origin, new.actor).things()
    after = new.things()
    if list(before.items()) == list(after.items()):
        return False
    _refuse_foreign(connection, new, after)
    for table in (endpoints, replicas):  # targets go with their replicas
        connection.execute(delete(table).where(*stored.conditions(table)))
    for position, endpoint in enumerate(new.endpoints):
        _write_endpoint(connection, endpoint, new.origin, position)
    for position, pool in enumerate(new.pools):
        _write_replica(connection, pool, new.origin, position)
    detail = {
        "origin": new.origin,
        "added": ["/".join(name) for name in after if name not in before],
        "removed": ["/".join(name) for name in before if name not in after],
        "changed": ["/".join(name) for name in after if name in before and after[name] != before[name]],
    }
    record(connection, new.actor, "declare", new.cluster, detail)
    return True


def record(connection: Connection, actor: str, action: str, subject: str, detail: object) -> None:
    """One audit row, of now."""
    values = {"at": time.time(), "actor": actor, "action": action, "subject": subject, "detail": dump(detail)}
    connection.execute(insert(audit).values(values))


def _refuse_foreign(connection: Connection, new: Declaration, names: Iterable[Name]) -> None:
    others: dict[Name, str] = {}
    for row in connection.execute(select(endpoints).where(endpoints.c.cluster == new.cluster)):
        others[row.name,] = row.origin
    for row in connection.execute(select(replicas).where(*Whose(new.cluster, POOL).conditions(replicas))):
        others[POOL, row.replica] = row.origin
    for name in names:
        if others.get(name, new.origin) != new.origin:
            message = f"{'/'.join(name)} in cluster {new.cluster} is already declared by {others[name]}"
            raise UsageError(message, "Declare it in one place, or under another name.")


def _write_endpoint(connection: Connection, endpoint: Endpoint, origin: str, position: int) -> None:
    values = {
        "cluster": endpoint.cluster,
        "name": endpoint.name,
        "origin": origin,
        "position": position,
        "backend": endpoint.backend,
        "model": endpoint.model,
        "strategy": endpoint.strategy,
        "kv_bytes_per_token": endpoint.kv_bytes_per_token,
    }
    connection.execute(insert(endpoints).values(values))
    for order, replica in enumerate(endpoint.replicas):
        _write_replica(connection, replica, origin, order)


def _write_replica(connection: Connection, replica: Replica, origin: str, position: int) -> None:
    key = {"cluster": replica.key.cluster, "endpoint": replica.key.endpoint, "replica": replica.key.replica}
    versions = dump([list(pair) for pair in replica.versions])
    values = {**key, "origin": origin, "position": position, "role": replica.role.value, "versions": versions}
    connection.execute(insert(replicas).values(values))
    own = enumerate(replica.targets)
    rows = [{**key, "name": target.name, "position": order, "url": target.url} for order, target in own]
    if rows:
        connection.execute(insert(targets), rows)
