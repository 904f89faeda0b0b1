"""Alerting and recording rules: groups of a rule file, of a PrometheusRule, or of Grafana's own alerting."""

from __future__ import annotations

from collectors.lint.found import Expression, Found, items, mapping, text


def is_rule_file(document: dict[str, object]) -> bool:
    """Whether a mapping holds groups of rules."""
    groups = document.get("groups")
    return isinstance(groups, list) and all(isinstance(group, dict) and "rules" in group for group in groups)


def read_rules(document: dict[str, object], found: Found) -> None:
    """Add the expressions of all groups."""
    for group in items(document.get("groups")):
        for rule in items(group.get("rules")):
            _read_rule(text(group.get("name")), rule, found)


def _read_rule(group: str, rule: dict[str, object], found: Found) -> None:
    expr = text(rule.get("expr"))
    alert = text(rule.get("alert"))
    record = "" if alert else text(rule.get("record"))
    kind, name = ("alert", alert) if alert else ("record", record or text(rule.get("title")))
    where = f'group "{group}", {kind} "{name}"'
    if expr.strip():
        notes = mapping(rule.get("annotations"))
        words = " ".join((name, *(text(note) for note in notes.values()))).lower()
        found.expressions.append(Expression(where, expr, alert=bool(alert), record=record, words=words))
    for step in items(rule.get("data")):
        model = mapping(step.get("model"))
        inner = text(model.get("expr"))
        if inner.strip():
            ref = text(step.get("refId"))
            # Grafana's variables of time, such as $__rate_interval, are filled here too
            found.expressions.append(Expression(f"{where}, query {ref}", inner, board=True, surely_prometheus=False))
