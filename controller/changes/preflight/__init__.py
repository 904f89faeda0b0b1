"""Before a change is made: checks that refuse it, naming node and bytes, or say what a person should know."""

from __future__ import annotations

from controller.changes.planner import Look
from controller.changes.preflight.ahead import ahead_of
from controller.changes.preflight.availability import AVAILABILITY
from controller.changes.preflight.check import Check, Checked
from controller.changes.preflight.claims import CLAIM_SIZES
from controller.changes.preflight.ending import BUDGETS, GRACE
from controller.changes.preflight.hash_seed import HASH_SEED
from controller.changes.preflight.kueue import QUEUE
from controller.changes.preflight.l0 import L0
from controller.changes.preflight.memory import MEMORY_OF_POD
from controller.changes.preflight.moving import MOVING, PRESSURE, SCALERS
from controller.changes.preflight.nodes import ROOM
from controller.changes.preflight.quota import QUOTA
from controller.changes.preflight.shared_memory import SHARED_MEMORY
from tierdeck.changes.plan import Plan, Refusal
from tierdeck.changes.wish import Wish

CHECKS: tuple[Check, ...] = (
    MOVING, PRESSURE, MEMORY_OF_POD, ROOM, SHARED_MEMORY, L0, QUOTA, QUEUE, AVAILABILITY, BUDGETS, GRACE, SCALERS,
    CLAIM_SIZES, HASH_SEED,
)  # fmt: skip
"""In the order in which their sentences are shown."""


def preflight(look: Look, plan: Plan, wish: Wish) -> Checked:
    """Run all checks.

    Raises:
        TierdeckError: of a kind of `controller.api.errors`, for what may work later.
    """
    ahead = ahead_of(look, plan, wish)
    refusals: dict[Refusal, None] = {}
    warnings: dict[str, None] = dict.fromkeys(ahead.unread)
    for check in CHECKS:
        for found in check.find(ahead):
            if isinstance(found, str):
                warnings[found] = None
            else:
                refusals[found] = None
    return Checked(tuple(refusals), tuple(warnings))
