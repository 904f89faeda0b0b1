"""The plan that writes back what a change found: its stored fields, never an older revision of the whole object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from controller.changes.kube.fields import Path, get, picked, same
from controller.changes.kube.ownership import holders
from controller.changes.kube.writer import in_words
from controller.changes.planner import Reader
from controller.reading.commands import Command
from tierdeck.changes.change import Change
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Json, Plan, Refusal, Surface, Write

_NO_PLAN = "change {id} has no stored plan: nothing is known of what it wrote"


def plan_back(reverted: Change, reader: Reader) -> Plan | tuple[Refusal, ...]:
    """What was there before a change; or why it can't be written back.

    Raises:
        TierdeckError: of a kind of `controller.api.errors`.
    """
    if reverted.preview is None:
        return (Refusal("not_possible", _NO_PLAN.format(id=reverted.id)),)
    plan = reverted.preview.plan
    writes = tuple(_back(write) for write in reversed(plan.writes))
    never = {edit.path: edit.before for write in plan.writes for edit in write.edits if edit.back is not None}
    refusals = [refusal for write in writes for refusal in _strange(write, reader, never)]
    if refusals:
        return tuple(refusals)
    if not any(_is_to_do(write, reader) for write in writes):
        return (Refusal("nothing_to_do", f"all that change {reverted.id} wrote is as it was before"),)
    edits = [edit for write in writes for edit in write.edits]
    written = {write.ref for write in writes}
    backs = [back for one in plan.carries if (back := _carried_back(one, edits)) is not None]
    carries = tuple(one for one in backs if one.workload in written or not _is_default(one))
    strategy = reverted.was.get("strategy", "") if plan.strategy else ""
    said = plan.back_warnings
    return replace(
        plan, writes=writes, carries=carries, strategy=strategy, warnings=said, exports_only="", back_warnings=()
    )


def _back(write: Write) -> Write:
    edits = tuple(FieldEdit(edit.path, edit.after, _before(edit)) for edit in reversed(write.edits))
    return replace(write, edits=edits)


def _before(edit: FieldEdit) -> Json:
    return edit.before if edit.back is None else edit.back


def _strange(write: Write, reader: Reader, never: Mapping[Path, Json]) -> list[Refusal]:
    """Fields that are not what the change left there, nor what they are to be again.

    Args:
        never: what stood in a field that goes back to something else, by path: the change may not have got so far.
    """
    if write.surface is not Surface.KUBERNETES:
        return []  # its own writer looks before it writes
    live = reader.get(write.ref)
    if live is None:
        return [Refusal("changed_meanwhile", f"{write.ref} is not there any more")]
    found = []
    for edit in write.edits:
        now = get(live, edit.path)
        known = (edit.before, edit.after, never.get(edit.path, edit.before))
        if not any(same(now, one, edit.path) for one in known):
            who = [one.manager for one in holders(live, edit.path)]
            by = f", by {who[-1]}" if who else ""
            reason = f"{edit.where} of {write.ref} is {in_words(edit, now)}{by}: not what the change wrote"
            found.append(
                Refusal("changed_meanwhile", reason, f"Propose a change from what is there to {_wanted(edit)}.")
            )
    return found


def _wanted(edit: FieldEdit) -> str:
    return "a default" if edit.after is ABSENT else in_words(edit, edit.after)


def _is_to_do(write: Write, reader: Reader) -> bool:
    if write.surface is not Surface.KUBERNETES:
        return True
    live = reader.get(write.ref) or {}
    return any(not same(get(live, edit.path), edit.after, edit.path) for edit in write.edits)


def _carried_back(carried: Carried, edits: Sequence[FieldEdit]) -> Carried | None:
    """What pods carry once the edits are made; None where the edits don't tell."""
    for edit in edits:
        known, value = _stated(carried, edit.path, edit.after)
        if known:
            return replace(carried, value=value)
    return None


def _is_default(carried: Carried) -> bool:
    """A variable that is stated no more: an operator may render one of its own, so nothing is expected of pods."""
    return carried.kind is Carrying.ENVIRONMENT and carried.value is None


def _stated(carried: Carried, path: Path, after: Json) -> tuple[bool, str | None]:
    """Whether a field tells a flag or variable, and its value; None: it is not there."""
    if carried.kind is Carrying.ARGUMENT:
        is_words = isinstance(after, list) and all(isinstance(one, str) for one in after)
        if (not is_words and after is not ABSENT) or path[-1] not in ("args", "command", "extraArgs"):
            return False, None
        found = Command(tuple(str(one) for one in after) if isinstance(after, list) else ()).get(carried.name)
        return True, None if found is None else found.value
    by = [picked(part) for part in path[-2:]]
    if path[-1] == "value" and by[0] == {"name": carried.name}:
        return True, None if after is ABSENT else str(after)
    if by[-1] == {"name": carried.name}:
        return True, str(after["value"]) if isinstance(after, dict) and "value" in after else None
    if isinstance(after, list) and path[-1] in ("env", "environmentVariables"):
        values = [one.get("value") for one in after if isinstance(one, dict) and one.get("name") == carried.name]
        return True, str(values[-1]) if values else None
    return False, None
