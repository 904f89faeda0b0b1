"""What must hold between counters that are kept independently; a breach is a note with both figures.

Sources: vLLM 0.32.0 (loggers and scheduler) and LMCache 0.5.6, held against captures of both. The table
in docs/ledger.md is made from `IDENTITIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tierdeck.ledger import TokenLedger
from tierdeck.notes import Note, NoteCode

_HEADROOM = 4
"""Prompts differ in length: those that are open at an edge may be several times the mean."""
_FEW = 100
"""Requests below which nothing is judged where the open ones are not known."""
_SHARE = 0.25
_SLACK = 0.01
"""Gauges and counters of one page may be a step apart."""


@dataclass(frozen=True, slots=True)
class Identity:
    """One of them.

    Attributes:
        says: the relation, in the words of docs/ledger.md.
        tolerance: how far the figures may lie apart.
        withholds: the figures that a breach makes unknown.
        check: the note of a breach, or None; also None where a counter is missing.
        of_cache: about a cache server whose counts belong to the ledger's replicas alone.
    """

    says: str
    tolerance: str
    codes: tuple[NoteCode, ...]
    withholds: str
    check: Callable[[TokenLedger], Note | None]
    of_cache: bool = False


def breaches(ledger: TokenLedger, *, of_cache: bool) -> list[Note]:
    """Notes of the identities that do not hold."""
    notes = [one.check(ledger) for one in IDENTITIES if one.of_cache is of_cache]
    return [note for note in notes if note is not None]


def has_more_hits_than_lookups(ledger: TokenLedger) -> bool:
    """L0 hits above all lookups: L0's share and what follows from it are withheld."""
    prompt, l0 = ledger.prompt_tokens, ledger.l0_hits
    return prompt is not None and l0 is not None and l0 > prompt


def has_loaded_beyond_misses(ledger: TokenLedger) -> bool:
    """External hits above what L0 left over: the tokens of everything below L0 are withheld."""
    left, hits = _left_over(ledger), ledger.external_hits
    return left is not None and hits is not None and hits > left


def attributed(ledger: TokenLedger) -> float:
    """External hits that vLLM itself attributes: to host, disk, peers."""
    return (ledger.host_hits or 0.0) + (ledger.disk_hits or 0.0) + max(0.0, ledger.transfer_tokens or 0.0)


def _left_over(ledger: TokenLedger) -> float | None:
    """L0's misses; none where more was hit than looked up."""
    if ledger.prompt_tokens is None or ledger.l0_hits is None:
        return None
    return max(0.0, ledger.prompt_tokens - ledger.l0_hits)


def _l0_hits(ledger: TokenLedger) -> Note | None:
    if not has_more_hits_than_lookups(ledger):
        return None
    detail = "prefix cache hits exceed the lookups: L0's share and what follows from it are withheld"
    return _disagree(detail, ("L0 hits", ledger.l0_hits), ("lookups", ledger.prompt_tokens))


def _external_queries(ledger: TokenLedger) -> Note | None:
    left, queries, prompt = _left_over(ledger), ledger.external_queries, ledger.prompt_tokens
    if left is None or prompt is None or queries is None or queries <= left:
        return None
    code, detail = NoteCode.EXTERNAL_MISMATCH, "external queries exceed what L0 left over"
    if queries == prompt:
        code, detail = NoteCode.EXTERNAL_DOUBLE_COUNTED, "external queries equal all lookups"
    return Note(code, detail, f"external queries {queries:.0f}, lookups {prompt:.0f}, L0 hits {ledger.l0_hits:.0f}")


def _external_hits(ledger: TokenLedger) -> Note | None:
    if not has_loaded_beyond_misses(ledger):
        return None
    detail = "external hits exceed what L0 left over: the tokens of L1, L2 and miss are withheld"
    evidence = f"external hits {ledger.external_hits:.0f}, lookups {ledger.prompt_tokens:.0f}"
    return Note(NoteCode.EXTERNAL_MISMATCH, detail, f"{evidence}, L0 hits {ledger.l0_hits:.0f}")


