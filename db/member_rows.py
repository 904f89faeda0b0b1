"""Workers and mounts of pools: the newest row of each, kept as it was told last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, and_, delete, func, select

from db.schema import pool_members
from db.sightings import read_deployed
from db.upsert import Upsert, incoming
from tierdeck.fleet import ReplicaKey
from tierdeck.l2.members import KnownMember, MemberKind, MountFacts, PoolMember, WorkerFacts
from tierdeck.rounds import Round

_new = incoming(pool_members)
_UPSERT = Upsert(
    pool_members,
    merged={name: func.coalesce(_new.c[name], pool_members.c[name]) for name in ("told_at", "facts")},
    where=_new.c.at >= pool_members.c.at,
)


def write_members(connection: Connection, rounds: Iterable[Round]) -> None:
    """Those of the newest round of each pool."""
    newest = {one.key: one for one in sorted(rounds, key=lambda one: one.at) if one.members}
    _UPSERT.run(connection, [row for one in newest.values() for row in _rows(one)])


def read_members(connection: Connection, cluster: str | None) -> list[KnownMember]:
    """By pool, kind and name: those that the newest round of their pool had."""
    own = ("cluster", "endpoint", "pool")
    last = select(*(pool_members.c[name] for name in own), func.max(pool_members.c.at).label("at"))
    last_of = last.group_by(*(pool_members.c[name] for name in own)).subquery()
    same = and_(*(pool_members.c[name] == last_of.c[name] for name in (*own, "at")))
    statement = select(pool_members).join(last_of, same).order_by(*pool_members.primary_key.columns)
    if cluster is not None:
        statement = statement.where(pool_members.c.cluster == cluster)
    nodes = _nodes(connection, cluster)
    return [_known(row, nodes) for row in connection.execute(statement)]


def forget_members(connection: Connection, before: float) -> None:
    """Those that no round has had since."""
    connection.execute(delete(pool_members).where(pool_members.c.at < before))


def _rows(one: Round) -> Iterator[tuple[object, ...]]:
    for member in one.members:
        facts = _dump(member)
        own = one.key.cluster, one.key.endpoint, one.key.replica, member.kind.value, member.name
        yield (*own, one.at, one.at if facts is not None else None, member.address, member.reason, facts)


def _known(row: Row[Any], nodes: dict[tuple[str, str], str]) -> KnownMember:
    kind = MemberKind(row.kind)
    worker = _worker().validate_json(row.facts) if row.facts and kind is MemberKind.WORKER else None
    mount = _mount().validate_json(row.facts) if row.facts and kind is MemberKind.MOUNT else None
    member = PoolMember(kind, row.name, row.reason, worker, mount, row.address)
    key = ReplicaKey(row.cluster, row.endpoint, row.pool)
    return KnownMember(key, member, row.at, row.told_at, nodes.get((row.cluster, row.address), ""))


def _nodes(connection: Connection, cluster: str | None) -> dict[tuple[str, str], str]:
    """The node behind each address of a pool's pods: mounts are on their node's network."""
    return {
        (one.cluster, pod.address): pod.node
        for one in read_deployed(connection, cluster)
        for pod in one.pods
        if one.is_pool and pod.address and pod.node
    }


def _dump(member: PoolMember) -> str | None:
    if member.worker is not None:
        return _worker().dump_json(member.worker).decode()
    return None if member.mount is None else _mount().dump_json(member.mount).decode()


@cache
def _worker() -> TypeAdapter[WorkerFacts]:
    return TypeAdapter(WorkerFacts)


@cache
def _mount() -> TypeAdapter[MountFacts]:
    return TypeAdapter(MountFacts)
