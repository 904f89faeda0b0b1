"""The part of docs/alerts.md that is made from the registries of rules and causes."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.causes import CAUSES
from tierdeck.alerts.rule import Rule, Scope
from tierdeck.alerts.rules import RULES
from tierdeck.units import format_seconds

_AMONG = {
    Scope.SUBJECT: "of the same endpoint",
    Scope.CLUSTER: "of the same cluster; where it is about one endpoint, of that alone",
}


def alert_parts() -> Iterator[str]:
    """A section for each rule, headed by what its links point to."""
    for rule in RULES:
        yield f"### {rule.anchor}"
        yield f"**{rule.title}** ({rule.severity}; `{rule.name}`, in Alertmanager `{rule.alertname}`). {rule.meaning}"
        yield "\n".join(f"- {line}" for line in _facts(rule))
        yield "What to do:"
        yield "\n".join(f"{number}. {step}" for number, step in enumerate(rule.advice, start=1))


def _facts(rule: Rule) -> Iterator[str]:
    after = f"its condition has held for {format_seconds(rule.hold_seconds)}" if rule.hold_seconds else "it holds"
    yield f"Fires when {after}; resolves once it has looked well for {format_seconds(rule.clear_seconds)}."
    causes = [f"[{cause.name}](causes.md#{cause.name})" for cause in CAUSES if rule.name in cause.rules]
    if causes:
        yield f"Causes that are looked for: {', '.join(causes)}."
    if rule.inhibits:
        names = ", ".join(f"`{name}`" for name in rule.inhibits)
        yield f"While it fires, these are not said, as they follow from it: {names}, {_AMONG[rule.scope]}."
