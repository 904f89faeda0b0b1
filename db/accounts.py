"""What is known of every replica of the inventory in a window: the live figures of console and command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from db.clauses import rolled_at, scope
from db.dimensions import SeriesKey
from db.edges import Edges, read_open
from db.engine_reads import read_uncounted
from db.inventory import Whose, read_roles
from db.parts import read_parts
from db.proof_rows import read_proofs
from db.records import EndpointAccounts
from db.replica_windows import Replicas, ReplicaWindow, put_together, shared_ledger
from db.spans import spans
from tierdeck.account import Answer, Gauges, ReplicaAccount
from tierdeck.changes.probed import probe_notes
from tierdeck.fleet import FLEET, Role
from tierdeck.ledger import TokenLedger


@dataclass(frozen=True, slots=True)
class Window:
    """(start_at, end_at] in epoch seconds; a last round older than `stale_after_seconds` at its end is no answer."""

    start_at: float
    end_at: float
    stale_after_seconds: float


def read_accounts(
    connection: Connection, window: Window, cluster: str | None, endpoint: str | None
) -> list[EndpointAccounts]:
    """One entry per endpoint of the inventory, in its order."""
    whose = scope(cluster, endpoint)
    whole = spans(window.start_at, window.end_at, rolled_at(connection))
    found = put_together([part for span in whole for part in read_parts(connection, span, whose)])
    edges = Edges(
        read_open(connection, window.start_at, window.stale_after_seconds, whose),
        read_uncounted(connection, whole, _with_gaps(found.values())),
    )
    declared = read_roles(connection, Whose(cluster, endpoint))
    accounts = [_endpoint(owner, roles, found.get(owner, {}), window, edges) for owner, roles in declared.items()]
    probed = probe_notes(read_proofs(connection, window.start_at, window.end_at))
    return [replace(one, notes=(*one.notes, *probed.get((one.cluster, one.endpoint), ()))) for one in accounts]


def _with_gaps(owners: Iterable[Replicas]) -> set[str]:
    """Names of replicas with a round that took no counts of vLLM's."""
    return {
        name
        for replicas in owners
        for name, one in replicas.items()
        if name != FLEET and one.ledger.engine_scrapes < one.rounds
    }


def _endpoint(
    owner: tuple[str, str],
    declared: Mapping[str, Role],
    windows: Replicas,
    window: Window,
    edges: Edges,
) -> EndpointAccounts:
    def edged(account: ReplicaAccount) -> ReplicaAccount:
        return edges.put_on(account, SeriesKey(*owner, account.name))

    roles = {name: role for name, role in declared.items() if name != FLEET}
    departed = sorted(windows.keys() - roles.keys() - {FLEET})
    last = [one.ledger.ended_at for one in windows.values()]
    return EndpointAccounts(
        cluster=owner[0],
        endpoint=owner[1],
        replicas=[replace(edged(_replica(name, windows.get(name), window)), role=role) for name, role in roles.items()],
        shared=shared_ledger(windows),
        models=tuple(sorted(_models(windows.values()))),
        last_at=max(last, default=None),
        departed=[edged(windows[name].account(name)) for name in departed],
        notes=tuple(sorted(windows[FLEET].ledger.notes)) if FLEET in windows else (),
        shared_gauges=windows[FLEET].gauges if FLEET in windows else Gauges(),
    )


def _replica(name: str, found: ReplicaWindow | None, window: Window) -> ReplicaAccount:
    if found is None:
        return ReplicaAccount(name, TokenLedger(window.start_at, window.end_at), Answer.NOTHING)
    account = found.account(name)
    is_stale = window.end_at - found.ledger.ended_at > window.stale_after_seconds
    return replace(account, answer=Answer.NOTHING) if is_stale else account


def _models(windows: Iterable[ReplicaWindow]) -> frozenset[str]:
    return frozenset[str]().union(*(window.models for window in windows))
