"""The part of the Endpoint view about its deployment: tiers, owners, the object to edit, problems."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from console.deployment import UNSEEN, Seen, owner_words, size_words, tier_states
from tierdeck.deployed import Deployed
from tierdeck.fleet import Endpoint

_START = "Configured sizes, owners and rollouts come from the Kubernetes API: `tierdeck up --kubernetes` reads it."


@dataclass(frozen=True, slots=True)
class DeploymentPart:
    """Complete; `tiers` is ready to show.

    Attributes:
        facts: the object to edit, who else writes to it, and how the rollout stands; empty where nothing tells.
        problems: a sentence each, drift of the strategy among them.
        unknown: why sizes are not known.
        advice: what to do where no controller looks.
    """

    tiers: pd.DataFrame
    facts: str
    problems: tuple[str, ...]
    unknown: tuple[str, ...]
    advice: str


def deployment_part(endpoint: Endpoint, seen: Seen) -> DeploymentPart:
    """From what is declared and what was seen."""
    states, one = tier_states(endpoint, seen), seen.deployed
    rows = [
        {
            "tier": state.tier.label,
            "configured": size_words(state.configured),
            "running": size_words(state.effective),
            "used": state.used_words,
            "state": state.state if one is not None else "○ not compared",
        }
        for state in states
    ]
    reasons = [reason for state in states for reason in state.reasons() if not reason.endswith(UNSEEN)]
    return DeploymentPart(
        tiers=pd.DataFrame(rows),
        facts=_facts(one) if one is not None else "",
        problems=_problems(one) if one is not None else (),
        unknown=tuple(reasons),
        advice=_START if one is None else "",
    )


def _facts(one: Deployed) -> str:
    owners = ", ".join(owner_words(owner) for owner in one.owners) or "nobody else"
    ready = [f"{work.ref.kind} {work.ref.name}: {work.ready} of {_wanted(work.wanted)} ready" for work in one.workloads]
    changed = f"last changed by {one.changed_by}" if one.changed_by else ""
    return " · ".join(filter(None, (str(one.source), f"also written by {owners}", changed, *ready)))


def _wanted(count: int | None) -> str:
    return "?" if count is None else str(count)


def _problems(one: Deployed) -> tuple[str, ...]:
    stuck = [f"{work.ref}: {work.trouble}" for work in one.workloads if work.trouble]
    pods = [f"{pod.name}: {pod.trouble}" for pod in one.pods if pod.trouble]
    return (*one.problems, *stuck, *pods)
