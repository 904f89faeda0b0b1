"""From a ledger to tiers: where each prompt token came from, with bounds where nobody exports it.

Words and rules: docs/ledger.md. Sources: vLLM's scheduler counts external hits among the tokens that
L0 left over; LMCache's lookups also count what L0 served (both observed on vLLM 0.32.0 with LMCache
0.5.6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tierdeck.figure import ZERO, Bounded, Figure, Ratio
from tierdeck.identities import (
    breaches,
    has_loaded_beyond_misses,
    has_more_hits_than_lookups,
)
from tierdeck.ledger import TokenLedger
from tierdeck.notes import Note, NoteCode

_BOUNDING = ("l1_found", "l2_found", "cache_at_start", "cache_at_end")


@dataclass(frozen=True, slots=True)
class TierSplit:
    """Tokens by tier; l0 + lower + miss + transfer = prompt_tokens wherever all are known.

    `lower` is L1 and L2 together. `transfer` is None where no replica transfers.
    """

    prompt_tokens: Figure
    l0: Figure
    l1: Bounded
    l2: Bounded
    lower: Figure
    miss: Figure
    transfer: Figure | None
    found_not_loaded: Figure
    by_request: Ratio
    notes: tuple[Note, ...] = ()

    @property
    def by_token(self) -> Ratio:
        """(L0 + L1 + L2) / prompt tokens; unknown where the tiers don't add up to these."""
        hits = self.l0 + self.lower
        if hits.known and not self.miss.known:
            return Ratio.unknown(self.miss.reason)
        return Ratio.of(hits, self.prompt_tokens)


def split(ledger: TokenLedger, shared: TokenLedger | None = None, *, decodes: bool = False) -> TierSplit:
    """Attribute a window's prompt tokens to tiers.

    Args:
        shared: the cache server that this replica shares with others, when it has none of its own:
            it bounds L1 and L2, and tells no estimate.
        decodes: a decode replica's: it always has a transfer, be it 0.
    """
    if shared is not None and not ledger.has_cache:
        ledger = replace(ledger, **{name: getattr(shared, name) for name in _BOUNDING})
    else:
        shared = None
    notes = [*ledger.notes, *_notes(ledger, is_shared=shared is not None)]
    prompt = _observed(ledger, "prompt_tokens", "prefix cache lookups")
    l0 = _observed(ledger, "l0_hits", "prefix cache hits")
    external = _external(ledger)
    moved = _transferred(ledger)
    transfer = Figure(moved) if external.known and (moved or decodes) else None
    if external.value is None:
        lower = miss = Figure.unknown(external.reason)
        l1 = l2 = Bounded.unknown(external.reason)
    else:
        lower = Figure(external.value - moved)
        l1, l2, note = _lower_tiers(ledger, lower.value or 0.0, is_shared=shared is not None)
        if has_loaded_beyond_misses(ledger):
            lower = miss = Figure.unknown("external hits exceed what L0 left over")
            l1, l2, note = replace(l1, figure=lower), replace(l2, figure=lower), None
        elif prompt.value is None or l0.value is None:
            miss = Figure.unknown(prompt.reason or l0.reason)
        elif has_more_hits_than_lookups(ledger):
            miss = Figure.unknown("the engine counted more prefix cache hits than lookups")
        else:
            miss = Figure(prompt.value - l0.value - external.value)
        notes += [note] if note else []
    return TierSplit(
        prompt, l0, l1, l2, lower, miss, transfer,
        _found_not_loaded(ledger, is_shared=shared is not None), _by_request(ledger), tuple(sorted(notes)),
    )  # fmt: skip


def settled(ledger: TokenLedger) -> TokenLedger:
    """With no more attributed to sources than was loaded: disk before host, as it is estimated, then peers.

    These counters move at slightly different moments.
    """
    external = ledger.external_hits
    if external is None:
        return ledger
    disk = min(ledger.disk_hits or 0.0, external)
    host = min(ledger.host_hits or 0.0, external - disk)
    return replace(ledger, host_hits=host, disk_hits=disk, transfer_tokens=_transferred(ledger))


def _transferred(ledger: TokenLedger) -> float:
    """At least nothing, and at most what was loaded and came from neither host nor disk."""
    own = (ledger.host_hits or 0.0) + (ledger.disk_hits or 0.0)
    return min(max(0.0, ledger.transfer_tokens or 0.0), max(0.0, (ledger.external_hits or 0.0) - own))


