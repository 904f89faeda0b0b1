"""The steps of a change from its first write to its end: applied, verified, proved, kept or failed."""

from __future__ import annotations

from dataclasses import replace

import structlog

from controller.changes.changer import DeniedError, Progress, StoppedError
from controller.changes.move import Move, Work, to, waiting
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Plan
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.errors import TierdeckError
from tierdeck.units import format_seconds

log = structlog.get_logger()
WRITING_SECONDS = 2 * 3600.0
"""From the approval: what can't be written to its end by then is given up."""
AGAIN_SECONDS = 10.0
"""Until a strategy is probed once more that was not in effect, as a router may still be taking it up, or could not be
told, as a few in a hundred can't."""
_MOST_PAUSE_SECONDS = 10.0
_SHARE_OF_AGE = 0.05


def apply(work: Work, change: Change, now: float) -> Move:
    """From `applying`: write what is not there yet."""
    if change.preview is None or change.approved_at is None or not change.approved_by:
        return to(change, State.FAILED, "nobody approved it, so nothing was written", "Propose it again.")
    plan = change.preview.plan
    forbidden = work.policy.plan_refusals(change, plan)
    if forbidden:
        return _given_up(change, forbidden[0].reason.rstrip("."))
    if now >= change.approved_at + WRITING_SECONDS:
        return _given_up(change, f"it could not be written within 2 h: {change.outcome}")
    frozen = work.policy.frozen(change, now)
    if frozen is not None:
        return _given_up(change, frozen.reason.rstrip("."))
    work.hold()
    work.seam.at("applying")
    try:
        work.changer.apply(plan, change.approved_by, work.hold)
    except StoppedError as error:
        return stopped(change, error)
    work.seam.at("applied")
    return to(replace(change, applied_at=now), State.PROVING, "it is written; what runs has to carry it")


def stopped(change: Change, error: TierdeckError) -> Move:
    """To `failed`, with what was written of it and what was not."""
    total = len(change.preview.plan.writes) if change.preview is not None else 0
    written = error.written if isinstance(error, StoppedError) else None
    if written is None and total == 1 and isinstance(error, DeniedError):
        written = 0  # it is the one write that is refused; of any other error, one before it may have come through
    if written == 0:
        told, next_step = "nothing was written", f"{error.hint} Then propose it again.".strip()
    else:
        told = f"{written} of {total} objects are written" if written is not None else "what was written before stays"
        next_step = f"{error.hint} {take_back(change)}".strip()
    return to(change, State.FAILED, f"{str(error).rstrip('.')}; {told}", next_step)


def _given_up(change: Change, why: str) -> Move:
    """To `failed`, after writes of which nobody knows here how far they came."""
    return to(change, State.FAILED, f"{why}; what was written of it stays", take_back(change))


def take_back(change: Change) -> str:
    """The next step after a change that does not do what it should."""
    return f"`tierdeck revert {change.id}` takes it back."


def prove(work: Work, change: Change, now: float) -> Move:
    """From `proving`: read back what runs, then probe."""
    if change.preview is None or change.applied_at is None:
        return to(change, State.FAILED, "it is not known when it was written", take_back(change))
    plan, applied_at = change.preview.plan, change.applied_at
    verified = work.changer.verify(plan, applied_at)
    work.seam.at("verified")
    if verified.progress is Progress.FAILED:
        return to(change, State.FAILED, verified.words.rstrip("."), verified.next_step or take_back(change))
    if verified.progress is Progress.WAITING:
        return overdue(work, change, now, verified.words) or waiting(change, verified.words, _pause(now - applied_at))
    if not plan.strategy:
        return to(change, State.OBSERVING, verified.words.rstrip("."))
    return _probed(work, change, plan)


def overdue(work: Work, change: Change, now: float, words: str) -> Move | None:
    """To `failed`, where what was written takes longer to come into effect than it may; None: it does not."""
    limit = work.settings.changes_rollout_seconds
    if change.applied_at is None or now < change.applied_at + limit:
        return None
    told = f"it is written, and not in effect after {format_seconds(limit)}: {words.rstrip('.')}"
    return to(change, State.FAILED, told, take_back(change))


def keep(work: Work, change: Change, now: float) -> Move:
    """From `observing`: nothing judges what came of it yet, so it is kept."""
    notes = (*change.notes, "not_judged: this version compares nothing before and after")
    words = change.outcome or "it is in effect"
    return to(replace(change, notes=notes), State.KEPT, f"kept: {words}")


def _probed(work: Work, change: Change, plan: Plan) -> Move:
    if not work.settings.probe_routing:
        notes = (*change.notes, "probe_off: TIERDECK_PROBE_ROUTING is off, so the strategy is not proved by behaviour")
        return to(replace(change, notes=notes), State.OBSERVING, "every pod carries it; it is not proved by behaviour")
    work.hold()
    work.seam.at("probing")
    try:
        proof = work.changer.probe(change.endpoint, plan.strategy)
    except TierdeckError as error:
        log.warning("probe_failed", change=change.id, reason=error.line())
        notes = (*change.notes, f"cannot_tell: {error.line()}")
        words = f"every pod carries it; whether it is in effect can't be told: {str(error).rstrip('.')}"
        return to(replace(change, notes=notes), State.OBSERVING, words)
    work.seam.at("probed")
    return _judged(change, proof)


def _judged(change: Change, proof: Proof) -> Move:
    evidence = "; ".join(one.rstrip(".") for one in proof.evidence[:2])
    before, proved = change.proof, replace(change, proof=proof)
    if proof.verdict is Verdict.EFFECTIVE:
        return to(proved, State.OBSERVING, f"{proof.wished} is in effect: {evidence}")
    if proof.verdict is Verdict.CANNOT_TELL and before is None and proof.requests:
        words = f"whether {proof.wished} is in effect can't be told: {evidence}"
        return Move(replace(proved, outcome=words), f"{words}; it is probed once more", AGAIN_SECONDS)
    if proof.verdict is Verdict.CANNOT_TELL:
        notes = (*change.notes, f"cannot_tell: {evidence}")
        words = f"every pod carries it; whether {proof.wished} is in effect can't be told: {evidence}"
        return to(replace(proved, notes=notes), State.OBSERVING, words)
    seen = f"it behaves like {proof.seen}" if proof.seen else "it behaves like none that is known"
    words = f"{proof.wished} is applied but not in effect: {seen} ({evidence})"
    if before is None or before.verdict is not Verdict.APPLIED_NOT_EFFECTIVE:
        return Move(replace(proved, outcome=words), f"{words}; it is probed once more", AGAIN_SECONDS)
    return to(proved, State.FAILED, words, take_back(change))


def _pause(age_seconds: float) -> float:
    """Between two looks: the longer it takes, the rarer."""
    return min(max(1.0, age_seconds * _SHARE_OF_AGE), _MOST_PAUSE_SECONDS)
