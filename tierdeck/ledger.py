"""The ledger of one replica over one window: increases of counters, from which every figure is derived.

Only evidence is kept here (what was counted, in tokens); tiers, ratios and bounds come from
`tierdeck.split`, so that a window of any length, live or from a snapshot, is computed one way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from tierdeck.notes import Note

COUNTS = (
    "prompt_tokens",
    "l0_hits",
    "external_queries",
    "external_hits",
    "host_hits",
    "disk_hits",
    "transfer_tokens",
    "unattributed_tokens",
    "processed_tokens",
    "requests",
    "preemptions",
    "recounting_preemptions",
    "lookup_tokens",
    "l1_found",
    "l2_found",
    "found_tokens",
    "stores_submitted",
    "stores_completed",
    "request_ratio_sum",
    "request_ratio_count",
    "computed_tokens",
    "local_source_tokens",
    "external_source_tokens",
    "cached_tokens",
    "cached_by_source",
    "first_tokens",
    "aborted",
    "measured_prompts",
    "measured_tokens",
    "reachable_low",
    "reachable_high",
    "long_prompts",
    "failed",
    "prefill_seconds",
    "load_seconds",
    "load_tokens",
)
"""The additive fields. None: not observed in the window."""

CACHE_FIELDS = (
    "lookup_tokens",
    "l1_found",
    "l2_found",
    "found_tokens",
    "stores_submitted",
    "stores_completed",
    "stores_in_flight",
    "cache_at_start",
    "cache_at_end",
)
"""What a cache server tells, for the one replica that it serves or for all that share it."""

TALLIES = ("restarts", "counter_resets", "engine_scrapes", "engine_gaps", "cache_gaps")
"""Additive fields that are always known."""


@dataclass(frozen=True, slots=True)
class TokenLedger:
    """What was counted between `started_at` and `ended_at` (epoch seconds); a scrape after failed ones reaches back
    over them, so that the windows of a replica may overlap.

    Attributes:
        transfer_tokens: moved between prefill and decode replicas or peers: no cache hits.
        unattributed_tokens: looked up while the engine exported no external counters.
        recounting_preemptions: preemptions in an engine that may count recomputed tokens again.
        l1_found, l2_found: the server's lookup hits. Without `l1_found`, `l2_found` is what embedded
            LMCache read from its remote, worked out from bytes.
        found_tokens: lookup hits of embedded LMCache.
        stores_in_flight: chunks that may still be on their way to L2 at the end.
        engine_scrapes: scrapes of vLLM that gave an increase.
        cache_at_start, cache_at_end: a cache scrape succeeded at that edge; None: no cache source.
        prompt_tokens_since_restart, requests_since_restart: since the last restart in the window.
        computed_tokens, local_source_tokens, external_source_tokens: `processed_tokens` by source.
        cached_by_source: cached tokens summed over vLLM's tiers.
        first_tokens: observations of TTFT. aborted: requests that their client gave up.
        measured_prompts, measured_tokens: finished prompts by vLLM's histogram of their lengths.
        reachable_low, reachable_high: of these tokens, what whole blocks could have served.
        long_prompts: of these prompts, those surely longer than the design pays from.
        failed: requests that ended in an error of the engine.
        prefill_seconds: from scheduling to the first token, of finished requests; embedded LMCache's loads are in it.
        load_seconds, load_tokens: what loading from LMCache took, and brought; of a cache server, the time for which
            requests waited for its answer.
        open_at_start, open_at_end: requests running or waiting at the edges; not stored: a window read from
            the store has them from the rounds at its edges, as long as the raw ones are kept.
        engine_covers: False where vLLM's counts surely begin after the window's start, or end before its end;
            not stored, but told by the rounds of the window.
    """

    started_at: float
    ended_at: float
    prompt_tokens: float | None = None
    l0_hits: float | None = None
    external_queries: float | None = None
    external_hits: float | None = None
    host_hits: float | None = None
    disk_hits: float | None = None
    transfer_tokens: float | None = None
    unattributed_tokens: float | None = None
    processed_tokens: float | None = None
    requests: float | None = None
    preemptions: float | None = None
    recounting_preemptions: float | None = None
    lookup_tokens: float | None = None
    l1_found: float | None = None
    l2_found: float | None = None
    found_tokens: float | None = None
    stores_submitted: float | None = None
    stores_completed: float | None = None
    request_ratio_sum: float | None = None
    request_ratio_count: float | None = None
    computed_tokens: float | None = None
    local_source_tokens: float | None = None
    external_source_tokens: float | None = None
    cached_tokens: float | None = None
    cached_by_source: float | None = None
    first_tokens: float | None = None
    aborted: float | None = None
    measured_prompts: float | None = None
    measured_tokens: float | None = None
    reachable_low: float | None = None
    reachable_high: float | None = None
    long_prompts: float | None = None
    failed: float | None = None
    prefill_seconds: float | None = None
    load_seconds: float | None = None
    load_tokens: float | None = None
    restarts: int = 0
    counter_resets: int = 0
    engine_scrapes: int = 0
    engine_gaps: int = 0
    cache_gaps: int = 0
    stores_in_flight: float | None = None
    cache_at_start: bool | None = None
    cache_at_end: bool | None = None
    prompt_tokens_since_restart: float | None = None
    requests_since_restart: float | None = None
    open_at_start: float | None = None
    open_at_end: float | None = None
    engine_covers: bool = True
    notes: frozenset[Note] = frozenset()

    def __post_init__(self) -> None:
        if self.ended_at < self.started_at:
            raise ValueError("a window can't end before it starts")

    @property
    def has_cache(self) -> bool:
        """An LMCache source belongs to this replica."""
        return self.cache_at_end is not None

    @property
    def cache_covers(self) -> bool:
        """LMCache was scraped at both edges, so that its increases belong to this window."""
        return self.cache_at_start is True and self.cache_at_end is True

    @property
    def found(self) -> float | None:
        """Tokens that LMCache found in L1 or L2; None where no LMCache told."""
        if self.l1_found is not None:
            return self.l1_found + (self.l2_found or 0.0)
        return self.found_tokens

    def then(self, later: TokenLedger) -> TokenLedger:
        """This window followed by a later one of the same replica.

        What only one of them observed is kept: the scrape after a gap counts the gap's tokens.
        """
        values: dict[str, object] = {
            "started_at": min(self.started_at, later.started_at),
            "ended_at": max(self.ended_at, later.ended_at),
            "notes": self.notes | later.notes,
            "engine_covers": self.engine_covers and later.engine_covers,
            "stores_in_flight": later.stores_in_flight if later.stores_in_flight is not None else self.stores_in_flight,
            "cache_at_start": self.cache_at_start if self.cache_at_start is not None else later.cache_at_start,
            "cache_at_end": later.cache_at_end if later.cache_at_end is not None else self.cache_at_end,
            "open_at_start": self.open_at_start if self.open_at_start is not None else later.open_at_start,
            "open_at_end": later.open_at_end if later.open_at_end is not None else self.open_at_end,
        }
        for name in COUNTS:
            values[name] = _sum(getattr(self, name), getattr(later, name))
        for name in TALLIES:
            values[name] = getattr(self, name) + getattr(later, name)
        for name in ("prompt_tokens", "requests"):
            since = f"{name}_since_restart"
            before = None if later.restarts else getattr(self, since)
            new = getattr(later, since if later.restarts else name)
            values[since] = _sum(before, new) if (self.restarts or later.restarts) else None
        return replace(self, **values)  # type: ignore[arg-type]  # names and types are the fields' own


def merge(windows: Sequence[TokenLedger]) -> TokenLedger:
    """Windows of one replica, in any order, as one.

    Raises:
        ValueError: no window at all.
    """
    if not windows:
        raise ValueError("nothing to merge")
    first, *rest = sorted(windows, key=lambda window: (window.ended_at, window.started_at))
    for window in rest:
        first = first.then(window)
    return first


def together(ledgers: Sequence[TokenLedger], cache: TokenLedger | None = None) -> TokenLedger:
    """Several replicas as one; a count that one of them can't tell is unknown in the sum.

    Args:
        cache: the cache server that all of them share; its lookups, hits and stores are taken.

    Raises:
        ValueError: no replica at all.
    """
    if not ledgers:
        raise ValueError("nothing to add up")
    values: dict[str, object] = {
        "started_at": min(ledger.started_at for ledger in ledgers),
        "ended_at": max(ledger.ended_at for ledger in ledgers),
        "engine_covers": all(ledger.engine_covers for ledger in ledgers),
    }
    for name in (*COUNTS, "open_at_start", "open_at_end"):
        parts = [getattr(ledger, name) for ledger in ledgers]
        values[name] = None if any(part is None for part in parts) else sum(parts)
    for name in TALLIES:
        values[name] = sum(getattr(ledger, name) for ledger in ledgers)
    for name in CACHE_FIELDS if cache is not None else ():
        values[name] = getattr(cache, name)
    return TokenLedger(**values)  # type: ignore[arg-type]  # names and types are the fields' own


def _sum(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else a + b


LEDGER_FIELDS = tuple(field.name for field in fields(TokenLedger))
