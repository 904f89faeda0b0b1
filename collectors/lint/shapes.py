"""Shapes that rules look for: what a ratio divides, and what stands around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from collectors.lint.names import Known, known
from collectors.lint.promql import (
    COMPARISONS,
    Aggregate,
    Binary,
    Call,
    Expr,
    Negative,
    Number,
    Range,
    Selector,
    Subquery,
    put,
    walk,
)

RATES = ("rate", "irate", "increase")
_KEEPS_ONE = ("clamp", "clamp_min", "clamp_max", "label_replace", "label_join", "sort", "sort_desc", "round", "abs")
_SUMS = ("sum", "avg", "min", "max")


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a division, taken apart.

    Attributes:
        core: what is left without scaling, floors, guards and functions of the value.
        rate: the function that makes a counter a rate; empty without one.
        aggregates: from the outermost inwards.
        floored: a tiny number is added, or it is clamped from below, so that it is never 0.
        guarded: kept only where it exceeds a number.
        scaled: multiplied or divided by a number.
    """

    core: Expr
    selector: Selector
    rate: str
    aggregates: tuple[Aggregate, ...] = ()
    floored: bool = False
    guarded: bool = False
    scaled: bool = False

    @property
    def known(self) -> Known | None:
        return known(self.selector.name)

    @property
    def role(self) -> str:
        return "" if self.known is None else self.known.role


@dataclass(frozen=True, slots=True)
class Ratio:
    """A division of two operands."""

    node: Binary
    top: Operand
    bottom: Operand

    @property
    def is_hit_ratio(self) -> bool:
        return (self.top.role, self.bottom.role) == ("hits", "lookups")


def operand(expr: Expr) -> Operand | None:
    """One side of a division; None where it is no single metric."""
    match expr:
        case Binary(("+" | "-") as op, inner, Number(value)) | Binary(("+" as op), Number(value), inner):
            found = operand(inner)
            return None if found is None or abs(value) > 1 else replace(found, floored=found.floored or op == "+")
        case Binary("*" | "/", inner, Number()) | Binary("*", Number(), inner):
            found = operand(inner)
            return None if found is None else replace(found, scaled=True)
        case Binary(op, inner, Number()) if op in COMPARISONS and not expr.matching.as_bool:
            found = operand(inner)
            return None if found is None else replace(found, guarded=True)
        case Binary("or", left, right):
            return _either(left, right)
        case Call(function, (inner, *_)) if function in _KEEPS_ONE:
            found = operand(inner)
            floored = function in ("clamp_min", "clamp")
            return None if found is None else replace(found, floored=found.floored or floored)
    return _core(expr)


def _either(left: Expr, right: Expr) -> Operand | None:
    """`a or b`: the first, where the other is the same under another name or a constant."""
    found, other = operand(left), operand(right)
    if found is None or (isinstance(right, Call) and right.function == "vector"):
        return found
    if other is None or found.known is None or other.known is None:
        return None
    same = found.known.base == other.known.base
    return found if same else None


def _core(expr: Expr) -> Operand | None:
    aggregates: list[Aggregate] = []
    node = expr
    while isinstance(node, Aggregate) and node.op in _SUMS:
        aggregates.append(node)
        node = node.expr
    match node:
        case Selector():
            return Operand(expr, node, "", tuple(aggregates))
        case Call(function, (Range(selector),)) if function in RATES:
            return Operand(expr, selector, function, tuple(aggregates))
        case Binary("or", left, right) if aggregates:
            found = _either(left, right)
            return None if found is None else replace(found, core=expr, aggregates=(*aggregates, *found.aggregates))
    return None


def ratio(expr: Expr) -> Ratio | None:
    """The division that an expression is, if it divides two single metrics."""
    if not isinstance(expr, Binary) or expr.op != "/":
        return None
    top, bottom = operand(expr.left), operand(expr.right)
    return Ratio(expr, top, bottom) if top is not None and bottom is not None else None


def ratios(tree: Expr) -> Iterator[Ratio]:
    """All divisions of two single metrics."""
    for node in walk(tree):
        found = ratio(node)
        if found is not None:
            yield found


def beneath_numbers(expr: Expr) -> Expr:
    """An expression without what scales or clamps it."""
    match expr:
        case Binary("*" | "/", inner, Number()) | Binary("*", Number(), inner):
            return beneath_numbers(inner)
        case Call(function, (inner, *_)) if function in _KEEPS_ONE:
            return beneath_numbers(inner)
        case Binary(op, inner, Number()) if op in COMPARISONS:
            return beneath_numbers(inner)
    return expr


def is_fraction(expr: Expr) -> bool:
    """Whether a value is known to lie between 0 and 1, scaling left aside."""
    inner = beneath_numbers(expr)
    match inner:
        case Selector(name):
            found = known(name)
            return found is not None and found.fraction
        case Aggregate(op, below) if op in ("avg", "min", "max", "topk", "bottomk", "quantile"):
            return is_fraction(below)
        case Binary("-", Number(1.0), below):
            return is_fraction(below)
        case Binary("or" | "and" | "unless", left, _):
            return is_fraction(left)
        case Call(("avg_over_time" | "max_over_time" | "min_over_time" | "last_over_time"), (below,)):
            return is_fraction(below.selector if isinstance(below, Range) else below)
        case Subquery(below):
            return is_fraction(below)
    found_ratio = ratio(inner)
    return found_ratio is not None and found_ratio.is_hit_ratio


def hundreds(expr: Expr) -> tuple[Expr, ...]:
    """The multiplications by 100 that scale a whole expression."""
    match expr:
        case Binary("*", inner, Number(100.0)) | Binary("*", Number(100.0), inner):
            return (expr, *hundreds(inner))
        case Binary("*", inner, Number()) | Binary("*", Number(), inner):
            return hundreds(inner)
        case Binary("/", left, Number(100.0)):
            return hundreds(left)[1:]
        case Binary("/", left, right) if not hundreds(right):
            return hundreds(left)
        case Aggregate():
            return hundreds(expr.expr)
        case Call(function, (inner, *_)) if function in _KEEPS_ONE:
            return hundreds(inner)
        case Binary(op, left, _) if op in (*COMPARISONS, "or", "and", "unless"):
            return hundreds(left)
        case Negative(inner):
            return hundreds(inner)
    return ()


def without_hundred(tree: Expr, node: Expr) -> Expr:
    """The tree without one multiplication by 100."""
    match node:
        case Binary("*", inner, Number(100.0)) | Binary("*", Number(100.0), inner):
            return put(tree, node, inner)
    return tree