def _observed(ledger: TokenLedger, name: str, words: str) -> Figure:
    value = getattr(ledger, name)
    if value is not None:
        return Figure(value)
    if ledger.engine_scrapes == 0:
        return Figure.unknown("vLLM was not scraped twice in the window")
    return Figure.unknown(f"{words} are not exported by this engine under any known name")


def _external(ledger: TokenLedger) -> Figure:
    """External hits, or why they can't be used."""
    if ledger.external_hits is None or ledger.unattributed_tokens:
        if ledger.engine_scrapes == 0:
            return Figure.unknown("vLLM was not scraped twice in the window")
        return Figure.unknown(
            "external prefix cache hits are not exported by this engine, and nothing shows that it has no connector"
        )
    return Figure(ledger.external_hits)


def _lower_tiers(ledger: TokenLedger, lower: float, *, is_shared: bool) -> tuple[Bounded, Bounded, Note | None]:
    """L1 and L2 with bounds, of what was loaded and not transferred; see docs/ledger.md, "L1 and L2"."""
    host, disk = ledger.host_hits or 0.0, ledger.disk_hits or 0.0
    rest = lower - host - disk
    if rest < 0:
        return _within(lower, host, disk)
    l1_found, l2_found = ledger.l1_found or 0.0, ledger.l2_found or 0.0
    looked_up = ledger.cache_covers and ledger.l1_found is not None
    told = looked_up or (ledger.cache_covers and ledger.l2_found is not None)
    low, high = 0.0, rest
    if looked_up and rest <= l1_found + l2_found:
        low, high = max(0.0, rest - l2_found), min(rest, l1_found)
    l2_estimate = min(rest, l2_found)
    if not looked_up:
        l2_estimate = float(round(l2_estimate))  # from bytes, which need not be whole tokens
    l1_estimate = min(max(low, rest - l2_estimate), high)
    note, tokens = None, Figure(host + low)
    if low < high and told and not is_shared:
        tokens = Figure(host + l1_estimate)
        if looked_up:
            taken = "the smaller of external hits and LMCache's L2 hits, since L0 holds the fronts of prompts"
            evidence = f"external hits {rest:.0f}, LMCache found {l1_found:.0f} in L1 and {l2_found:.0f} in L2"
        else:
            taken = "the bytes that embedded LMCache read from its remote, in tokens"
            evidence = f"external hits {rest:.0f}, read from the remote {l2_found:.0f}"
        note = Note(NoteCode.SPLIT_ESTIMATED, f"L2 is taken as {taken}", evidence)
    elif low < high:
        tokens = Figure.unknown(_why_unsplit(ledger))
        note = Note(NoteCode.UNSPLIT, tokens.reason, f"external hits {rest:.0f}")
    l2_tokens = Figure(disk + rest - (tokens.value - host)) if tokens.value is not None else tokens
    l1 = Bounded(tokens, Figure(host + low), Figure(host + high))
    l2 = Bounded(l2_tokens, Figure(disk + rest - high), Figure(disk + rest - low))
    return l1, l2, note


def _within(lower: float, host: float, disk: float) -> tuple[Bounded, Bounded, Note | None]:
    """More attributed to host and disk than loaded: each lies between what the other leaves and its own count."""
    low, high = max(0.0, lower - disk), min(lower, host)
    l1 = Bounded(Figure(low), Figure(low), Figure(high))
    l2 = Bounded(Figure(lower - low), Figure(lower - high), Figure(lower - low))
    if low == high:
        return l1, l2, None
    detail = "L2 is taken as the smaller of external hits and those that vLLM attributes to disk"
    evidence = f"external hits {lower:.0f}, host {host:.0f}, disk {disk:.0f}"
    return l1, l2, Note(NoteCode.SPLIT_ESTIMATED, detail, evidence)


def _why_unsplit(ledger: TokenLedger) -> str:
    if not ledger.has_cache:
        return "no LMCache metrics tell L1 from L2"
    if not ledger.cache_covers:
        return "LMCache was not scraped at an edge of the window"
    if ledger.l1_found is None:
        return "embedded LMCache does not export L1 and L2 hits apart, and what it read from its remote is not known"
    return "the cache server is shared, and does not tell this replica's hits from the others'"


