"""Which labels the series of an expression carry: as far as the expression alone tells."""

from __future__ import annotations

from dataclasses import dataclass

from collectors.lint.names import known
from collectors.lint.promql import (
    COMPARISONS,
    SET_OPERATORS,
    Aggregate,
    Binary,
    Call,
    Expr,
    Negative,
    Number,
    Range,
    Selector,
)

SCRAPED = frozenset(("instance", "job"))
"""Labels that Prometheus puts on every series that it scrapes."""

REPLICA = frozenset(("instance", "pod"))
"""Labels of which one alone names a replica."""

_NO_VECTOR = ("time", "scalar", "pi")
_UNTOLD = ("absent", "absent_over_time", "label_replace", "label_join", "info")


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of an expression's series.

    Attributes:
        exact: all of them; None where only `at_least` is known.
        at_least: some that every series has, with a value.
    """

    exact: frozenset[str] | None
    at_least: frozenset[str] = frozenset()


def labels(expr: Expr) -> Labels | None:
    """None for what is no vector, or tells nothing."""
    match expr:
        case Selector(name):
            return Labels(None, SCRAPED) if known(name) is not None else None
        case Range(selector):
            return labels(selector)
        case Negative(inner):
            return labels(inner)
        case Aggregate():
            return _aggregate(expr)
        case Call("vector", _):
            return Labels(frozenset())
        case Call("histogram_quantile", (_, inner)):
            below = labels(inner)
            return below if below is None or below.exact is None else Labels(below.exact - {"le"})
        case Call(function, arguments) if function not in (*_NO_VECTOR, *_UNTOLD):
            found = [below for below in map(labels, arguments) if below is not None]
            return found[0] if len(found) == 1 else None
        case Binary():
            return _binary(expr)
    return None


def _aggregate(node: Aggregate) -> Labels | None:
    if node.op in ("topk", "bottomk", "limitk", "limit_ratio"):
        return labels(node.expr)
    if node.op == "count_values":
        return None
    if not node.without:
        return Labels(frozenset(node.labels or ()))
    below = labels(node.expr)
    if below is None:
        return None
    dropped = frozenset(node.labels or ())
    return Labels(None if below.exact is None else below.exact - dropped, below.at_least - dropped)


def _binary(node: Binary) -> Labels | None:
    left, right = labels(node.left), labels(node.right)
    if node.op == "or":
        return left if left == right else None
    if node.op in ("and", "unless") or (node.op in COMPARISONS and not node.matching.group):
        return left
    if is_scalar(node.right):
        return left
    if is_scalar(node.left):
        return right
    if node.matching.group:
        return None
    if node.matching.on:
        return Labels(frozenset(node.matching.labels))
    if node.matching.on is False:
        return None
    return left if left is not None else right


def one_each(node: Aggregate) -> bool:
    """Whether each group of an aggregation is one series, or one replica's, so that nothing is mixed."""
    if node.without:
        return False
    kept, below = frozenset(node.labels or ()), labels(node.expr)
    if below is not None and below.exact is not None:
        return below.exact <= kept
    return bool(kept & REPLICA)


def is_scalar(expr: Expr) -> bool:
    """Whether an expression has no labels to match at all."""
    match expr:
        case Call("scalar" | "time" | "pi", _):
            return True
        case Negative(inner):
            return is_scalar(inner)
        case Binary(op, left, right):
            return op not in SET_OPERATORS and is_scalar(left) and is_scalar(right)
    return isinstance(expr, Number)
