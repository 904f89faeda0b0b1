"""A change as a JSON document; its shape stands in docs/cli.md."""

from __future__ import annotations

from collections.abc import Sequence

from console.alert_document import instant
from console.change_words import cost_words, from_words, note_words, progress_words, to_words
from tierdeck.changes.change import Change, State, Step
from tierdeck.changes.export import visible
from tierdeck.changes.plan import ABSENT, FieldEdit, Preview, Write
from tierdeck.changes.proof import Proof
from tierdeck.changes.wish import Wish

_NO_PREVIEW = "the controller has not looked yet"
_NO_PROOF = "no probe has told anything of it"
_NOT_JUDGED = "whether it helped is not judged"


def change_document(change: Change) -> dict[str, object]:
    """All of it but its history; every null that is a want of knowledge has its reason under its key in `why`."""
    return _head(change) | {
        "preview": None if change.preview is None else _preview(change.preview),
        "refusals": [{"code": one.code, "reason": one.reason, "fix": one.fix} for one in change.refusals],
        "proof": None if change.proof is None else proof_document(change.proof),
        "why": _why(change),
    }


def brief_document(change: Change) -> dict[str, object]:
    """As it stands in a list: without the preview, the refusals and the proof's evidence."""
    return _head(change) | {"proof": None if change.proof is None else {"verdict": str(change.proof.verdict)}}


def steps_document(steps: Sequence[Step]) -> list[dict[str, object]]:
    """A change's history, the oldest first."""
    return [{"at": instant(one.at), "state": str(one.state), "by": one.by, "words": one.words} for one in steps]


def proof_document(proof: Proof) -> dict[str, object]:
    """One probe."""
    return {
        "verdict": str(proof.verdict),
        "evidence": list(proof.evidence),
        "wished": proof.wished or None,
        "seen": proof.seen or None,
        "requests": proof.requests,
        "seconds": proof.seconds,
        "at": instant(proof.at),
    }


def _head(change: Change) -> dict[str, object]:
    return {
        "id": change.id,
        "cluster": change.cluster,
        "endpoint": change.endpoint,
        "state": str(change.state),
        "from": from_words(change),
        "to": to_words(change),
        "wish": _wish(change.wish),
        "was": dict(change.was),
        "reverts": change.reverts,
        "by": change.by,
        "reason": change.reason,
        "proposed_at": instant(change.proposed_at),
        "approved_by": change.approved_by or None,
        "approved_at": instant(change.approved_at),
        "ended_at": instant(change.ended_at),
        "verdict": None,
        "words": progress_words(change),
        "outcome": change.outcome,
        "next_step": change.next_step,
        "notes": [_note(one) for one in change.notes],
    }


def _why(change: Change) -> dict[str, str]:
    found = {"preview": _NO_PREVIEW} if change.preview is None else {}
    found |= {"proof": _no_proof(change)} if change.proof is None else {}
    return found | {"verdict": _NOT_JUDGED}


def _no_proof(change: Change) -> str:
    off = [one for one in change.notes if one.startswith("probe_off")]
    if off:
        return note_words(off[0]).rstrip(".")
    if change.preview is not None and not change.preview.plan.strategy:
        return "it changes no strategy"
    return "it is not in effect yet" if not change.state.is_over else _NO_PROOF


def _wish(wish: Wish) -> dict[str, object]:
    l0 = wish.l0
    return {
        "strategy": wish.strategy or None,
        "l0": None if l0 is None else {"share": l0.share, "bytes": l0.size_bytes, "blocks": l0.blocks},
        "l1_bytes": wish.l1_bytes,
        "l2_bytes": wish.l2_bytes,
        "salt": wish.salt or None,
    }


def _note(note: str) -> dict[str, str]:
    code, _, detail = note.partition(":")
    return {"code": code.strip(), "detail": detail.strip() or note_words(note)}


def _preview(preview: Preview) -> dict[str, object]:
    plan = preview.plan
    return {
        "at": instant(preview.at),
        "diff": preview.diff,
        "writes": [_write(one) for one in plan.writes],
        "restarts": [str(one) for one in plan.restarts],
        "loses": [tier.value for tier in plan.loses],
        "cost": " ".join(cost_words(plan)),
        "warnings": list(plan.warnings),
        "proves": plan.strategy or None,
        "exports_only": plan.exports_only or None,
    }


def _write(write: Write) -> dict[str, object]:
    return {
        "object": {"kind": write.ref.kind, "namespace": write.ref.namespace, "name": write.ref.name},
        "surface": str(write.surface),
        "why": write.why,
        "fields": [_field(one) for one in write.edits],
    }


def _field(edit: FieldEdit) -> dict[str, object]:
    """`before` or `after` is missing where the field is not there; null is a value. What is secret is not shown."""
    sides = {"before": visible(edit, edit.before), "after": visible(edit, edit.after)}
    return {"where": edit.where} | {name: value for name, value in sides.items() if value is not ABSENT}


def is_success(state: State) -> bool:
    """What a change has come to is what was asked for, or still may be."""
    return state not in (State.REFUSED, State.FAILED, State.CANCELLED, State.ROLLED_BACK)