def _found_not_loaded(ledger: TokenLedger, *, is_shared: bool) -> Figure:
    """Tokens that LMCache found and nobody used: at least max(0, found - external hits - L0 hits)."""
    if is_shared:
        return Figure.unknown("the cache server is shared; the fleet's sum tells") if ledger.external_queries else ZERO
    if ledger.external_queries and not ledger.cache_covers:
        return Figure.unknown("vLLM asked its connector, and no LMCache scrape covers the window")
    if ledger.found is None:
        return ZERO
    if ledger.external_hits is None or ledger.l0_hits is None:
        return Figure.unknown("vLLM's hits are not known")
    unused = max(0.0, ledger.found - ledger.external_hits - ledger.l0_hits)
    if unused and not ledger.engine_covers:
        return Figure.unknown("vLLM was not read at an edge of the window: its counts and LMCache's differ in time")
    return Figure(unused)


def _by_request(ledger: TokenLedger) -> Ratio:
    """Mean of the requests' own hit ratios (LMCache's request_cache_hit_rate)."""
    if ledger.request_ratio_sum is None or ledger.request_ratio_count is None:
        return Ratio.unknown("not exported by this engine")
    if not ledger.request_ratio_count:
        return Ratio.unknown("no requests in the window")
    return Ratio.of(Figure(ledger.request_ratio_sum), Figure(ledger.request_ratio_count))


def _notes(ledger: TokenLedger, *, is_shared: bool) -> list[Note]:
    """Notes that follow from the counts themselves; those about the cache only where it is the replica's own."""
    notes = [*breaches(ledger, of_cache=False), *_life_notes(ledger), *_lookup_wiring_notes(ledger)]
    return notes if is_shared else [*notes, *cache_notes(ledger)]


def cache_notes(ledger: TokenLedger) -> list[Note]:
    """Notes about a cache server whose counts belong to the ledger's replicas alone."""
    return [*breaches(ledger, of_cache=True), *_unused_notes(ledger), *_cache_wiring_notes(ledger)]


def _unused_notes(ledger: TokenLedger) -> list[Note]:
    found = _found_not_loaded(ledger, is_shared=False).value
    if not found:
        return []
    detail = "LMCache found tokens that were recomputed all the same"
    return [Note(NoteCode.FOUND_NOT_LOADED, detail, f"at least {found:.0f} tokens")]


def _life_notes(ledger: TokenLedger) -> list[Note]:
    notes = []
    if ledger.recounting_preemptions:
        detail = "recomputed tokens of preempted requests may be counted again"
        notes.append(Note(NoteCode.PREEMPTED, detail, f"{ledger.recounting_preemptions:.0f} preemptions"))
    if ledger.restarts:
        notes.append(Note(NoteCode.RESTARTED, "the engine restarted in the window", f"{ledger.restarts} restarts"))
    if ledger.counter_resets:
        detail = "counters fell without a new process and were counted from 0"
        notes.append(Note(NoteCode.COUNTER_RESET, detail, f"{ledger.counter_resets} falls"))
    return notes + gap_notes(ledger)


def gap_notes(ledger: TokenLedger) -> list[Note]:
    """Scrapes that are missing."""
    return [
        Note(NoteCode.SCRAPE_GAP, f"{name} was not read wholly at every moment", f"{gaps} missing")
        for name, gaps in (("vLLM", ledger.engine_gaps), ("LMCache", ledger.cache_gaps))
        if gaps
    ]


def _lookup_wiring_notes(ledger: TokenLedger) -> list[Note]:
    if ledger.prompt_tokens != 0 or not ledger.processed_tokens:
        return []
    detail = "prefix cache lookups stay 0 while prompt tokens are processed"
    return [Note(NoteCode.NOT_WIRED, detail, f"prompt tokens processed {ledger.processed_tokens:.0f}")]


def _cache_wiring_notes(ledger: TokenLedger) -> list[Note]:
    notes = []
    if ledger.external_hits and ledger.cache_covers and ledger.found == 0 and ledger.lookup_tokens == 0:
        detail = "LMCache's lookups stay 0 while vLLM loads from it"
        notes.append(Note(NoteCode.NOT_WIRED, detail, f"external hits {ledger.external_hits:.0f}"))
    return notes
