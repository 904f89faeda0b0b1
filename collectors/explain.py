"""The ledger of a snapshot directory: the live accountant fed with saved bodies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from collectors.accountant import ReplicaAccountant
from collectors.body import complete, interpret
from collectors.names import resolved, with_names
from collectors.pool import CURVINE, pool_account
from collectors.processes import same_processes
from collectors.round_parts import Answered
from collectors.snapshot import Snapshot
from collectors.source import TargetReading
from collectors.sources import BY_KIND
from tierdeck.account import Answer, Gauges, PoolAccount, ReplicaAccount, WarmingLimits
from tierdeck.fleet import FLEET, SourceKind, Target, source_kind
from tierdeck.histogram import Histogram
from tierdeck.ledger import merge
from tierdeck.notes import Note, NoteCode
from tierdeck.report import Beside, fleet_document
from tierdeck.rounds import Round, SaltCounts, Scrape


def explain(snapshot: Snapshot, limits: WarmingLimits) -> dict[str, object]:
    """The document of docs/cli.md, "explain"."""
    accountants = {name: _accountant(snapshot, name) for name in snapshot.bodies}
    rounds = {name: _rounds(snapshot, name, accountant) for name, accountant in accountants.items()}
    surely, maybe = same_processes(_engine_pages(snapshot))
    accounts = [
        replace(replica_account(name, parts), copy_of=surely.get(name, ""), role=snapshot.replica(name).role)
        for name, parts in rounds.items()
        if name != FLEET
    ]
    fleet = replica_account(FLEET, rounds[FLEET]) if FLEET in rounds else None
    beside = Beside(
        shared=fleet.ledger if fleet is not None and fleet.ledger.has_cache else None,
        pool=_pool(snapshot),
        notes=(*(fleet.ledger.notes if fleet is not None else ()), *(_alike(*pair) for pair in maybe.items())),
        salts=_salts(part for parts in rounds.values() for part in parts),
        gauges=fleet.gauges if fleet is not None else Gauges(),
    )
    document = fleet_document(snapshot.window_seconds, accounts, limits, beside)
    replicas: Any = document["replicas"]
    for name, part in replicas.items():
        readings = accountants[name].last_readings
        part["names"] = resolved(readings)
        part["why"] = with_names(part["why"], readings)
    return document


def _salts(rounds: Iterable[Round]) -> dict[str, SaltCounts]:
    salts: dict[str, SaltCounts] = {}
    for part in rounds:
        for salt, counts in part.salts.items():
            salts[salt] = salts.get(salt, SaltCounts()) + counts
    return salts


def _alike(name: str, other: str) -> Note:
    detail = f"{name} and {other} have the same start time and counters, which is no proof: both are counted"
    return Note(NoteCode.SAME_PROCESS, detail, name)


def replica_account(name: str, rounds: list[Round]) -> ReplicaAccount:
    """All rounds of a replica as one window."""
    ttft: Histogram | None = None
    gauges = Gauges()
    for part in rounds:
        gauges = gauges.then(part.gauges, engine_read=part.gauges.kv_usage_untold)
        if part.ttft is not None:
            ttft = part.ttft if ttft is None else ttft + part.ttft
    ledger = replace(merge([part.ledger for part in rounds]), engine_covers=_engine_covers(rounds))
    return ReplicaAccount(name, ledger, rounds[-1].answer, ttft, gauges)


def _engine_covers(rounds: Sequence[Round]) -> bool:
    """False where vLLM's first count is a baseline after the first moment, or nothing was counted at the last one."""
    read = [part for part in rounds if part.answer is Answer.ENGINE]
    if not read or len(rounds) == 1:
        return True
    begins_late = read[0] is not rounds[0] and not read[0].ledger.engine_scrapes
    ends_early = read[-1] is rounds[-1] and not read[-1].ledger.engine_scrapes
    return not (begins_late or ends_early)


def _accountant(snapshot: Snapshot, name: str) -> ReplicaAccountant:
    first = snapshot.first_moment
    return ReplicaAccountant(snapshot.replica(name), watched_since=math.inf if first is None else first)


def _rounds(snapshot: Snapshot, name: str, accountant: ReplicaAccountant) -> list[Round]:
    targets, first = snapshot.replica(name).targets, snapshot.first_moment
    rounds = []
    for seconds in snapshot.moments:
        bodies = snapshot.bodies[name].get(seconds, {})
        at = float(seconds) if first is None else first + seconds - snapshot.moments[0]
        answers = {target.name: _answer(target, at, bodies.get(target.name)) for target in targets}
        rounds.append(accountant.feed(at, answers))
    return rounds


def _engine_pages(snapshot: Snapshot) -> Iterator[dict[str, list[TargetReading]]]:
    """Recognised pages of vLLM by replica, moment for moment."""
    for seconds in snapshot.moments:
        pages: dict[str, list[TargetReading]] = {}
        for name, moments in snapshot.bodies.items():
            bodies = moments.get(seconds, {})
            read = [BY_KIND[SourceKind.VLLM].read(complete(body)) for target, body in bodies.items()
                    if name != FLEET and source_kind(target) is SourceKind.VLLM]  # fmt: skip
            pages[name] = [page for page in read if page is not None and page.recognised]
        yield pages


def _answer(target: Target, at: float, body: str | None) -> Answered:
    if body is None:
        return Answered(Scrape(target, at, answered=False, reason="not scraped"))
    reading, reason = interpret(BY_KIND[target.kind], complete(body))
    return Answered(Scrape(target, at, answered=True, reason=reason, body_bytes=len(body)), reading)


def _pool(snapshot: Snapshot) -> PoolAccount | None:
    """The last figures that anybody told; Curvine targets of all replicas are one pool's."""
    names = {
        f"{name}/{target.name}": target.kind for name in snapshot.bodies for target in snapshot.replica(name).targets
    }
    last: PoolAccount | None = None
    for seconds in snapshot.moments:
        readings = {}
        for name, moments in snapshot.bodies.items():
            for target, body in moments.get(seconds, {}).items():
                source = BY_KIND[source_kind(target)]
                reading = interpret(source, complete(body))[0] if source.kind in CURVINE else None
                if reading is not None and reading.recognised:
                    readings[f"{name}/{target}"] = reading
        told = pool_account(names, readings)
        if told is None or told.capacity_bytes is not None or last is None or last.capacity_bytes is None:
            last = told
        else:
            last = replace(last, reason=f"{told.reason} at the last moment")
    return last
