"""The steps of a change before anything is written: planned, previewed, approved, and looked at once more."""

from __future__ import annotations

from dataclasses import replace

from controller.changes.changer import DeniedError, StoppedError
from controller.changes.move import Move, Work, refused, to
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Plan, Preview, Refusal

UNAPPROVED_SECONDS = 24 * 3600.0
"""A proposal that nobody approves is cancelled."""
APPROVAL_SECONDS = 3600.0
"""An approval that could not be acted upon has to be given again."""
_UNITS = frozenset({"B", "KiB", "MiB", "GiB", "TiB", "i", "are"})
"""And what goes with numbers."""


def propose(work: Work, change: Change, now: float) -> Move:
    """From `proposed`: plan and preview, or refuse."""
    if now >= change.proposed_at + UNAPPROVED_SECONDS:
        words = f"it could not be previewed within 24 h: {change.outcome or 'no controller looked at it'}"
        return to(change, State.CANCELLED, words, "Propose it again.")
    frozen = work.policy.frozen(change, now)
    if frozen is not None:
        return refused(change, (frozen,))
    planned = _planned(work, change)
    if not isinstance(planned, Plan):
        return refused(change, planned)
    return _previewed(work, change, planned, now, "")


def await_approval(work: Work, change: Change, now: float) -> Move:
    """From `previewed`: nobody approved it so far."""
    due_at = (change.preview.at if change.preview is not None else change.proposed_at) + UNAPPROVED_SECONDS
    if now >= due_at:
        return to(change, State.CANCELLED, "nobody approved it within 24 h", "Propose it again.")
    return Move(change, "", due_at - now)


def is_approved_at_once(work: Work, change: Change) -> bool:
    """Who proposed it wanted no second look, and nobody else has to have one."""
    can_be = change.preview is not None and not change.preview.plan.exports_only
    return change.is_approved_at_once and can_be and not work.policy.needs_another(change, change.by)


def begin(work: Work, change: Change, now: float) -> Move:
    """From `approved`: look once more at what is there, and begin; or go back to the preview with the reason."""
    planned = _planned(work, change)
    if not isinstance(planned, Plan):
        return refused(change, planned)
    reason = _not_now(work, change, now) or _differs(change, planned)
    if reason:
        return _previewed(work, change, planned, now, reason)
    return to(change, State.APPLYING, f"it is being written, as {change.approved_by} approved it")


def _planned(work: Work, change: Change) -> Plan | tuple[Refusal, ...]:
    """How it would be made on what is there now, and may be."""
    refusals = work.policy.wish_refusals(change)
    if refusals:
        return refusals
    reverted = work.find(change.reverts) if change.reverts is not None else None
    if change.reverts is not None and reverted is None:
        return (Refusal("not_possible", f"There is no change {change.reverts} to be reverted."),)
    if reverted is not None and (reverted.endpoint, reverted.state.is_over) != (change.endpoint, True):
        reason = f"Change {change.reverts} is one of {reverted.endpoint}, {reverted.state}: it can't be reverted here."
        return (Refusal("not_possible", reason),)
    planned = work.changer.plan(change, reverted)
    work.seam.at("planned")
    if not isinstance(planned, Plan):
        return planned
    refusals = (*work.policy.plan_refusals(change, planned), *work.policy.busy(change, planned))
    return refusals or planned


def _previewed(work: Work, change: Change, plan: Plan, now: float, reason: str) -> Move:
    """To `previewed`, with what the server answers to its dry run.

    Args:
        reason: why it is previewed anew though it was approved: whoever approved it has to look again.
    """
    try:
        preview = work.changer.preview(plan, now)
    except StoppedError as error:
        if not plan.exports_only:
            code = "denied" if isinstance(error, DeniedError) else "changed_meanwhile"
            return refused(change, (Refusal(code, f"{error}.", error.hint),))
        preview = Preview(plan, "", now)  # it can't be written here, and is only shown
    work.seam.at("previewed")
    if plan.exports_only:
        outcome, next_step = plan.exports_only, f"`tierdeck export-change {change.id}` says what to commit."
    elif reason:
        outcome, next_step = f"{reason}: look at it, and approve it again", f"`tierdeck approve {change.id}`"
    elif is_approved_at_once(work, replace(change, preview=preview)):
        outcome, next_step = "it goes on without a second look", ""
    else:
        outcome, next_step = "it waits for approval", f"`tierdeck approve {change.id}`"
    fields = sum(len(write.edits) for write in plan.writes)
    told = f"previewed: {_counted(fields, 'field')} of {_counted(len(plan.writes), 'object')}"
    moved = to(replace(change, preview=preview), State.PREVIEWED, outcome, next_step).change
    if reason:
        moved = replace(moved, approved_by="", approved_at=None, is_approved_at_once=False)
    return Move(moved, f"{told}; {outcome}")


def _not_now(work: Work, change: Change, now: float) -> str:
    """Why the approval does not count now; empty: it does."""
    if change.approved_at is None or not change.approved_by:
        return "nobody approved it"
    if now >= change.approved_at + APPROVAL_SECONDS:
        return "the approval is more than an hour old"
    frozen = work.policy.frozen(change, now)
    if frozen is not None:
        return frozen.reason.rstrip(".")
    return work.policy.needs_another(change, change.approved_by)


def _differs(change: Change, plan: Plan) -> str:
    if plan.exports_only:
        return plan.exports_only.rstrip(".")
    approved = change.preview.plan if change.preview is not None else Plan(())
    if approved.writes != plan.writes or approved.strategy != plan.strategy:
        return "what would be written is no longer what was approved"
    for ref in plan.restarts:
        if ref not in approved.restarts:
            return f"{ref} would restart too, which nobody approved"
    for tier in plan.loses:
        if tier not in approved.loses:
            return f"{tier} would be lost too, which nobody approved"
    known = {_gist(one) for one in approved.warnings}
    new = next((one for one in plan.warnings if _gist(one) not in known), "")
    return f"there is a warning that nobody has seen: {new.rstrip('.')}" if new else ""


def _gist(warning: str) -> str:
    """A warning without its numbers and names, which differ from one look to the next."""
    words = (word.strip(".,;:()").removesuffix("s") for word in warning.split())
    return " ".join(word for word in words if word.isalpha() and word not in _UNITS)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
