"""One endpoint's window as a summary, and the honest sum over several endpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from db import EndpointAccounts
from tierdeck.account import ReplicaAccount, WarmingLimits, worst_first
from tierdeck.figure import ZERO, Bounded, Figure
from tierdeck.histogram import Histogram
from tierdeck.ledger import together
from tierdeck.split import TierSplit, split
from tierdeck.summary import Summary, summarize, summarize_window

NOTHING_READABLE = "no endpoint has a readable replica"


@dataclass(frozen=True, slots=True)
class EndpointSummary:
    """One endpoint's window: `whole` over its replicas, `replicas` one by one.

    Attributes:
        whole: tokens of all replicas that worked in the window, also of those that are gone; state
            and gauges of those that are there now.
        pieces: what adds up to `whole`: by replica, unless they share a cache server, so that one
            replica with contradictory counters does not hide the others' tiers.
    """

    accounts: EndpointAccounts
    whole: Summary
    replicas: tuple[tuple[ReplicaAccount, Summary], ...]
    pieces: tuple[Summary, ...]

    @property
    def readable(self) -> int:
        return sum(summary.state.readable for _, summary in self.replicas)


def summarize_endpoint(accounts: EndpointAccounts, limits: WarmingLimits) -> EndpointSummary:
    """Both sums and the replicas' own figures."""
    whole = summarize_window(accounts.replicas, accounts.departed, limits, accounts.shared, accounts.shared_gauges)
    each = tuple((one, summarize(one, limits, accounts.shared)) for one in accounts.replicas)
    if accounts.shared is not None or not whole.state.readable:
        return EndpointSummary(accounts, whole, each, (whole,))
    gone = tuple(summarize(one, limits) for one in accounts.departed)
    return EndpointSummary(accounts, whole, each, (*(summary for _, summary in each), *gone))


def total(parts: Sequence[EndpointSummary]) -> Summary | None:
    """The sum over endpoints with a readable replica; None: there is none.

    A figure that one of them can't tell is unknown in the sum, with that endpoint's name in the reason.
    """
    readable = [part for part in parts if part.whole.state.readable]
    if not readable:
        return None
    wholes = [_named(part) if len(parts) > 1 else part.whole for part in readable]
    ttft, reason = _merged_ttft(wholes)
    return replace(
        wholes[0],
        state=max((one.state for one in wholes), key=worst_first),
        tiers=_summed(wholes, readable),
        requests=_sum(one.requests for one in wholes),
        ttft=ttft,
        ttft_reason=reason,
        running=_sum(one.running for one in wholes),
        waiting=_sum(one.waiting for one in wholes),
        restarts=sum(one.restarts for one in wholes),
    )


def _summed(wholes: Sequence[Summary], parts: Sequence[EndpointSummary]) -> TierSplit:
    tiers = [one.tiers for one in wholes]
    transfers = [one.transfer for one in tiers if one.transfer is not None]
    ledgers = [replica.ledger for part in parts for replica, summary in part.replicas if summary.state.readable]
    return TierSplit(
        prompt_tokens=_sum(one.prompt_tokens for one in tiers),
        l0=_sum(one.l0 for one in tiers),
        l1=sum((one.l1 for one in tiers), Bounded.exact(0.0)),
        l2=sum((one.l2 for one in tiers), Bounded.exact(0.0)),
        lower=_sum(one.lower for one in tiers),
        miss=_sum(one.miss for one in tiers),
        transfer=_sum(transfers) if transfers else None,
        found_not_loaded=_sum(one.found_not_loaded for one in tiers),
        by_request=split(replace(together(ledgers), engine_scrapes=1)).by_request,
    )


def _named(part: EndpointSummary) -> Summary:
    """The summary with the endpoint's name before each reason that the total may show."""
    whole, name = part.whole, part.accounts.endpoint
    tiers = replace(
        whole.tiers,
        prompt_tokens=_prefixed(whole.tiers.prompt_tokens, name),
        l0=_prefixed(whole.tiers.l0, name),
        lower=_prefixed(whole.tiers.lower, name),
        miss=_prefixed(whole.tiers.miss, name),
    )
    reason = f"{name}: {whole.ttft_reason}" if whole.ttft is None else ""
    return replace(whole, tiers=tiers, requests=_prefixed(whole.requests, name), ttft_reason=reason)


def _prefixed(figure: Figure, name: str) -> Figure:
    return figure if figure.known else Figure.unknown(f"{name}: {figure.reason}")


def _merged_ttft(wholes: Sequence[Summary]) -> tuple[Histogram | None, str]:
    merged: Histogram | None = None
    for one in wholes:
        if one.ttft is None:
            return None, one.ttft_reason
        merged = one.ttft if merged is None else merged + one.ttft
    return merged, ""


def _sum(figures: Iterable[Figure]) -> Figure:
    return sum(figures, ZERO)