def _attributed_hits(ledger: TokenLedger) -> Note | None:
    if ledger.external_hits is None or attributed(ledger) <= ledger.external_hits:
        return None
    detail = "hits by source exceed the external hits, and count up to these"
    evidence = f"by source {attributed(ledger):.0f}, external {ledger.external_hits:.0f}"
    return Note(NoteCode.EXTERNAL_MISMATCH, detail, evidence)


def _sources_of_prompt(ledger: TokenLedger) -> Note | None:
    by_source = _plus(ledger.computed_tokens, ledger.local_source_tokens, ledger.external_source_tokens)
    detail = "prompt tokens by source do not add up to the prompt tokens processed"
    found = ("by source", by_source), ("processed", ledger.processed_tokens)
    return _differ(detail, *found, _token_a_request(ledger))


def _cached_of_prompt(ledger: TokenLedger) -> Note | None:
    by_source = _plus(ledger.local_source_tokens, ledger.external_source_tokens)
    detail = "cached prompt tokens are not those that came from a cache by source"
    return _differ(detail, ("by source", by_source), ("cached", ledger.cached_tokens), _token_a_request(ledger))


def _cached_by_tier(ledger: TokenLedger) -> Note | None:
    hits = _plus(ledger.l0_hits, ledger.external_hits)
    detail = "cached tokens by tier do not add up to L0 and external hits"
    note = _differ(detail, ("by tier", ledger.cached_by_source), ("hits", hits), _open_tokens(ledger))
    if note is not None and ledger.l0_hits == 0:
        detail = "prefix cache hits stay 0 while vLLM counts cached tokens by tier: what L0 serves looks like a miss"
        return Note(NoteCode.NOT_WIRED, detail, note.evidence)
    return note


def _lookups_of_prompt(ledger: TokenLedger) -> Note | None:
    if not ledger.prompt_tokens or not ledger.processed_tokens:
        return None  # a counter that stays 0 is `not_wired`
    detail = "tokens looked up are not the prompt tokens processed"
    found = ("lookups", ledger.prompt_tokens), ("processed", ledger.processed_tokens)
    return _differ(detail, *found, _open_tokens(ledger))


def _first_tokens(ledger: TokenLedger) -> Note | None:
    first, finished, opened = ledger.first_tokens, ledger.requests, _open_requests(ledger)
    if not first or finished is None or opened is None:
        return None
    detail = "first tokens measured are not the requests finished: quantiles are of some requests only"
    tolerance = opened + (ledger.aborted or 0.0) + 1 + _SLACK * finished
    return _differ(detail, ("first tokens", first), ("finished", finished), tolerance)


def _lookups_of_cache(ledger: TokenLedger) -> Note | None:
    if not ledger.cache_covers:
        return None
    detail = "LMCache was asked for more tokens than vLLM looked up"
    return _exceed(detail, ("LMCache", ledger.lookup_tokens), ("vLLM", ledger.prompt_tokens), _open_tokens(ledger))


def _loads_of_cache(ledger: TokenLedger) -> Note | None:
    if not ledger.cache_covers or not ledger.found:
        return None  # lookups that stay 0 are `not_wired`
    detail = "vLLM loaded more tokens than LMCache found"
    loaded = None if ledger.external_hits is None else ledger.external_hits - attributed(ledger)
    return _exceed(detail, ("loaded", loaded), ("found", ledger.found), _open_tokens(ledger))


def _stores(ledger: TokenLedger) -> Note | None:
    if ledger.stores_submitted is None:
        return None
    submitted, completed = ledger.stores_submitted, ledger.stores_completed or 0.0
    in_flight = ledger.stores_in_flight or 0.0
    if submitted - completed <= in_flight:
        return None
    evidence = f"chunks submitted {submitted:.0f}, completed {completed:.0f}, in flight at most {in_flight:.0f}"
    return Note(NoteCode.STORES_INCOMPLETE, "stores to L2 did not complete", evidence)


