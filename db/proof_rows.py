"""What probes of a router's behaviour told, the newest last."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from db.change_facts import UnreadableError, dump_proof, load_proof
from db.change_schema import proofs
from tierdeck.changes.proof import Proof


def write_proof(connection: Connection, cluster: str, endpoint: str, proof: Proof) -> None:
    """The same again is not written again."""
    values = {"cluster": cluster, "endpoint": endpoint, "at": proof.at, "facts": dump_proof(proof)}
    same = [proofs.c[name] == value for name, value in values.items()]
    if connection.execute(select(proofs.c.id).where(*same)).first() is None:
        connection.execute(insert(proofs).values(values))


def read_proofs(connection: Connection, start_at: float, end_at: float) -> list[tuple[str, str, Proof]]:
    """(cluster, endpoint, proof) of those that began in (start_at, end_at], in order; unreadable ones are left out."""
    rows = connection.execute(
        select(proofs).where(proofs.c.at > start_at, proofs.c.at <= end_at).order_by(proofs.c.at, proofs.c.id)
    )
    read = ((row.cluster, row.endpoint, _proof(row.facts)) for row in rows)
    return [(cluster, endpoint, proof) for cluster, endpoint, proof in read if proof is not None]


def read_last_proof(connection: Connection, cluster: str, endpoint: str) -> Proof | None:
    """None: it was never probed, or what the last probe told can't be read."""
    own = (proofs.c.cluster == cluster, proofs.c.endpoint == endpoint)
    newest = select(proofs.c.facts).where(*own).order_by(proofs.c.at.desc(), proofs.c.id.desc()).limit(1)
    facts: str | None = connection.execute(newest).scalar()
    return None if facts is None else _proof(facts)


def prune_proofs(connection: Connection, before: float) -> int:
    """How many were deleted."""
    return connection.execute(delete(proofs).where(proofs.c.at < before)).rowcount


def _proof(facts: str) -> Proof | None:
    try:
        return load_proof(facts)
    except UnreadableError:
        return None
