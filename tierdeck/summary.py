"""The figures of one replica, and their honest sum over a fleet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tierdeck.account import Gauges, ReplicaAccount, ReplicaState, WarmingLimits, weighted_usage, worst_first
from tierdeck.ceiling import Ceiling, Range, Worth, ceiling, worth
from tierdeck.figure import ZERO, Bounded, Figure, Ratio
from tierdeck.fleet import Role
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger, together
from tierdeck.notes import Note, NoteCode
from tierdeck.split import TierSplit, cache_notes, settled, split

_ABSENT = "not exported by this engine under any known name"
_SEEN_ONCE = "vLLM was not scraped twice in the window"
_NO_L1 = "no LMCache source of the replica itself exports it"
_NO_SHARED_L1 = "the shared cache server does not export it"


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures ready to be written down or drawn. `ttft` is None where `ttft_reason` says why."""

    state: ReplicaState
    tiers: TierSplit
    requests: Figure
    ttft: Histogram | None
    ttft_reason: str
    kv_usage: Figure
    kv_capacity: Figure
    running: Figure
    waiting: Figure
    restarts: int
    l1_used: Figure
    l1_capacity: Figure
    ceiling: Ceiling
    worth: Worth

    @property
    def notes(self) -> tuple[Note, ...]:
        if self.ttft is None or not self.ttft.layouts_differ:
            return self.tiers.notes
        detail = "TTFT buckets differ and were merged on the bounds that all share"
        bounds = ", ".join(f"{bound:g}" for bound in self.ttft.bounds)
        return (*self.tiers.notes, Note(NoteCode.LAYOUTS_DIFFER, detail, f"shared bounds: {bounds or 'none'}"))


def summarize(account: ReplicaAccount, limits: WarmingLimits, shared: TokenLedger | None = None) -> Summary:
    """Figures of one replica; withheld with the reason where its state says that they can't be known.

    Args:
        shared: the endpoint's cache server, where replicas share one.
    """
    state, ledger, gauges = account.state(limits), account.ledger, account.gauges
    tiers = split(ledger, shared, decodes=account.role is Role.CONSUMER)
    if not state.readable:
        return _withheld(state, f"{state}: {state.meaning}", ledger.restarts, tiers.notes)
    highest = ceiling(ledger, has_cache=ledger.has_cache or shared is not None)
    absent = _ABSENT if ledger.engine_scrapes else _SEEN_ONCE
    used, capacity = _l1(gauges, _NO_L1)
    return Summary(
        state=state,
        tiers=tiers,
        requests=_figure(ledger.requests, absent),
        ttft=account.ttft,
        ttft_reason=absent,
        kv_usage=_figure(gauges.kv_usage_ratio, f"{_ABSENT}, or usages differ and a capacity is not exported"),
        kv_capacity=_figure(gauges.kv_capacity_tokens, _ABSENT),
        running=_figure(gauges.running, _ABSENT),
        waiting=_figure(gauges.waiting, _ABSENT),
        restarts=ledger.restarts,
        l1_used=used,
        l1_capacity=capacity,
        ceiling=highest,
        worth=worth(ledger, tiers, highest),
    )


def _l1(gauges: Gauges, absent: str) -> tuple[Figure, Figure]:
    """Bytes used in L1, and its capacity."""
    empty = "LMCache tells L1's capacity only while it stores something"
    no_capacity = empty if gauges.l1_used_bytes is not None else absent
    return _figure(gauges.l1_used_bytes, absent), _figure(gauges.l1_capacity_bytes, no_capacity)


def summarize_fleet(
    accounts: Sequence[ReplicaAccount],
    limits: WarmingLimits,
    shared: TokenLedger | None = None,
    shared_gauges: Gauges | None = None,
) -> Summary:
    """The sum of the readable replicas; a figure that one of them can't tell is unknown in the sum.

    The notes are the fleet's own; those of the replicas stay with them. A copy stands in where the one that it
    is a copy of can't be read.

    Args:
        shared, shared_gauges: of the cache server that the replicas share; its L1 is the fleet's.
    """
    each = [(account, summarize(account, limits, shared)) for account in accounts]
    read = {account.name for account, summary in each if summary.state.readable}
    summaries = [(account, summary) for account, summary in each if account.copy_of not in read]
    best = max((summary.state for _, summary in summaries), key=worst_first, default=ReplicaState.DOWN)
    readable = [(account, summary) for account, summary in summaries if summary.state.readable]
    if not readable:
        return _withheld(best, "no replica is readable" if summaries else "there is no replica", 0, ())
    parts = [summary for _, summary in readable]
    usages = [(part.kv_usage.value, part.kv_capacity.value) for part in parts]
    ttft, ttft_reason = _merged_ttft(parts)
    stood_in = {account.copy_of for account, _ in readable}
    unread = [account for account, part in summaries if not part.state.readable and account.name not in stood_in]
    tiers = _summed_tiers(readable, shared, unreadable=len(unread))
    pooled = _pooled([account.ledger for account, _ in readable], shared)
    highest = ceiling(pooled, has_cache=pooled.has_cache)
    caches = [(part.l1_used, part.l1_capacity) for account, part in readable
              if shared is None or account.ledger.has_cache]  # fmt: skip
    caches += [_l1(shared_gauges or Gauges(), _NO_SHARED_L1)] if shared is not None else []
    return Summary(
        state=best,
        tiers=tiers,
        requests=_total(part.requests for part in parts),
        ttft=ttft,
        ttft_reason=ttft_reason,
        kv_usage=weighted_usage(usages),
        kv_capacity=_total(part.kv_capacity for part in parts),
        running=_total(part.running for part in parts),
        waiting=_total(part.waiting for part in parts),
        restarts=sum(part.restarts for part in parts),
        l1_used=_total(used for used, _ in caches),
        l1_capacity=_total(capacity for _, capacity in caches),
        ceiling=highest,
        worth=worth(pooled, tiers, highest),
    )


