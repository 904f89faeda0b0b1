"""One origin's inventory made exactly what it says, with an audit row where that is a change."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from db.codec import dump
from db.inventory import Whose, read_endpoints, read_pools
from db.schema import audit, endpoints, replicas, targets
from tierdeck.errors import UsageError
from tierdeck.fleet import POOL, Endpoint, Replica

Name = tuple[str, ...]
"""(endpoint,) or (`_pool`, pool): what one origin owns."""
Things = Mapping[Name, Endpoint | Replica]
Row = dict[str, object]
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
    _delete(connection, new.cluster, [name for name in before if after.get(name) != before[name]])
    _place(connection, new.cluster, _moved(before, after))
    fresh = _Rows(new.origin)
    for name, position in _positions(after).items():
        if before.get(name) != after[name]:
            fresh.add(after[name], position)
    fresh.write(connection)
    detail = {
        "origin": new.origin,
        "added": ["/".join(name) for name in after if name not in before],
        "removed": ["/".join(name) for name in before if name not in after],
        "changed": ["/".join(name) for name in after if name in before and after[name] != before[name]],
    }
    record(connection, new.actor, "declare", new.cluster, detail)
    return True


def read_others(connection: Connection, cluster: str, origin: str) -> dict[Name, str]:
    """What others than `origin` have declared in the cluster: their origin by name."""
    own = select(endpoints.c.name, endpoints.c.origin)
    found: dict[Name, str] = {}
    for row in connection.execute(own.where(endpoints.c.cluster == cluster, endpoints.c.origin != origin)):
        found[row.name,] = row.origin
    pools = select(replicas.c.replica, replicas.c.origin).where(*Whose(cluster, POOL).conditions(replicas))
    for row in connection.execute(pools.where(replicas.c.origin != origin)):
        found[POOL, row.replica] = row.origin
    return found


def record(connection: Connection, actor: str, action: str, subject: str, detail: object) -> None:
    """One audit row, of now."""
    values = {"at": time.time(), "actor": actor, "action": action, "subject": subject, "detail": dump(detail)}
    connection.execute(insert(audit).values(values))


def _refuse_foreign(connection: Connection, new: Declaration, names: Iterable[Name]) -> None:
    others = read_others(connection, new.cluster, new.origin)
    for name in names:
        if name in others:
            message = f"{'/'.join(name)} in cluster {new.cluster} is already declared by {others[name]}"
            raise UsageError(message, "Declare it in one place, or under another name.")


def _positions(names: Iterable[Name]) -> dict[Name, int]:
    """Endpoints and pools are counted apart."""
    listed = list(names)
    pools = [name for name in listed if name[0] == POOL]
    others = [name for name in listed if name[0] != POOL]
    return {name: position for some in (others, pools) for position, name in enumerate(some)}


def _moved(before: Things, after: Things) -> dict[Name, int]:
    """New positions of what is otherwise as it was."""
    old, new = _positions(before), _positions(after)
    return {name: new[name] for name in after if before.get(name) == after[name] and old[name] != new[name]}


def _delete(connection: Connection, cluster: str, names: Iterable[Name]) -> None:
    """Targets go with their replicas."""
    for name in names:
        if name[0] == POOL:
            own = (replicas.c.cluster == cluster, replicas.c.endpoint == POOL, replicas.c.replica == name[1])
            connection.execute(delete(replicas).where(*own))
        else:
            connection.execute(delete(replicas).where(*Whose(cluster, name[0]).conditions(replicas)))
            connection.execute(delete(endpoints).where(*Whose(cluster, name[0]).conditions(endpoints)))


def _place(connection: Connection, cluster: str, positions: Mapping[Name, int]) -> None:
    for table, column, is_pool in ((endpoints, endpoints.c.name, False), (replicas, replicas.c.replica, True)):
        rows = [{"moved": name[-1], "to": to} for name, to in positions.items() if (name[0] == POOL) == is_pool]
        if rows:
            own = Whose(cluster, POOL if is_pool else None).conditions(table)
            connection.execute(
                update(table).where(*own, column == bindparam("moved")).values(position=bindparam("to")), rows
            )


class _Rows:
    """Rows to be written, many at once."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._endpoints: list[Row] = []
        self._replicas: list[Row] = []
        self._targets: list[Row] = []

    def add(self, thing: Endpoint | Replica, position: int) -> None:
        if isinstance(thing, Replica):
            self._add_replica(thing, position)
            return
        self._endpoints.append(
            {
                "cluster": thing.cluster,
                "name": thing.name,
                "origin": self._origin,
                "position": position,
                "backend": thing.backend,
                "model": thing.model,
                "strategy": thing.strategy,
                "kv_bytes_per_token": thing.kv_bytes_per_token,
            }
        )
        for order, replica in enumerate(thing.replicas):
            self._add_replica(replica, order)

    def write(self, connection: Connection) -> None:
        for table, rows in ((endpoints, self._endpoints), (replicas, self._replicas), (targets, self._targets)):
            if rows:
                connection.execute(insert(table), rows)

    def _add_replica(self, replica: Replica, position: int) -> None:
        key = {"cluster": replica.key.cluster, "endpoint": replica.key.endpoint, "replica": replica.key.replica}
        versions = dump([list(pair) for pair in replica.versions])
        values = {"origin": self._origin, "position": position, "role": replica.role.value, "versions": versions}
        self._replicas.append({**key, **values})
        own = enumerate(replica.targets)
        self._targets += [{**key, "name": target.name, "position": order, "url": target.url} for order, target in own]
