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
    Number,
    Range,
    Selector,
    walk,
)

RATES = ("rate", "irate", "increase")
_KEEPS_ONE = ("clamp", "clamp_min", "clamp_max", "label_replace", "label_join", "sort", "sort_desc", "round", "abs")
_SUMS = ("sum", "avg", "min", "max")
_MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "==", "!=": "!="}


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
        case Binary(op, inner, Number()) | Binary(op, Number(), inner) if (
            op in COMPARISONS and not expr.matching.as_bool
        ):
            found = operand(inner)
            return None if found is None else replace(found, guarded=True)
        case Binary("or", left, right):
            return _either(left, right)
        case Call(function, (inner, *_)) if function in _KEEPS_ONE:
            found = operand(inner)
            return None if found is None else replace(found, floored=found.floored or _is_floor(expr))
    return _core(expr)


def _is_floor(node: Call) -> bool:
    """A clamp from below by more than 0; what only keeps a value from being negative leaves 0 as it is."""
    if node.function not in ("clamp_min", "clamp") or len(node.arguments) < 2:
        return False
    least = node.arguments[1]
    return not isinstance(least, Number) or least.value > 0


def without_floor(expr: Expr) -> Expr:
    """A side of a division without what keeps it from being 0, its scale and its guards as they are."""
    match expr:
        case Binary("+", inner, Number()) | Binary("+", Number(), inner):
            return without_floor(inner)
        case Call() if _is_floor(expr):
            return without_floor(expr.arguments[0])
        case Call(function, (inner, *others)) if function in _KEEPS_ONE:
            return replace(expr, arguments=(without_floor(inner), *others))
        case Binary("or", left, Call("vector", _)):
            return without_floor(left)
        case Binary("or", left, right):
            return replace(expr, left=without_floor(left), right=without_floor(right))
        case Aggregate(_, Binary("or") as inner):
            return replace(expr, expr=without_floor(inner))
        case Binary("*", Number(), inner):
            return replace(expr, right=without_floor(inner))
        case Binary(op, Number(), inner) if op in COMPARISONS:
            return replace(expr, right=without_floor(inner))
        case Binary(op, inner, Number()) if op in ("-", "*", "/", *COMPARISONS):
            return replace(expr, left=without_floor(inner))
    return expr


def _either(left: Expr, right: Expr) -> Operand | None:
    """`a or b`: the first, where the other is the same under another name or a constant."""
    found, other = operand(left), operand(right)
    if found is None:
        return None
    match right:
        case Call("vector", (constant,)):
            # a guard takes 0 away, and then the constant stands in for it
            instead = found.guarded and constant != Number(0.0)
            return replace(found, floored=found.floored or instead)
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


def unscaled(expr: Expr) -> Expr:
    """A product without its numbers, those within sums too: `sum(100 * x)` is 100 times a sum."""
    match expr:
        case Binary("*" | "/", inner, Number()) | Binary("*", Number(), inner):
            return unscaled(inner)
        case Binary("*" | "/", left, right):
            return replace(expr, left=unscaled(left), right=unscaled(right))
        case Aggregate(op, inner) if op in _SUMS:
            return replace(expr, expr=unscaled(inner))
    return expr


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
        case Binary(op, inner, Number()) | Binary(op, Number(), inner) if op in COMPARISONS:
            return beneath_numbers(inner)
    return expr


def compared(node: Expr) -> tuple[Expr, str, float] | None:
    """What is held against a number, how, and the number: `0.2 > x` is `x < 0.2`."""
    match node:
        case Binary(op, left, Number(value)) if op in COMPARISONS:
            return left, op, value
        case Binary(op, Number(value), right) if op in COMPARISONS:
            return right, _MIRRORED[op], value
    return None


def beneath_complements(expr: Expr) -> tuple[Expr, bool]:
    """What `1 - x` or `100 - x` is made of, scale aside, and whether it falls where that grows."""
    inner, falls = beneath_numbers(expr), False
    while isinstance(inner, Binary) and inner.op == "-" and isinstance(inner.left, Number):
        inner, falls = beneath_numbers(inner.right), not falls
    return inner, falls
