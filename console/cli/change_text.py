"""A change's document as text for people."""

from __future__ import annotations

from typing import Any

from console.change_words import state_words
from console.cli.tables import grid
from tierdeck.changes.change import State


def changes(document: dict[str, Any]) -> str:
    """One line each, the newest first."""
    rows = [
        [
            str(one["id"]),
            _moment(one["proposed_at"]),
            one["endpoint"],
            asks(one),
            state_words(State(one["state"])),
            one["by"],
            _verdict(one["proof"]),
        ]
        for one in document["changes"]
    ]
    if not rows:
        return "No change yet. `tierdeck route ENDPOINT STRATEGY --dry-run` shows what one would write."
    return grid(["id", "proposed (UTC)", "endpoint", "change", "state", "by", "proof"], rows)


def change(document: dict[str, Any]) -> str:
    """Everything about one."""
    one = document["change"]
    parts = [headline(one), "\n".join(_facts(one)), preview(one), proof(one), _notes(one), _steps(one)]
    return "\n\n".join(part for part in parts if part)


def headline(one: dict[str, Any]) -> str:
    """`◇ waits for approval  change 12 of inference/chat: prefixaware → roundrobin`, and in a sentence why."""
    return f"{state_words(State(one['state']))}  {asked(one)}\n{one['words']}"


def asked(one: dict[str, Any]) -> str:
    """`change 12 of inference/chat: prefixaware → roundrobin`."""
    return f"change {one['id']} of {one['endpoint']}: {asks(one)}"


def preview(one: dict[str, Any]) -> str:
    """What would be written, what it costs, what to know before; empty: nothing is known yet."""
    found = one["preview"]
    if found is None:
        return ""
    lines = [found["diff"].rstrip("\n") or _fields(found), found["cost"]]
    lines += [f"! {warning}" for warning in found["warnings"]]
    return "\n".join(line for line in lines if line)


def asks(one: dict[str, Any]) -> str:
    back = f" (reverts {one['reverts']})" if one["reverts"] is not None else ""
    return f"{one['from']} → {one['to']}{back}"


def _facts(one: dict[str, Any]) -> list[str]:
    why = f": {one['reason']}" if one["reason"] else ""
    lines = [f"proposed by {one['by']} at {_moment(one['proposed_at'])} UTC{why}"]
    if one["approved_at"] is not None:
        lines.append(f"approved by {one['approved_by']} at {_moment(one['approved_at'])} UTC")
    return lines


def _fields(found: dict[str, Any]) -> str:
    """Of what is no Kubernetes object, and has no diff."""
    return "\n".join(
        f"{write['object']['kind']} {write['object']['name']} {field['where']}: "
        f"{field.get('before', '(not there)')} → {field.get('after', '(not there)')}"
        for write in found["writes"]
        for field in write["fields"]
    )


def proof(one: dict[str, Any]) -> str:
    """Where requests landed; empty: nothing is known yet."""
    found = one["proof"]
    if found is None:
        return ""
    many = f"{found['requests']} requests in {found['seconds']:.1f} s"
    return "\n".join([f"proof: {_verdict(found)} ({many})", *(f"  {line}" for line in found["evidence"])])


def _verdict(found: dict[str, Any] | None) -> str:
    return "" if found is None else str(found["verdict"]).replace("_", " ")


def _notes(one: dict[str, Any]) -> str:
    return "\n".join(f"note {note['code']}: {note['detail']}" for note in one["notes"])


def _steps(one: dict[str, Any]) -> str:
    rows = [[_moment(step["at"]), step["state"], step["by"], step["words"]] for step in one.get("steps", [])]
    return grid(["time (UTC)", "state", "by", "what happened"], rows) if rows else ""


def _moment(at: str) -> str:
    return at[:19].replace("T", " ")
