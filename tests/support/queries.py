"""Queries for the linter's tests: a text with its surroundings, judged."""

from __future__ import annotations

from collectors.lint.linter import Finding, findings
from collectors.lint.promql import Selector, selectors
from collectors.lint.query import Query
from collectors.lint.variables import parse_with_variables


def query(
    text: str, *, unit: str = "", alert: bool = False, board: bool = False, words: str = "", router: bool = False
) -> Query:
    """A query as the readers of files make it."""
    tree, variables = parse_with_variables(text, {})
    return Query("here", text, tree, variables, unit, alert=alert, board=board, words=words, router=router)


def judge(
    text: str, *, unit: str = "", alert: bool = False, board: bool = False, words: str = "", router: bool = False
) -> list[Finding]:
    """Its findings."""
    return findings(query(text, unit=unit, alert=alert, board=board, words=words, router=router))


def selections(text: str) -> set[tuple[str, str, str]]:
    """Every condition on a label in a query."""
    found: list[Selector] = selectors(parse_with_variables(text, {})[0])
    return {(matcher.name, matcher.op, matcher.value) for selector in found for matcher in selector.matchers}
