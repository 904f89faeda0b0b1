"""Changes as people make them: proposed once per key, one open of an endpoint, approved, cancelled; all audited."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects import postgresql, sqlite

from db.change_rows import AT_ONCE, NOBODY, add_step, change_of, is_unreadable, read_change, values_of
from db.change_schema import changes
from db.declarations import record
from tierdeck.changes.change import NEXT, Change, State, Step
from tierdeck.errors import UsageError

_PROPOSED = (
    "cluster", "endpoint", "wish", "by", "reason", "key", "proposed_at", "was", "reverts", "is_approved_at_once",
)  # fmt: skip
"""What a proposer says; all else is the store's and the controller's."""
_LIST = "`tierdeck changes` lists them."


def write_proposal(connection: Connection, change: Change) -> Change:
    """As stored, with its id; of a key that is known the first one, as it is now.

    Raises:
        UsageError: another change of the endpoint is open; what is to be reverted is not there, not over, or another
            endpoint's.
    """
    new = Change(**{name: getattr(change, name) for name in _PROPOSED})
    first = _of_key(connection, new)
    if first is not None:
        return first
    _check_revert(connection, new)
    values = values_of(new) | {"key": new.key, "made_by": new.by, "proposed_at": new.proposed_at}
    values |= {"cluster": new.cluster, "endpoint": new.endpoint, "due_at": AT_ONCE}
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    added = dialect.insert(changes).values(values).on_conflict_do_nothing().returning(changes.c.id)
    number: int | None = connection.execute(added).scalar()
    if number is None:
        return _of_key(connection, new) or _refuse_second(connection, new)
    stored = replace(new, id=number)
    words = f"{new.by} proposes {new.wish.text}" if new.reverts is None else f"{new.by} reverts change {new.reverts}"
    add_step(connection, Step(number, new.proposed_at, State.PROPOSED, new.by, words))
    _record(connection, new.by, "propose_change", stored)
    return stored


def write_approval(
    connection: Connection, number: int, by: str, at: float, *, seen_at: float | None, reason: str
) -> Change:
    """Approved as it was previewed.

    Args:
        seen_at: of the preview that was looked at; None: the one that is there is meant.
        reason: why, where the approver says it; empty: what the proposer said stays.

    Raises:
        UsageError: no such change, nothing of it can be approved now, or its preview is another one by now.
    """
    change = _locked(connection, number)
    if change.state is not State.PREVIEWED:
        raise UsageError(f"change {number} can't be approved: it is {_state_words(change)}", _approval_hint(change))
    preview = change.preview
    if preview is not None and preview.plan.exports_only:
        why = preview.plan.exports_only
        raise UsageError(f"change {number} can't be made from here: {why}", f"`tierdeck export-change {number}`.")
    if seen_at is not None and preview is not None and preview.at != seen_at:
        message = f"the preview of change {number} is another one by now"
        raise UsageError(message, "Look at it again before you approve it.")
    after = replace(change, state=State.APPROVED, approved_by=by, approved_at=at, outcome="", next_step="")
    after = replace(after, reason=reason or change.reason)
    _take(connection, after)
    add_step(connection, Step(number, at, State.APPROVED, by, f"{by} approves it as previewed"))
    _record(connection, by, "approve_change", after)
    return after


def write_cancellation(connection: Connection, number: int, by: str, at: float) -> Change:
    """Cancelled before anything was written.

    Raises:
        UsageError: no such change, or it is over, or something is being written.
    """
    change = _locked(connection, number)
    if State.CANCELLED not in NEXT[change.state]:
        hint = "" if change.state.is_over else f"Let it end; then `tierdeck revert {number}` takes it back."
        raise UsageError(f"change {number} can't be cancelled: it is {_state_words(change)}", hint)
    after = replace(change, state=State.CANCELLED, ended_at=at, outcome=f"{by} cancelled it", next_step="")
    _take(connection, after)
    add_step(connection, Step(number, at, State.CANCELLED, by, f"{by} cancels it"))
    _record(connection, by, "cancel_change", after)
    return after


def _of_key(connection: Connection, change: Change) -> Change | None:
    same = (changes.c.cluster == change.cluster, changes.c.key == change.key)
    row = connection.execute(select(changes).where(*same)).first()
    return None if row is None else change_of(row)


def _refuse_second(connection: Connection, change: Change) -> Change:
    mine = (changes.c.cluster == change.cluster, changes.c.endpoint == change.endpoint, changes.c.ended_at.is_(None))
    row = connection.execute(select(changes.c.id, changes.c.made_by, changes.c.state).where(*mine)).first()
    if row is None:
        raise UsageError(f"another change of {change.endpoint} ended just now", "Look at it, then propose again.")
    message = f"{change.endpoint} has a change that is not over: change {row.id} of {row.made_by}, {row.state}"
    raise UsageError(message, f"Wait for its end, or `tierdeck cancel {row.id}`.")


def _check_revert(connection: Connection, change: Change) -> None:
    if change.reverts is None:
        return
    reverted = read_change(connection, change.reverts)
    if reverted is None:
        raise UsageError(f"there is no change {change.reverts}", _LIST)
    if (reverted.cluster, reverted.endpoint) != (change.cluster, change.endpoint):
        raise UsageError(f"change {change.reverts} was one of {reverted.endpoint}, not of {change.endpoint}", _LIST)
    if reverted.state not in (State.KEPT, State.ROLLED_BACK, State.FAILED) or reverted.preview is None:
        raise UsageError(f"change {change.reverts} can't be reverted: it is {_state_words(reverted)}", _LIST)


def _locked(connection: Connection, number: int) -> Change:
    row = connection.execute(select(changes).where(changes.c.id == number).with_for_update()).first()
    if row is None:
        raise UsageError(f"there is no change {number}", _LIST)
    found = change_of(row)
    if is_unreadable(found):
        raise UsageError(f"this version can't read change {number}", found.next_step)
    return found


def _take(connection: Connection, change: Change) -> None:
    """Write it, and take it from whoever works on it: what they were about to write is out of date."""
    values = {**values_of(change), "due_at": AT_ONCE, **NOBODY}
    connection.execute(update(changes).where(changes.c.id == change.id).values(values))


def _record(connection: Connection, actor: str, action: str, change: Change) -> None:
    detail = {"cluster": change.cluster, "endpoint": change.endpoint, "wish": change.wish.text, "reason": change.reason}
    detail |= {} if change.reverts is None else {"reverts": str(change.reverts)}
    record(connection, actor, action, f"change {change.id}", detail)


def _state_words(change: Change) -> str:
    return f"{change.state.value.replace('_', ' ')} already" if change.state.is_over else change.state.value


def _approval_hint(change: Change) -> str:
    waits = change.state is State.PROPOSED
    return "The controller has to preview it first; if it does not, is it running?" if waits else ""
