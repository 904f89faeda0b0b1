"""Runs the rules over queries, and corrects a query until no rule objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from collectors.lint.promql import Expr
from collectors.lint.query import Fault, Query, Rule
from collectors.lint.rules import RULES

_MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault as told.

    Attributes:
        rule: its code.
        where: the place in the file.
        expression: the query as the file has it.
        says: what is wrong.
        right: the query with this and all its other faults corrected, under which no rule objects;
            None where nobody can say what was meant.
    """

    rule: str
    where: str
    expression: str
    says: str
    right: str | None


def findings(query: Query) -> list[Finding]:
    """All faults of a query, each once."""
    found = list(dict.fromkeys((rule.code, fault.says) for rule, fault in faults(query)))
    if not found:
        return []
    right = corrected(query)
    text = None
    if right is not None and not query.variables.lost:
        text = query.before + query.variables.text(right) + query.after
    whole = query.before + query.text + query.after
    return [Finding(code, query.where, whole, says, text) for code, says in found]


def faults(query: Query) -> Iterator[tuple[Rule, Fault]]:
    """The faults in a query as it stands."""
    for rule in RULES:
        for fault in rule.check(query):
            yield rule, fault


def corrected(query: Query) -> Expr | None:
    """The tree with one fault after the other corrected; None where one can't be."""
    for _ in range(_MOST_STEPS):
        fault = next((fault for _, fault in faults(query)), None)
        if fault is None:
            return query.tree
        if fault.fixed is None:
            return None
        query = replace(query, tree=fault.fixed)
    return None
