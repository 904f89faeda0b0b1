"""The ledger of a snapshot directory: the live accountant fed with saved bodies."""

from __future__ import annotations

import math
from dataclasses import replace

from collectors.accountant import Answered, ReplicaAccountant
from collectors.body import complete, interpret
from collectors.snapshot import Snapshot
from collectors.sources import BY_KIND
from tierdeck.account import Answer, Gauges, PoolAccount, ReplicaAccount, WarmingLimits
from tierdeck.fleet import FLEET, Target
from tierdeck.histogram import Histogram
from tierdeck.ledger import merge
from tierdeck.report import fleet_document
from tierdeck.rounds import Round, Scrape


def explain(snapshot: Snapshot, limits: WarmingLimits) -> dict[str, object]:
    """The document of docs/cli.md, "explain"."""
    rounds = {name: _rounds(snapshot, name) for name in snapshot.bodies}
    accounts = [replica_account(name, parts) for name, parts in rounds.items() if name != FLEET]
    fleet = replica_account(FLEET, rounds[FLEET]).ledger if FLEET in rounds else None
    return fleet_document(
        snapshot.window_seconds,
        accounts,
        limits,
        shared=fleet if fleet is not None and fleet.has_cache else None,
        pool=_pool([parts for _, parts in sorted(rounds.items(), key=lambda item: item[0] != FLEET)]),
        own_notes=tuple(fleet.notes) if fleet is not None else (),
    )


def replica_account(name: str, rounds: list[Round]) -> ReplicaAccount:
    """All rounds of a replica as one window."""
    ttft: Histogram | None = None
    gauges = Gauges()
    for part in rounds:
        gauges = gauges.then(part.gauges, engine_read=part.answer is Answer.ENGINE)
        if part.ttft is not None:
            ttft = part.ttft if ttft is None else ttft + part.ttft
    return ReplicaAccount(name, merge([part.ledger for part in rounds]), rounds[-1].answer, ttft, gauges)


def _rounds(snapshot: Snapshot, name: str) -> list[Round]:
    replica = snapshot.replica(name)
    first = snapshot.first_moment
    accountant = ReplicaAccountant(replica, watched_since=math.inf if first is None else first)
    rounds = []
    for seconds in snapshot.moments:
        bodies = snapshot.bodies[name].get(seconds, {})
        at = float(seconds) if first is None else first + seconds - snapshot.moments[0]
        answers = {target.name: _answer(target, at, bodies.get(target.name)) for target in replica.targets}
        rounds.append(accountant.feed(at, answers))
    return rounds


def _answer(target: Target, at: float, body: str | None) -> Answered:
    if body is None:
        return Answered(Scrape(target, at, answered=False, reason="not scraped"))
    reading, reason = interpret(BY_KIND[target.kind], complete(body))
    return Answered(Scrape(target, at, answered=True, reason=reason, body_bytes=len(body)), reading)


def _pool(replicas: list[list[Round]]) -> PoolAccount | None:
    """The last figures that anybody told, those of sources that belong to no replica first."""
    for rounds in replicas:
        told = [part.pool for part in rounds if part.pool is not None]
        known = [pool for pool in told if pool.capacity_bytes is not None]
        if known:
            last = told[-1]
            return last if last is known[-1] else replace(known[-1], reason=f"{last.reason} at the last moment")
        if told:
            return told[-1]
    return None
