"""Circumstances as tests compose them: replicas by their habits, before and since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tierdeck.account import Answer, Gauges, PoolAccount, ReplicaAccount
from tierdeck.alerts.circumstances import Circumstances, PoolReading, Restart, Stretch
from tierdeck.events import Event, EventKind
from tierdeck.ledger import TokenLedger

ONSET = 1_800_000_000.0
"""2027-01-15 08:00:00 UTC."""
NOW = ONSET + 900.0
HOUR = 3600.0
GIB = 2.0**30


@dataclass(frozen=True, slots=True)
class Habit:
    """A replica in a stretch; shares of its prompt tokens. L2 has `l2` of them, and L1 `l1`.

    Attributes:
        tokens: prompt tokens a second.
        l1_found: what LMCache's lookups find in L1, beside what L2 has; by default what was loaded, and what L0 has.
        stored, completing: chunks submitted a second, and the share of them that completes.
        unread: of prompt tokens, found in L2 and not loaded.
    """

    tokens: float = 1000.0
    l0: float = 0.4
    l1: float = 0.2
    l2: float = 0.2
    length: float = 2000.0
    stored: float = 1.0
    completing: float = 1.0
    unread: float = 0.0
    l1_used: float = 10 * GIB
    l1_size: float = 16 * GIB
    l0_size: float = 500_000.0
    answer: Answer = Answer.ENGINE


USUAL = Habit()


def account(name: str, habit: Habit, edges: tuple[float, float], restarts: int = 0) -> ReplicaAccount:
    """LMCache's lookups count what L0 served too: it has that in L1."""
    seconds = edges[1] - edges[0]
    prompt = habit.tokens * seconds
    ledger = TokenLedger(
        *edges,
        prompt_tokens=prompt,
        l0_hits=habit.l0 * prompt,
        external_queries=(1 - habit.l0) * prompt,
        external_hits=(habit.l1 + habit.l2) * prompt,
        processed_tokens=prompt,
        requests=prompt / habit.length,
        lookup_tokens=prompt,
        l1_found=(habit.l0 + habit.l1) * prompt,
        l2_found=(habit.l2 + habit.unread) * prompt,
        stores_submitted=habit.stored * seconds,
        stores_completed=habit.stored * habit.completing * seconds,
        restarts=restarts,
        engine_scrapes=int(seconds / 15),
        cache_at_start=True,
        cache_at_end=True,
    )
    gauges = Gauges(kv_capacity_tokens=habit.l0_size, l1_used_bytes=habit.l1_used, l1_capacity_bytes=habit.l1_size)
    return ReplicaAccount(name, ledger, habit.answer, gauges=gauges)


def silent(name: str, answer: Answer = Answer.NOTHING) -> ReplicaAccount:
    """Nothing was read of it."""
    return ReplicaAccount(name, TokenLedger(ONSET, NOW, engine_gaps=60), answer)


def around(
    before: Mapping[str, Habit] | int = 3,
    after: Mapping[str, Habit] | Habit = USUAL,
    *,
    restarted: Sequence[str] = (),
    rule: str = "hit_ratio_drop",
    pools: Sequence[PoolReading] | None = None,
    **changes: Any,
) -> Circumstances:
    """An hour before, a quarter of an hour since.

    Args:
        before: habits by replica; a number: so many usual ones, a, b, c, …
        after: a habit for all of them, or for some: the others go on as before.
        changes: other fields of Circumstances.
    """
    usual = {chr(ord("a") + number): USUAL for number in range(before)} if isinstance(before, int) else dict(before)
    since = dict.fromkeys(usual, after) if isinstance(after, Habit) else {**usual, **after}
    edges = (ONSET - 60 - HOUR, ONSET - 60), (ONSET, NOW)
    sides = [
        Stretch(*edges[0], {name: account(name, habit, edges[0]) for name, habit in usual.items()}),
        Stretch(
            *edges[1], {name: account(name, habit, edges[1], int(name in restarted)) for name, habit in since.items()}
        ),
    ]
    return replace(
        Circumstances(
            rule=rule,
            endpoint="chat",
            onset_at=ONSET,
            now=NOW,
            before=sides[0],
            after=sides[1],
            restarts=tuple(Restart(name, ONSET + 120) for name in restarted),
            pools=tuple(pools if pools is not None else pool_readings()),
            declared=frozenset(since),
        ),
        **changes,
    )


def pool(live: float = 3.0, used: float = 0.7, size: float = 300 * GIB, blacklisted: float = 0.0) -> PoolAccount:
    return PoolAccount(size, (1 - used) * size, used * size, live, 0.0, blacklisted, 0.0)


def pool_readings(before: PoolAccount | None = None, since: PoolAccount | None = None) -> tuple[PoolReading, ...]:
    """One reading a quarter of an hour: four before, two since."""
    old = before or pool()
    readings = [PoolReading(ONSET - 60 - 900 * number, "curvine", old) for number in (3, 2, 1, 0)]
    return (*readings, *(PoolReading(ONSET + 450 * number, "curvine", since or old) for number in (1, 2)))


def event(kind: EventKind, words: str, replica: str = "", at: float = ONSET, **detail: str) -> Event:
    return Event("c", "chat", replica, at, kind, "Deployment inference/chat", words, words, detail)
