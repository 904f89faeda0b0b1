"""Parts of one replica put together over the spans of a window, and replicas of one endpoint summed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from db.parts import Part
from tierdeck.account import Answer, Gauges, ReplicaAccount, WarmingLimits
from tierdeck.fleet import FLEET
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger
from tierdeck.summary import Summary, summarize_fleet

Replicas = dict[str, "ReplicaWindow"]
"""One endpoint's replicas by name; `_fleet` holds what they share."""


@dataclass(frozen=True, slots=True)
class ReplicaWindow:
    """One replica in one window; `rounds` were seen, the last one gave `answer`."""

    ledger: TokenLedger
    answer: Answer
    gauges: Gauges
    ttft: Histogram | None
    models: frozenset[str]
    rounds: int

    def then(self, part: Part) -> ReplicaWindow:
        """Followed by a later part."""
        engine_read = part.answer is Answer.ENGINE or part.ledger.engine_scrapes > 0
        return ReplicaWindow(
            ledger=self.ledger.then(part.ledger),
            answer=part.answer,
            gauges=self.gauges.then(part.gauges, engine_read=engine_read),
            ttft=part.ttft if self.ttft is None else self.ttft if part.ttft is None else self.ttft + part.ttft,
            models=self.models | part.models,
            rounds=self.rounds + part.rounds,
        )

    def account(self, name: str) -> ReplicaAccount:
        """As of its last round."""
        return ReplicaAccount(name, self.ledger, self.answer, self.ttft, self.gauges)


def put_together(parts: Iterable[Part]) -> dict[tuple[str, str], Replicas]:
    """Parts, in order of time, by (cluster, endpoint) and replica."""
    found: dict[tuple[str, str], Replicas] = {}
    for part in parts:
        replicas = found.setdefault((part.key.cluster, part.key.endpoint), {})
        before = replicas.get(part.key.replica)
        if before is None:
            window = ReplicaWindow(part.ledger, part.answer, part.gauges, part.ttft, part.models, part.rounds)
        else:
            window = before.then(part)
        replicas[part.key.replica] = window
    return found


def shared_ledger(replicas: Mapping[str, ReplicaWindow]) -> TokenLedger | None:
    """The ledger of the cache server that the replicas share, if a source tells one."""
    fleet = replicas.get(FLEET)
    return fleet.ledger if fleet is not None and fleet.ledger.has_cache else None


def summarize_bucket(replicas: Mapping[str, ReplicaWindow], limits: WarmingLimits) -> tuple[Summary, int, int]:
    """A past bucket's sum, with the number of its replicas and of the readable ones.

    In the past a replica counts with what it told: one that gave increases in the bucket is not
    withheld because it was silent at the bucket's end.
    """
    accounts = [window.account(name) for name, window in replicas.items() if name != FLEET]
    told = [_as_told(account) for account in accounts]
    readable = sum(account.state(limits).readable for account in told)
    gauges = replicas[FLEET].gauges if FLEET in replicas else None
    return summarize_fleet(told, limits, shared_ledger(replicas), gauges), len(told), readable


def _as_told(account: ReplicaAccount) -> ReplicaAccount:
    if account.answer is Answer.ENGINE or not account.ledger.engine_scrapes:
        return account
    return ReplicaAccount(account.name, account.ledger, Answer.ENGINE, account.ttft, account.gauges)
