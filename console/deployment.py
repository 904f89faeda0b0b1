"""Configured, running and used size of each tier, and the strategy: the cluster's word beside what is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from db import EndpointAccounts, PoolNow
from tierdeck.account import Answer, Gauges
from tierdeck.deployed import Configuration, Deployed, Owner, Stated, StatedSize
from tierdeck.figure import Figure, Ratio
from tierdeck.fleet import Endpoint
from tierdeck.tiers import Tier
from tierdeck.units import format_count, format_ratio, format_size

NOT_PROVED = "configured, not proved"
UNSEEN = "no controller has seen this endpoint"
_NO_BYTES = "the size of a token's KV is not told (kv_bytes_per_token)"


@dataclass(frozen=True, slots=True)
class TierState:
    """One tier of an endpoint: L0 and L1 of one replica, L2 of the whole pool.

    Attributes:
        effective: as measured where that is possible (the smallest replica), else as the pods carry it.
        used: bytes, of the fullest replica.
        used_ratio: of that replica's capacity.
        used_words: `18 GiB (45 %)`, `62 % of 480 k tokens`, or `not known`.
        drift: (configured, in the pods), where that has lasted.
    """

    tier: Tier
    configured: StatedSize
    effective: StatedSize
    used: Figure
    used_ratio: Figure
    used_words: str
    drift: tuple[str, str] | None = None

    @property
    def state(self) -> str:
        """With a glyph, so that no colour is needed."""
        if self.drift is not None:
            return "≠ drift: {} configured, {} in the pods".format(*self.drift)
        if self.configured.said and self.configured.said == self.effective.said:
            return "● as configured"
        return "○ not compared" if self.configured.size_bytes is None else "○ no drift seen"

    def reasons(self) -> Iterable[str]:
        """Why something is not known."""
        for what, reason in (
            ("configured", self.configured.reason),
            ("running", self.effective.reason),
            ("used", self.used.reason if not self.used_ratio.known else ""),
        ):
            if reason:
                yield f"{self.tier.value} {what}: {reason}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands beside an endpoint's declaration: its deployment, its window's accounts, its cluster's pools."""

    deployed: Deployed | None
    accounts: EndpointAccounts | None
    pools: Sequence[PoolNow]


def tier_states(endpoint: Endpoint, seen: Seen) -> tuple[TierState, ...]:
    """Hottest first."""
    unknown = StatedSize.unknown(UNSEEN)
    nothing = Configuration(Stated.unknown(UNSEEN), unknown, unknown, unknown)
    one = seen.deployed
    stated, carried = (one.configured, one.effective) if one is not None else (nothing, nothing)
    drifting = lasting_drift(one)
    measured = {
        Tier.L0: _l0(endpoint, seen.accounts), Tier.L1: _l1(seen.accounts), Tier.L2: _l2(seen.pools),
    }  # fmt: skip
    return tuple(
        TierState(
            tier, wanted, _effective(carries, measured[tier]), measured[tier].used, measured[tier].ratio,
            measured[tier].words, drifting.get(tier.value),
        )
        for (tier, wanted), (_, carries) in zip(stated.sizes(), carried.sizes(), strict=True)
    )  # fmt: skip


def lasting_drift(one: Deployed | None) -> Mapping[str, tuple[str, str]]:
    """By `strategy` or tier, (configured, effective), where it has lasted long enough to be said."""
    return {} if one is None else {what: pair for what, pair in one.drift().items() if what in one.drifting}


def strategy_words(endpoint: Endpoint, one: Deployed | None, proved: str = "") -> str:
    """How routing is configured and what runs; neither proves how requests are routed.

    Args:
        proved: `proved 3 min ago`, where a probe showed that requests are routed as configured; empty: none did.
    """
    if one is None:
        return f"{endpoint.strategy} ({proved or NOT_PROVED})" if endpoint.strategy else "strategy not told"
    wanted, running = one.configured.strategy, one.effective.strategy
    if not wanted.value:
        told = f"running {running.value} (not proved)" if running.value else f"nor running: {running.reason}"
        return f"strategy not configured ({wanted.reason}), {told}"
    if not running.value:
        return f"{wanted.value} ({proved or NOT_PROVED}; running: not known, {running.reason})"
    if wanted.value == running.value:
        return f"{wanted.value} (configured and running, {proved or 'not proved'})"
    if "strategy" in lasting_drift(one):
        return f"≠ configured {wanted.value}, running {running.value}"
    return f"configured {wanted.value}, running {running.value}" + ("" if one.is_settled else " while it rolls out")


