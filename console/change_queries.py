"""What pages and command both read about changes: the queue, one change, and what each endpoint can be changed to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.change_limits import nobody_changes, why_no_approval, why_no_cancel, why_no_revert
from console.change_words import asks_words, is_proved, label, progress_words, proof_words, state_words, verdict_words
from console.deployment import UNSEEN
from console.words import clock
from db import Store
from tierdeck.changes.change import Change, Step
from tierdeck.changes.proof import Proof
from tierdeck.changes.strategies import PURPOSES, strategies_of
from tierdeck.deployed import Deployed, Stated
from tierdeck.errors import UsageError
from tierdeck.fleet import Endpoint
from tierdeck.tiers import Tier

_OBSERVES = "the controller only observes: TIERDECK_CHANGES_FILE names no file that says what it may change"
_NO_L2 = (
    "L2 is no part of this endpoint: it is as large as the data directories of the pool's workers, and a PVC's size "
    "limits nothing. Resize the pool by its own name"
)
_FIXED: Mapping[str, Mapping[Tier, str]] = {
    "hyperpod": {Tier.L2: _NO_L2},
    "hyperpod-jumpstart": {
        Tier.L0: "a JumpStartModel has no arguments of the engine, and L0 is one",
        Tier.L2: _NO_L2,
    },
    "production-stack": {Tier.L2: _NO_L2},
}
"""Tiers that a backend has no field for; what depends on the endpoint is refused by the preview."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change in a list.

    Attributes:
        asks: `prefixaware → roundrobin`.
        state: in words with its shape; `progress`: in a sentence or two.
        verdict: of the proof, in words; empty: none (yet).
        ended_at: epoch seconds; None: it is open.
    """

    id: int
    cluster: str
    endpoint: str
    asks: str
    state: str
    progress: str
    verdict: str
    by: str
    reason: str
    proposed_at: float
    ended_at: float | None
    reverts: int | None


@dataclass(frozen=True, slots=True)
class ChangeDetail:
    """One change with its history, and what can be done with it.

    Attributes:
        no_approval, no_cancel, no_revert: why that can't be done now, one sentence; empty: it can.
        trouble: why nobody works on it; empty: somebody does, or it is over.
    """

    change: Change
    steps: tuple[Step, ...]
    no_approval: str
    no_cancel: str
    no_revert: str
    trouble: str


@dataclass(frozen=True, slots=True)
class Offer:
    """One strategy that an endpoint's router has.

    Attributes:
        purpose: what it is for.
        why_not: why it can't be chosen now; empty: it can.
    """

    strategy: str
    purpose: str
    is_current: bool
    why_not: str


@dataclass(frozen=True, slots=True)
class EndpointOffers:
    """What an endpoint can be changed to.

    Attributes:
        strategy: as configured; running: as the pods carry it.
        proof: of the last probe; `proof_words` says what it means for the strategy configured now.
        strategies: empty where it can't be told which router there is; `no_strategies` says why.
        no_resize: by tier why it can't be resized; a tier that is missing can.
        open_change: the one that is under way.
        why_not: why nothing can be changed now; empty: it can.
        missing_rules: the RBAC rules that the controller lacks to change it, as YAML.
    """

    cluster: str
    endpoint: str
    backend: str
    strategy: Stated
    running: Stated
    proof: Proof | None
    proof_words: str
    is_proved: bool
    strategies: tuple[Offer, ...]
    no_strategies: str
    no_resize: Mapping[Tier, str]
    open_change: Change | None
    why_not: str
    missing_rules: tuple[str, ...] = ()


def change_of(store: Store, change_id: int) -> Change:
    """One change.

    Raises:
        UsageError: there is none with that number.
    """
    found = store.change(change_id)
    if found is None:
        raise UsageError(f"there is no change {change_id}", "`tierdeck changes` lists them.")
    return found


def change_rows(
    store: Store, cluster: str | None = None, endpoint: str | None = None, limit: int = 100
) -> tuple[ChangeRow, ...]:
    """The newest first."""
    return tuple(change_row(one) for one in store.changes(cluster, endpoint, limit))


def change_row(change: Change) -> ChangeRow:
    return ChangeRow(
        change.id,
        change.cluster,
        change.endpoint,
        asks_words(change),
        state_words(change.state),
        progress_words(change),
        "" if change.proof is None else verdict_words(change.proof),
        change.by,
        change.reason,
        change.proposed_at,
        change.ended_at,
        change.reverts,
    )


def change_detail(store: Store, change_id: int, now: float) -> ChangeDetail:
    """One change with everything about it.

    Raises:
        UsageError: there is none with that number.
    """
    change = change_of(store, change_id)
    steps = tuple(store.change_steps(change_id))
    trouble = "" if change.state.is_over else nobody_changes(store.processes(), now)
    return ChangeDetail(change, steps, why_no_approval(change), why_no_cancel(change), why_no_revert(change), trouble)


def offers(store: Store, cluster: str, endpoint: str, now: float) -> EndpointOffers:
    """What this endpoint can be changed to, as far as it is known before anybody looks at the cluster.

    Raises:
        UsageError: there is no such endpoint.
    """
    declared = next((one for one in store.endpoints(cluster) if one.name == endpoint), None)
    if declared is None:
        raise UsageError(
            f"there is no endpoint {endpoint!r} in cluster {cluster!r}", "`tierdeck endpoints` lists them."
        )
    deployed = next((one for one in store.deployed(cluster) if one.endpoint == endpoint), None)
    strategy, running = stated_strategies(declared, deployed)
    under_way = next(iter(open_changes(store, cluster, endpoint)), None)
    blocked = _blocked(store, cluster, endpoint, under_way, now) or _no_right(deployed)
    backend = deployed.backend if deployed is not None else declared.backend
    names = strategies_of(backend, strategy.value)
    proof = store.last_proof(cluster, endpoint)
    return EndpointOffers(
        cluster,
        endpoint,
        backend,
        strategy,
        running,
        proof,
        proof_words(proof, strategy.value, now) if strategy.value else "",
        is_proved(proof, strategy.value),
        tuple(_offer(name, strategy.value, blocked) for name in names),
        ""
        if names
        else strategy.reason or f"which strategies a router has that calls one {strategy.value!r} is not known",
        _FIXED.get(backend, {}),
        under_way,
        blocked,
        (deployed.write_rules or ()) if deployed is not None else (),
    )


def stated_strategies(declared: Endpoint, deployed: Deployed | None) -> tuple[Stated, Stated]:
    """As configured, and as the pods carry it."""
    if deployed is not None:
        return deployed.configured.strategy, deployed.effective.strategy
    unseen = Stated.unknown(UNSEEN)
    return (Stated(declared.strategy, "as declared") if declared.strategy else unseen), unseen


def open_changes(store: Store, cluster: str | None, endpoint: str | None) -> list[Change]:
    """Those that are not over, the newest first; None: of all."""
    clusters = {cluster} if cluster is not None else _clusters(store)
    found = [one for name in clusters for one in store.open_changes(name) if endpoint in (None, one.endpoint)]
    return sorted(found, key=lambda one: -one.id)


def _clusters(store: Store) -> set[str]:
    return {one.cluster for one in store.endpoints()} | {one.cluster for one in store.changes()}


def _offer(name: str, current: str, blocked: str) -> Offer:
    is_current = name == current
    return Offer(name, PURPOSES.get(name, ""), is_current, "it is configured already" if is_current else blocked)


def _blocked(store: Store, cluster: str, endpoint: str, under_way: Change | None, now: float) -> str:
    if under_way is not None:
        return f"change {under_way.id} of this endpoint is not over: {asks_words(under_way)}, {label(under_way.state)}"
    window = store.frozen(cluster, endpoint, now)
    if window is not None:
        return f"changes are frozen until {clock(window.ends_at, now)} by {window.by}: {window.why}"
    return nobody_changes(store.processes(), now)


def _no_right(deployed: Deployed | None) -> str:
    """Of what no cluster tells, such as a lab, nothing is known before it is tried."""
    if deployed is None or deployed.write_rules == ():
        return ""
    if deployed.write_rules is None:
        return f"{_OBSERVES}; or it has not told yet what it may change"
    many = len(deployed.write_rules)
    return f"the controller lacks the right to change it: {many} rule{'s are' if many > 1 else ' is'} missing"
