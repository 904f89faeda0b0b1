"""The table of docs/lab.md that says which alert each fault raises, or why none."""

from __future__ import annotations

from lab.sim.expected_alerts import OF_CHANGES, OF_FAULTS, Expected, Raises

HEAD = ("what is done", "alert", "first cause", "where, or why none")


def alert_rows() -> list[tuple[str, ...]]:
    """Those that raise one first, in the order of the registry; then the quiet ones."""
    named = [
        *((f"`{name}`", one) for name, one in OF_FAULTS.items()),
        *((f"/admin: {name}", one) for name, one in OF_CHANGES.items()),
    ]
    return sorted((_row(what, one) for what, one in named), key=lambda row: not row[1])


def _row(what: str, one: Expected) -> tuple[str, ...]:
    if isinstance(one, Raises):
        rule, cause = one.rule, one.cause
        return what, f"[{rule.name}](alerts.md#{rule.anchor})", f"[{cause}](causes.md#{cause})", one.where
    return what, "", "", one.why
