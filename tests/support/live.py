"""The live way of a snapshot's pages: the same accountant, a store, and the document that the commands make of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.round_parts import Answered
from collectors.snapshot import Snapshot, read_snapshot
from collectors.sources import BY_KIND
from db import Store
from tests.support.expositions import START, Bodies, write_snapshot
from tierdeck.account import WarmingLimits
from tierdeck.fleet import Endpoint
from tierdeck.report import Beside, fleet_document
from tierdeck.rounds import Round, Scrape

LIMITS = WarmingLimits()
BEGAN_AT = START + 5000


def live_document(
    store: Store,
    folder: Path,
    replicas: Mapping[str, Mapping[int, Bodies]],
    facts: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The document of `ledger` from the first moment to the last, for bodies by replica, second and source.

    The processes of `tests.support.expositions` ran already when the deck began to watch.
    """
    snapshot = read_snapshot(write_snapshot(folder, replicas, facts))
    known = [snapshot.replica(name) for name in snapshot.bodies]
    store.declare("snapshot", [Endpoint("snapshot", "snapshot", tuple(known))], [], "test", "test")
    for name in snapshot.bodies:
        store.append(list(_rounds(snapshot, name)))
    start_at, end_at = BEGAN_AT + snapshot.moments[0], BEGAN_AT + snapshot.moments[-1]
    (one,) = store.accounts(start_at, end_at)
    beside = Beside(one.shared, None, one.notes, {}, one.shared_gauges, one.departed)
    return fleet_document(end_at - start_at, one.replicas, LIMITS, beside)


def _rounds(snapshot: Snapshot, name: str) -> list[Round]:
    accountant, rounds = ReplicaAccountant(snapshot.replica(name)), []
    for seconds in snapshot.moments:
        at, answers = BEGAN_AT + seconds, {}
        for target in snapshot.replica(name).targets:
            body = snapshot.bodies[name].get(seconds, {}).get(target.name)
            if body is None:
                answers[target.name] = Answered(Scrape(target, at, answered=False, reason="not scraped"))
                continue
            reading, reason = interpret(BY_KIND[target.kind], body)
            answers[target.name] = Answered(Scrape(target, at, answered=True, reason=reason), reading)
        rounds.append(accountant.feed(at, answers))
    return rounds