def summarize_window(
    present: Sequence[ReplicaAccount],
    departed: Sequence[ReplicaAccount],
    limits: WarmingLimits,
    shared: TokenLedger | None = None,
    shared_gauges: Gauges | None = None,
) -> Summary:
    """State and gauges of the replicas that are there; tokens also of those that left during the window."""
    now = summarize_fleet(present, limits, shared, shared_gauges)
    if not departed or not now.state.readable:
        return now
    past = summarize_fleet([*present, *departed], limits, shared, shared_gauges)
    return replace(
        now,
        tiers=past.tiers,
        requests=past.requests,
        ttft=past.ttft,
        ttft_reason=past.ttft_reason,
        ceiling=past.ceiling,
        worth=past.worth,
    )


def _pooled(ledgers: Sequence[TokenLedger], shared: TokenLedger | None) -> TokenLedger:
    """All replicas' counts as one; caches of their own cover the window only if each of them does."""
    pooled = together(ledgers, shared)
    if shared is None and any(ledger.has_cache for ledger in ledgers):
        at_start = all(ledger.cache_at_start is True for ledger in ledgers)
        at_end = all(ledger.cache_at_end is True for ledger in ledgers)
        pooled = replace(pooled, cache_at_start=at_start, cache_at_end=at_end)
    return pooled


def _summed_tiers(
    readable: Sequence[tuple[ReplicaAccount, Summary]], shared: TokenLedger | None, *, unreadable: int
) -> TierSplit:
    """Replicas with a cache server of their own one by one; those that share one, together.

    Unreadable replicas may have been served by the shared server too: vLLM's counts don't cover the window then.
    """
    sharing = [pair for pair in readable if shared is not None and not pair[0].ledger.has_cache]
    parts = [summary.tiers for account, summary in readable if shared is None or account.ledger.has_cache]
    notes: tuple[Note, ...] = ()
    if sharing:
        pooled = together([settled(account.ledger) for account, _ in sharing], shared)
        pooled = replace(pooled, engine_covers=pooled.engine_covers and not unreadable)
        pooled_tiers = split(pooled, decodes=any(account.role is Role.CONSUMER for account, _ in sharing))
        pooled_tiers = _no_surer(pooled_tiers, [summary.tiers for _, summary in sharing])
        codes = (NoteCode.SPLIT_ESTIMATED, NoteCode.UNSPLIT)
        notes = tuple(note for note in pooled_tiers.notes if note.code in codes)
        notes += tuple(cache_notes(pooled))
        parts.append(pooled_tiers)
    ledgers = [account.ledger for account, _ in readable]
    transfers = [part.transfer for part in parts if part.transfer is not None]
    return TierSplit(
        prompt_tokens=_total(part.prompt_tokens for part in parts),
        l0=_total(part.l0 for part in parts),
        l1=_bounded_total(part.l1 for part in parts),
        l2=_bounded_total(part.l2 for part in parts),
        lower=_total(part.lower for part in parts),
        miss=_total(part.miss for part in parts),
        transfer=_total(transfers) if transfers else None,
        found_not_loaded=_total(part.found_not_loaded for part in parts),
        by_request=split(replace(together(ledgers), engine_scrapes=1)).by_request,
        notes=notes,
    )


def _no_surer(pooled: TierSplit, parts: Sequence[TierSplit]) -> TierSplit:
    """What one replica can't tell is unknown in the sum, though the counts together look sound."""
    lower, miss = _total(part.lower for part in parts), _total(part.miss for part in parts)
    if not lower.known:
        pooled = replace(pooled, l1=replace(pooled.l1, figure=lower), l2=replace(pooled.l2, figure=lower))
    return replace(pooled, lower=lower, miss=miss)


def _merged_ttft(parts: Sequence[Summary]) -> tuple[Histogram | None, str]:
    merged: Histogram | None = None
    for part in parts:
        if part.ttft is None:
            return None, part.ttft_reason
        merged = part.ttft if merged is None else merged + part.ttft
    return merged, ""


def _withheld(state: ReplicaState, reason: str, restarts: int, notes: tuple[Note, ...]) -> Summary:
    no, both = Figure.unknown(reason), Bounded.unknown(reason)
    return Summary(
        state=state,
        tiers=TierSplit(no, no, both, both, no, no, None, no, Ratio.unknown(reason), notes),
        requests=no,
        ttft=None,
        ttft_reason=reason,
        kv_usage=no,
        kv_capacity=no,
        running=no,
        waiting=no,
        restarts=restarts,
        l1_used=no,
        l1_capacity=no,
        ceiling=Ceiling.unknown(reason),
        worth=Worth(Range.unknown(reason), Ratio.unknown(reason)),
    )


def _figure(value: float | None, reason: str) -> Figure:
    return Figure.unknown(reason) if value is None else Figure(value)


def _total(figures: Iterable[Figure]) -> Figure:
    return sum(figures, ZERO)


def _bounded_total(figures: Iterable[Bounded]) -> Bounded:
    return sum(figures, Bounded.exact(0.0))