def owner_words(owner: Owner) -> str:
    """`argo-cd chat`."""
    return f"{owner.tool} {owner.name}".strip()


def size_words(size: StatedSize) -> str:
    """`40 GiB`, `61 GiB (--gpu-memory-utilization 0.9)`, what is written, or `not known`."""
    if size.size_bytes is None:
        return size.text or "not known"
    told = "off" if size.size_bytes == 0 else format_size(size.size_bytes)
    return f"{told} ({size.text})" if size.text and size.text != told else told


@dataclass(frozen=True, slots=True)
class _Measured:
    """Of one tier."""

    capacity: Figure
    used: Figure
    ratio: Figure
    words: str


def _effective(carried: StatedSize, measured: _Measured) -> StatedSize:
    if measured.capacity.value is not None:
        return StatedSize(round(measured.capacity.value), carried.text, "measured: the smallest replica's capacity")
    if carried.size_bytes is not None or carried.text or carried.reason != UNSEEN:
        return carried
    return replace(carried, reason=measured.capacity.reason)


def _l0(endpoint: Endpoint, accounts: EndpointAccounts | None) -> _Measured:
    gauges = _answering(accounts)
    capacities = [one.kv_capacity_tokens for one in gauges if one.kv_capacity_tokens]
    per_token = endpoint.kv_bytes_per_token
    usages = [(one.kv_usage_ratio, one.kv_capacity_tokens) for one in gauges if one.kv_usage_ratio is not None]
    untold = "KV usage is not exported" if gauges else "no replica answers"
    if not usages:
        nothing = Figure.unknown(untold)
        return _Measured(_kv_bytes(min(capacities, default=None), per_token), nothing, nothing, "not known")
    ratio, capacity = max(usages, key=lambda usage: usage[0])
    used = _kv_bytes(None if capacity is None else ratio * capacity, per_token)
    of = f" of {format_count(capacity)} tokens" if capacity and not used.known else ""
    told = f"{format_size(used.value)} ({format_ratio(ratio)})" if used.value is not None else format_ratio(ratio) + of
    return _Measured(_kv_bytes(min(capacities, default=None), per_token), used, Figure(ratio), told)


def _kv_bytes(tokens: float | None, per_token: int | None) -> Figure:
    if tokens is None:
        return Figure.unknown("the capacity of the KV cache is not exported")
    return Figure.unknown(_NO_BYTES) if per_token is None else Figure(tokens * per_token)


def _l1(accounts: EndpointAccounts | None) -> _Measured:
    caches = [*_answering(accounts), *([accounts.shared_gauges] if accounts is not None else [])]
    untold = "no LMCache source exports it" if _answering(accounts) else "no replica answers"
    capacity = _figure(min((one.l1_capacity_bytes for one in caches if one.l1_capacity_bytes), default=None), untold)
    told = [(one.l1_used_bytes, one.l1_capacity_bytes) for one in caches if one.l1_used_bytes is not None]
    used, of = max(told, key=lambda pair: pair[0], default=(None, None))
    return _of_bytes(capacity, _figure(used, untold), _figure(of, untold))


def _l2(pools: Sequence[PoolNow]) -> _Measured:
    if len(pools) != 1:
        nothing = Figure.unknown(f"{len(pools)} pools in this cluster" if pools else "no pool is scraped")
        return _of_bytes(nothing, nothing, nothing)
    account = pools[0].account
    untold = account.reason or "the pool does not tell it"
    capacity = _figure(account.capacity_bytes, untold)
    return _of_bytes(capacity, _figure(account.used_bytes, untold), capacity)


def _of_bytes(capacity: Figure, used: Figure, of: Figure) -> _Measured:
    ratio = Ratio.of(used, of) if of.value else Figure.unknown(of.reason or "its capacity is 0")
    words = "not known" if used.value is None else format_size(used.value)
    share = f" ({format_ratio(ratio.value)})" if ratio.value is not None else ""
    return _Measured(capacity, used, ratio, f"{words}{share}")


def _figure(value: float | None, reason: str) -> Figure:
    return Figure.unknown(reason) if value is None else Figure(value)


def _answering(accounts: EndpointAccounts | None) -> list[Gauges]:
    replicas = accounts.replicas if accounts is not None else []
    return [one.gauges for one in replicas if one.answer is not Answer.NOTHING]