def _plus(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _token_a_request(ledger: TokenLedger) -> float:
    """vLLM computes a prompt's last token even where all of it was cached."""
    return max(1.0, (ledger.requests or 0.0) + (_open_requests(ledger) or 0.0))


def _open_requests(ledger: TokenLedger) -> float | None:
    """Requests open at the edge at which more are; None: not known, or lost in a restart."""
    if ledger.restarts or ledger.counter_resets or ledger.open_at_start is None or ledger.open_at_end is None:
        return None
    return max(ledger.open_at_start, ledger.open_at_end)


def _open_tokens(ledger: TokenLedger) -> float | None:
    """Tokens that one counter may have and the other not yet, or never; None where nothing can be judged."""
    requests, tokens = ledger.requests or 0.0, ledger.prompt_tokens or 0.0
    if ledger.preemptions or ledger.restarts or ledger.counter_resets or not requests:
        return None
    opened = _open_requests(ledger)
    if opened is None:
        return _SHARE * tokens if requests >= _FEW else None
    return requests + _HEADROOM * (opened + (ledger.aborted or 0.0)) * tokens / requests


_Told = tuple[str, float | None]


def _differ(detail: str, one: _Told, other: _Told, tolerance: float | None) -> Note | None:
    if one[1] is None or other[1] is None or tolerance is None or abs(one[1] - other[1]) <= tolerance:
        return None
    return _disagree(detail, one, other)


def _exceed(detail: str, part: _Told, whole: _Told, tolerance: float | None) -> Note | None:
    if part[1] is None or whole[1] is None or tolerance is None or part[1] - whole[1] <= tolerance:
        return None
    return _disagree(detail, part, whole)


def _disagree(detail: str, one: _Told, other: _Told) -> Note:
    return Note(NoteCode.COUNTERS_DISAGREE, detail, f"{one[0]} {one[1]:.0f}, {other[0]} {other[1]:.0f}")


_LAST = "1 token a request"
_OPEN = "1 token a request, and 4 mean prompts for each that is open at an edge or aborted; else a quarter"
_BELOW_L0 = "the tokens of L1, L2, their sum and miss; the hit ratio by token"
_DISAGREE = (NoteCode.COUNTERS_DISAGREE,)
_MISMATCH = (NoteCode.EXTERNAL_MISMATCH,)

IDENTITIES: tuple[Identity, ...] = (
    Identity("L0 hits ≤ lookups", "none", _DISAGREE, "L0's share, miss, the hit ratio by token", _l0_hits),
    Identity(
        "external queries ≤ lookups − L0 hits", "none",
        (NoteCode.EXTERNAL_MISMATCH, NoteCode.EXTERNAL_DOUBLE_COUNTED), "nothing", _external_queries,
    ),
    Identity("external hits ≤ lookups − L0 hits", "none", _MISMATCH, _BELOW_L0, _external_hits),
    Identity("host + disk + peers ≤ external hits", "none", _MISMATCH, "what is beyond", _attributed_hits),
    Identity("computed + local + external = processed", _LAST, _DISAGREE, "nothing", _sources_of_prompt),
    Identity("local + external = cached", _LAST, _DISAGREE, "nothing", _cached_of_prompt),
    Identity(
        "cached, over all tiers = L0 hits + external hits", _OPEN,
        (NoteCode.COUNTERS_DISAGREE, NoteCode.NOT_WIRED), "nothing", _cached_by_tier,
    ),
    Identity("lookups = prompt tokens processed", _OPEN, _DISAGREE, "nothing", _lookups_of_prompt),
    Identity(
        "first tokens = finished requests", "requests open at an edge or aborted, 1, and 1 %", _DISAGREE, "nothing",
        _first_tokens,
    ),
    Identity("LMCache's lookups ≤ lookups", _OPEN, _DISAGREE, "nothing", _lookups_of_cache, of_cache=True),
    Identity("loaded ≤ found by LMCache", _OPEN, _DISAGREE, "the bounds of L1 and L2", _loads_of_cache, of_cache=True),
    Identity(
        "stores submitted = stores completed", "stores in flight", (NoteCode.STORES_INCOMPLETE,), "nothing", _stores,
        of_cache=True,
    ),
)  # fmt: skip
