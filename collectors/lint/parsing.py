"""PromQL text to a tree, by promql-parser."""

from __future__ import annotations

import promql_parser as upstream

from collectors.lint.promql import (
    Aggregate,
    Binary,
    Call,
    Expr,
    Matcher,
    Matching,
    Negative,
    Number,
    Range,
    Selector,
    Subquery,
    Text,
)
from tierdeck.errors import TierdeckError

MOST_TOKENS = 2000
"""Longer queries are not parsed: the parser recurses on the machine's stack and would end the process."""
DEEPEST = 150
"""Levels of a tree, so that walking it stays well within Python's stack."""

_OPERATORS = (
    (upstream.MatchOp.Equal, "="),
    (upstream.MatchOp.NotEqual, "!="),
    (upstream.MatchOp.Re, "=~"),
    (upstream.MatchOp.NotRe, "!~"),
)
_GROUPS = (
    (upstream.VectorMatchCardinality.ManyToOne, "left"),
    (upstream.VectorMatchCardinality.OneToMany, "right"),
)


class UnparsableError(TierdeckError):
    """Prometheus would refuse this query; the text is the parser's."""


class UnjudgedError(TierdeckError):
    """The query is beyond what is looked at, or hangs on what the file doesn't say."""


def parse(text: str) -> Expr:
    """Parse a query in which nothing of Grafana is left.

    Raises:
        UnparsableError: with the parser's message.
        UnjudgedError: it has too many tokens or levels.
    """
    if _tokens(text) > MOST_TOKENS:
        raise UnjudgedError(f"more than {MOST_TOKENS} tokens")
    try:
        return _convert(upstream.parse(text), DEEPEST)
    except ValueError as error:
        raise UnparsableError(" ".join(str(error).split())) from error


def _tokens(text: str) -> int:
    """Words and signs, strings counted as one: a bound on how deep a tree can get."""
    count, quote, in_word, escaped = 0, "", False, False
    for char in text:
        if quote:
            if escaped:
                escaped = False
            elif char == "\\" and quote != "`":
                escaped = True
            elif char == quote:
                quote = ""
        elif char in "\"'`":
            quote, in_word = char, False
            count += 1
        else:
            word = char.isalnum() or char in "_:."
            count += 0 if char.isspace() or (word and in_word) else 1
            in_word = word
    return count


def _convert(node: upstream.Expr, depth: int) -> Expr:  # noqa: C901  # one branch for each kind of node
    depth -= 1
    if depth < 0:
        raise UnjudgedError(f"nested more than {DEEPEST} levels deep")
    match node:
        case upstream.ParenExpr():
            return _convert(node.expr, depth)
        case upstream.NumberLiteral():
            return Number(node.val)
        case upstream.StringLiteral():
            return Text(node.val)
        case upstream.UnaryExpr():
            return Negative(_convert(node.expr, depth))
        case upstream.VectorSelector():
            return _selector(node)
        case upstream.MatrixSelector():
            return Range(_selector(node.vector_selector), node.range)
        case upstream.SubqueryExpr():
            if node.range is None:
                raise ValueError("a subquery needs a range")
            at = "" if node.at is None else str(node.at)
            return Subquery(_convert(node.expr, depth), node.range, node.step, node.offset, at)
        case upstream.Call():
            return Call(node.func.name, tuple(_convert(argument, depth) for argument in node.args))
        case upstream.AggregateExpr():
            labels = None if node.modifier is None else tuple(node.modifier.labels)
            without = node.modifier is not None and node.modifier.type == upstream.AggModifierType.Without
            parameter = None if node.param is None else _convert(node.param, depth)
            return Aggregate(str(node.op), _convert(node.expr, depth), labels, without, parameter)
        case upstream.BinaryExpr():
            return Binary(str(node.op), _convert(node.lhs, depth), _convert(node.rhs, depth), _matching(node.modifier))
    raise ValueError(f"a node of kind {type(node).__name__} is not known")


def _selector(node: upstream.VectorSelector) -> Selector:
    if node.matchers.or_matchers:
        raise ValueError("'or' between the matchers of a selector is not PromQL")
    matchers = [
        Matcher(found.name, next(sign for op, sign in _OPERATORS if op == found.op), found.value)
        for found in node.matchers.matchers
    ]
    name = node.name or ""
    for matcher in matchers:
        if not name and (matcher.name, matcher.op) == ("__name__", "="):
            name = matcher.value
    kept = tuple(found for found in matchers if (found.name, found.op) != ("__name__", "="))
    return Selector(name, kept, node.offset, "" if node.at is None else str(node.at))


def _matching(modifier: upstream.BinModifier | None) -> Matching:
    if modifier is None:
        return Matching()
    group = next((word for card, word in _GROUPS if card == modifier.card), "")
    clause = modifier.matching
    return Matching(
        on=None if clause is None else clause.type == upstream.LabelModifierType.Include,
        labels=() if clause is None else tuple(clause.labels),
        group=group,
        include=tuple(modifier.group_labels or ()),
        as_bool=modifier.return_bool,
        fills=(modifier.fill_values.lhs, modifier.fill_values.rhs),
    )
