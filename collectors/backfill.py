"""Accounts a recording of the past: lines of JSON in, rows of the store out, rolled up as it goes.

The first line is `{"recording", "start_at", "end_at", "fleet"}`, where `fleet` is a configuration file
(docs/config.md); each other line `{"at", "owner", "replica", "bodies": {target: text}}` is what one replica
answered at a moment, in order of time. `owner` is an endpoint, or a pool with the replica `_fleet`.
Instants are epoch seconds.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.config import Inventory, inventory_of
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from db import Store
from tierdeck.account import WarmingLimits
from tierdeck.backfill import Backfill
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET, Replica
from tierdeck.ledger import TokenLedger
from tierdeck.rounds import Round, Scrape

_CHUNK_SECONDS = 600.0
"""What is written and rolled up at a time."""
_HINT = "docs/store.md describes a recording."

Owned = tuple[str, str]


@dataclass(slots=True)
class _Recording:
    """What the first line says."""

    source: str
    start_at: float
    end_at: float
    replicas: dict[Owned, Replica]


def backfill(lines: Iterable[str], store: Store, cluster: str, warming: WarmingLimits) -> Iterator[Backfill]:
    """Account a recording; yields its progress at the start and after every ten minutes of it.

    It can be done again, and cut off: rows of the same replica and moment replace each other, and the
    progress says up to when everything is there. Nothing of it changes what is known about the present.

    Raises:
        UsageError: a line that is none of a recording; it is named, and what came before stays.
    """
    numbered = enumerate(lines, start=1)
    recording = _first_line(next(numbered, (1, ""))[1], cluster)
    accountants = {
        owned: ReplicaAccountant(replica, watched_since=recording.start_at)
        for owned, replica in recording.replicas.items()
    }
    progress = _begin(recording, store, cluster)
    yield progress
    waiting: list[Round] = []
    last_at = recording.start_at

    def write(up_to: float) -> Backfill:
        nonlocal progress
        store.append(waiting)
        store.rollup_range(progress.done_at, up_to, warming)
        waiting.clear()
        progress = replace(progress, done_at=max(progress.done_at, up_to), told_at=time.time())
        store.tell_backfill(progress)
        return progress

    for number, line in numbered:
        at, owned, bodies = _moment(line, number, recording, last_at)
        if at > last_at >= progress.done_at + _CHUNK_SECONDS:
            yield write(last_at)
        last_at = at
        accountant = accountants[owned]
        answers = _answers(recording.replicas[owned], at, bodies)
        one = accountant.feed(at, answers)
        ledger = one.ledger if at < recording.end_at else _closed(one.ledger)
        waiting.append(replace(one, ledger=ledger, is_past=True))
    if waiting or last_at > progress.done_at:
        yield write(last_at)


def _closed(ledger: TokenLedger) -> TokenLedger:
    """What was on its way to L2 as the recording ends is nobody's loss: its end was not recorded."""
    submitted, completed = ledger.stores_submitted, ledger.stores_completed
    if submitted is None or not ledger.stores_in_flight:
        return ledger
    open_at_end = min(ledger.stores_in_flight, submitted, max(0.0, submitted - (completed or 0.0)))
    return replace(ledger, stores_submitted=submitted - open_at_end)


def _begin(recording: _Recording, store: Store, cluster: str) -> Backfill:
    """One that goes on where another was cut off keeps that one's start."""
    start_at = recording.start_at
    for known in store.backfills(cluster):
        goes_on = known.source == recording.source and known.end_at == recording.end_at
        if goes_on and known.start_at <= start_at <= known.done_at:
            start_at = known.start_at
    now = time.time()
    progress = Backfill(cluster, recording.source, start_at, recording.end_at, recording.start_at, now)
    store.tell_backfill(progress)
    return progress


def _first_line(line: str, cluster: str) -> _Recording:
    document = _object(line, 1)
    source, fleet = document.get("recording"), document.get("fleet")
    start_at, end_at = _instant(document, "start_at", 1), _instant(document, "end_at", 1)
    if not isinstance(source, str) or not source or start_at >= end_at:
        raise UsageError("line 1: a recording begins with its name, start_at and a later end_at", _HINT)
    return _Recording(source, start_at, end_at, _replicas(inventory_of(fleet, cluster, "line 1: fleet")))


def _replicas(inventory: Inventory) -> dict[Owned, Replica]:
    found = {(pool.key.replica, FLEET): pool for pool in inventory.pools}
    for endpoint in inventory.endpoints:
        found |= {(endpoint.name, replica.key.replica): replica for replica in endpoint.sized_replicas}
    return found


def _moment(line: str, number: int, recording: _Recording, last_at: float) -> tuple[float, Owned, Mapping[str, str]]:
    document = _object(line, number)
    at, bodies = _instant(document, "at", number), document.get("bodies")
    owned = (str(document.get("owner")), str(document.get("replica")))
    if owned not in recording.replicas:
        raise UsageError(f"line {number}: the recording's fleet has no {'/'.join(owned)}", _HINT)
    if not last_at <= at <= recording.end_at:
        raise UsageError(f"line {number}: {at:.3f} is before the line above it or after the recording's end", _HINT)
    if not isinstance(bodies, dict) or not all(isinstance(text, str) for text in bodies.values()):
        raise UsageError(f"line {number}: bodies must be texts by target", _HINT)
    return at, owned, bodies


def _answers(replica: Replica, at: float, bodies: Mapping[str, str]) -> dict[str, Answered]:
    answers = {}
    for target in replica.targets:
        text = bodies.get(target.name)
        if text is None:
            answers[target.name] = Answered(Scrape(target, at, answered=False, reason="not recorded"))
            continue
        reading, reason = interpret(BY_KIND[target.kind], text)
        answers[target.name] = Answered(Scrape(target, at, answered=True, reason=reason), reading)
    return answers


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"line {number} is not JSON", _HINT) from error
    if not isinstance(document, dict):
        raise UsageError(f"line {number} is no JSON object", _HINT)
    return document


def _instant(document: Mapping[str, Any], key: str, number: int) -> float:
    value = document.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise UsageError(f"line {number}: {key} must be epoch seconds", _HINT)
    return float(value)
