"""The ledger as a document: the shape that `explain`, `ledger` and the console share.

The keys are a contract (docs/cli.md). Every null has its reason under its dotted key in `why`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tierdeck.account import Gauges, PoolAccount, ReplicaAccount, WarmingLimits
from tierdeck.ceiling import Range
from tierdeck.figure import Bounded, Figure, Ratio
from tierdeck.histogram import Histogram, Quantile
from tierdeck.ledger import TokenLedger
from tierdeck.notes import Note, NoteCode
from tierdeck.rounds import SaltCounts
from tierdeck.split import gap_notes
from tierdeck.summary import Summary, summarize, summarize_window
from tierdeck.tiers import Tier

QUANTILES = {"p50": 0.5, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class Beside:
    """What is told of a fleet beside its replicas.

    Attributes:
        shared: the ledger of the cache server that the replicas share.
        notes: about sources that belong to no replica.
        salts: LMCache's lookups by cache salt (tenant), where more than the empty salt is in use.
        gauges: of the cache server that the replicas share.
        departed: replicas that left during the window: their tokens count in the fleet's.
    """

    shared: TokenLedger | None = None
    pool: PoolAccount | None = None
    notes: Sequence[Note] = ()
    salts: Mapping[str, SaltCounts] = field(default_factory=dict)
    gauges: Gauges = field(default_factory=Gauges)
    departed: Sequence[ReplicaAccount] = ()


@dataclass(slots=True)
class _Document:
    """A document in the making: `put` files a figure under its dotted key, and its reason in `why`."""

    body: dict[str, object] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    notes: list[dict[str, object]] = field(default_factory=list)

    def finished(self) -> dict[str, object]:
        return {**self.body, "why": self.why, "notes": self.notes}

    def put(self, key: str, figure: Figure) -> None:
        self.value(key, number(figure.value))
        if figure.value is None:
            self.why[key] = figure.reason

    def value(self, key: str, value: object) -> None:
        *path, last = key.split(".")
        node = self.body
        for part in path:
            child = node.setdefault(part, {})
            assert isinstance(child, dict)
            node = child
        node[last] = value


def number(value: float | None) -> float | int | None:
    """Whole numbers as integers, so that token counts read as such."""
    return int(value) if value is not None and float(value).is_integer() else value


def fleet_document(
    window_seconds: float,
    accounts: Sequence[ReplicaAccount],
    limits: WarmingLimits,
    beside: Beside,
) -> dict[str, object]:
    """The whole document of `explain --json`."""
    shared, pool = beside.shared, beside.pool
    summaries = {account.name: summarize(account, limits, shared) for account in accounts}
    fleet = summarize_window(accounts, beside.departed, limits, shared, beside.gauges)
    fleet_doc = _summary_document(fleet)
    _put_salts(fleet_doc, beside.salts)
    fleet_body = fleet_doc.finished()
    shared_gaps = gap_notes(shared) if shared is not None else []
    notes = [_note(note) for note in sorted({*fleet.notes, *beside.notes, *shared_gaps})]
    read = {name for name, summary in summaries.items() if summary.state.readable}
    notes += [{**_note(_copy(one)), "replica": one.name} for one in accounts if one.copy_of in read]
    notes += [{**_note(note), "replica": name} for name, summary in summaries.items() for note in summary.notes]
    fleet_body["notes"] = notes
    fleet_body["unreadable"] = [name for name, summary in summaries.items() if not summary.state.readable]
    if beside.departed:
        fleet_body["departed"] = [account.name for account in beside.departed]
    return {
        "window_seconds": number(window_seconds),
        "fleet": fleet_body,
        "replicas": {name: summary_document(summary) for name, summary in summaries.items()},
        "pool": pool_document(pool) if pool is not None else None,
    }


def _put_salts(doc: _Document, salts: Mapping[str, SaltCounts]) -> None:
    """Salts with lookups in the window, as LMCache counts: what L0 served is in it."""
    told: dict[str, object] = {}
    for name, counts in sorted(salts.items()):
        ratio = counts.found_ratio
        if not (counts.lookup_tokens or counts.l1_found or counts.l2_found):
            continue
        told[name] = {
            "lookup_tokens": number(counts.lookup_tokens),
            "found_tokens": {"L1": number(counts.l1_found), "L2": number(counts.l2_found)},
            "found_ratio": ratio.value,
        }
        if ratio.value is None:
            doc.why[f"cache_salts.{name}.found_ratio"] = ratio.reason
    if told:
        doc.body["cache_salts"] = told


def _copy(account: ReplicaAccount) -> Note:
    detail = f"{account.name} is {account.copy_of}'s engine, seen over another path: the fleet counts it once"
    return Note(NoteCode.SAME_PROCESS, detail)


def summary_document(summary: Summary) -> dict[str, object]:
    """One replica's (or the fleet's) part of the document."""
    return _summary_document(summary).finished()


def _summary_document(summary: Summary) -> _Document:
    tiers, doc = summary.tiers, _Document()
    doc.value("state", str(summary.state))
    doc.put("prompt_tokens", tiers.prompt_tokens)
    doc.put("requests", summary.requests)
    _put_tier(doc, Tier.L0, tiers.l0, tiers.prompt_tokens)
    _put_bounded(doc, Tier.L1, tiers.l1, tiers.prompt_tokens)
    _put_bounded(doc, Tier.L2, tiers.l2, tiers.prompt_tokens)
    _put_tier(doc, "L1+L2", tiers.lower, tiers.prompt_tokens)
    _put_tier(doc, Tier.MISS, tiers.miss, tiers.prompt_tokens)
    if tiers.transfer is not None:
        _put_tier(doc, "transfer", tiers.transfer, tiers.prompt_tokens)
    doc.put("hit_ratio.by_token", tiers.by_token)
    doc.put("hit_ratio.by_request", tiers.by_request)
    _put_ttft(doc, summary.ttft, summary.ttft_reason)
    doc.put("kv_usage_ratio", summary.kv_usage)
    doc.put("running", summary.running)
    doc.put("waiting", summary.waiting)
    doc.value("restarts", summary.restarts)
    doc.put("found_not_loaded_tokens", tiers.found_not_loaded)
    doc.put("tier_usage.L1.used_bytes", summary.l1_used)
    doc.put("tier_usage.L1.capacity_bytes", summary.l1_capacity)
    _put_range(doc, "ceiling.hit_ratio", summary.ceiling.hit_ratio)
    _put_range(doc, "ceiling.L0", summary.ceiling.l0)
    _put_range(doc, "ceiling.L1+L2", summary.ceiling.lower)
    _put_range(doc, "worth.shared_prefix", summary.worth.shared_prefix)
    doc.put("worth.long_prompts", summary.worth.long_prompts)
    doc.value("worth.verdict", str(summary.worth.verdict))
    doc.notes.extend(_note(note) for note in summary.notes)
    return doc


def _put_tier(doc: _Document, tier: str, tokens: Figure, whole: Figure) -> None:
    doc.put(f"tiers.{tier}.tokens", tokens)
    doc.put(f"tiers.{tier}.ratio", Ratio.of(tokens, whole))


def _put_bounded(doc: _Document, tier: str, tokens: Bounded, whole: Figure) -> None:
    _put_tier(doc, tier, tokens.figure, whole)
    doc.put(f"tiers.{tier}.low", tokens.low)
    doc.put(f"tiers.{tier}.high", tokens.high)


def _put_range(doc: _Document, key: str, found: Range) -> None:
    doc.put(f"{key}.low", found.low)
    doc.put(f"{key}.high", found.high)


def _put_ttft(doc: _Document, ttft: Histogram | None, reason: str) -> None:
    for name, q in QUANTILES.items():
        quantile = ttft.quantile(q) if ttft is not None else Quantile(reason=reason)
        key = f"ttft_seconds.{name}"
        if quantile.at_least is not None:
            doc.value(key, {"at_least": quantile.at_least})
        elif quantile.value is not None:
            doc.value(key, {"value": quantile.value, "low": quantile.low, "high": quantile.high})
        else:
            doc.put(key, Figure.unknown(quantile.reason))
    doc.put("ttft_seconds.count", Figure(ttft.count) if ttft is not None else Figure.unknown(reason))
    doc.value("ttft_seconds.vantage", "engine")


def pool_document(pool: PoolAccount) -> dict[str, object]:
    """The shared pool's part of the document."""
    doc = _Document()
    figures = {
        "capacity_bytes": pool.capacity_bytes,
        "available_bytes": pool.available_bytes,
        "used_bytes": pool.used_bytes,
        "workers.live": pool.live,
        "workers.lost": pool.lost,
        "workers.blacklisted": pool.blacklisted,
        "workers.decommissioned": pool.decommissioned,
    }
    is_told = any(value is not None for value in figures.values())
    reason = pool.reason if pool.reason and not is_told else "no Curvine source that answered exports it"
    for key, value in figures.items():
        doc.put(key, Figure.unknown(reason) if value is None else Figure(value))
    doc.notes.extend([_note(Note(NoteCode.SCRAPE_GAP, pool.reason))] if pool.reason else [])
    return doc.finished()


def _note(note: Note) -> dict[str, object]:
    return {"code": str(note.code), "detail": note.detail, "evidence": note.evidence}
