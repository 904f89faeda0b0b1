"""What `endpoints --json` says of an endpoint's deployment."""

from __future__ import annotations

from console.change_document import proof_document
from console.change_words import is_proved, proof_words
from console.deployment import UNSEEN, Seen, TierState, lasting_drift, tier_states
from tierdeck.changes.proof import Proof
from tierdeck.deployed import Deployed, Stated, StatedSize
from tierdeck.fleet import Endpoint
from tierdeck.report import number


def deployment_document(endpoint: Endpoint, seen: Seen) -> dict[str, object]:
    """Keys tiers, routing, drift, owners, source and problems; empty or null where no controller has seen it."""
    one = seen.deployed
    drift = lasting_drift(one)
    return {
        "tiers": {state.tier.value: _tier(state) for state in tier_states(endpoint, seen)},
        "routing": _routing(one),
        "drift": {what: {"configured": wanted, "effective": runs} for what, (wanted, runs) in drift.items()},
        "owners": [{"tool": owner.tool, "name": owner.name, "evidence": owner.evidence} for owner in one.owners]
        if one is not None
        else [],
        "source": {"kind": one.source.kind, "namespace": one.source.namespace, "name": one.source.name}
        if one is not None
        else None,
        "problems": list(one.problems) if one is not None else [],
    }


def _tier(state: TierState) -> dict[str, object]:
    used = {"bytes": number(state.used.value), "ratio": state.used_ratio.value, "why": state.used.reason}
    return {"configured": _size(state.configured), "effective": _size(state.effective), "used": used}


def _size(size: StatedSize) -> dict[str, object]:
    return {"bytes": size.size_bytes, "text": size.text, "where": size.where, "why": size.reason}


def _routing(one: Deployed | None) -> dict[str, object]:
    unknown = Stated.unknown(UNSEEN)
    sides = (one.configured.strategy, one.effective.strategy) if one is not None else (unknown, unknown)
    return {
        name: {"value": side.value or None, "where": side.where, "why": side.reason}
        for name, side in zip(("configured", "effective"), sides, strict=True)
    }


def proof_of(strategy: str, proof: Proof | None, now: float) -> dict[str, object]:
    """Whether the strategy that is configured is in effect.

    Args:
        strategy: empty: none is known, and nothing of it can be proved.
        proof: of the endpoint's last probe.
    """
    return {
        "proved": is_proved(proof, strategy) if strategy else False,
        "words": proof_words(proof, strategy, now) if strategy else "no strategy is known",
        "last": None if proof is None else proof_document(proof),
    }
