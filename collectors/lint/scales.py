"""How a value is scaled: the numbers that multiply and divide it, wherever in a product they stand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from collectors.lint.names import known
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
)
from collectors.lint.shapes import RATES, ratio, unscaled

_PICKS = ("avg", "min", "max", "topk", "bottomk", "limitk", "limit_ratio", "quantile")
_BOUNDED = ("clamp", "clamp_min", "clamp_max", "round")
_WHOLE = ("ceil", "floor")
_SAME = (
    *("abs", "sort", "sort_desc", "sort_by_label", "sort_by_label_desc", "label_replace", "label_join"),
    *("scalar", "vector", "avg_over_time", "max_over_time", "min_over_time", "last_over_time", "first_over_time"),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """What is known of a value's size.

    Attributes:
        hundreds: how often it is multiplied by 100; below 0 where it is divided.
        others: the product of all other numbers; NaN where nobody can tell.
        fraction: with its scale taken away it lies between 0 and 1.
        divides: it is made of a division by something that is no number.
    """

    hundreds: int = 0
    others: float = 1.0
    fraction: bool = False
    divides: bool = False

    def is_fraction(self, hundreds: int) -> bool:
        """Whether it lies between 0 and 1, or 100, or 10 000."""
        return self.fraction and self.hundreds == hundreds and math.isclose(self.others, 1)


_UNKNOWN = Scale(others=math.nan)


def scale(expr: Expr) -> Scale:
    """The scale of an expression."""
    match expr:
        case Number(value):
            return Scale(hundreds=1 if _is(value, 1) else -1) if _is(value, 1) or _is(value, -1) else Scale(0, value)
        case Selector(name):
            found = known(name)
            return Scale(fraction=found is not None and found.fraction)
        case Range(inner) | Subquery(inner):
            return scale(inner)
        case Negative(inner):
            return replace(scale(inner), fraction=False)
        case Aggregate(op, inner) if op in _PICKS:
            return scale(inner)
        case Aggregate("sum", inner):
            return replace(scale(inner), fraction=False)
        case Call(function, (inner, *_)) if function in (*_SAME, *_BOUNDED, *_WHOLE):
            return scale(inner)
        case Call("quantile_over_time", (_, inner)):
            return scale(inner)
        case Call(function, (inner,)) if function in RATES:
            return replace(scale(inner), fraction=False)
        case Binary("*" | "/"):
            return _product(expr)
        case Binary():
            return _joined(expr)
    return _UNKNOWN


def _is(value: float, hundreds: int) -> bool:
    return math.isclose(value, 100.0**hundreds)


def _product(node: Binary) -> Scale:
    left, right = scale(node.left), scale(node.right)
    if node.op == "*":
        hundreds, others = left.hundreds + right.hundreds, left.others * right.others
        number, inner = isinstance(node.left, Number), isinstance(node.right, Number)
        fraction = (number and right.fraction) or (inner and left.fraction)
        return Scale(hundreds, others, fraction, left.divides or right.divides)
    if isinstance(node.left, Number) or not right.others:
        return _UNKNOWN
    hundreds, others = left.hundreds - right.hundreds, left.others / right.others
    if isinstance(node.right, Number):
        return replace(left, hundreds=hundreds, others=others)
    return Scale(hundreds, others, _is_hit_ratio(node), divides=True)


def _is_hit_ratio(node: Binary) -> bool:
    """Hits over lookups, both per second or both over a range, numbers aside."""
    found = ratio(unscaled(node))
    if found is None or not found.is_hit_ratio:
        return False
    return (found.top.rate == "increase") == (found.bottom.rate == "increase")


def _joined(node: Binary) -> Scale:
    """What is compared, chosen among or added up."""
    left, right = scale(node.left), scale(node.right)
    if node.op in ("and", "unless"):
        return left
    if node.op in COMPARISONS:
        if node.matching.as_bool:
            return _UNKNOWN
        return right if isinstance(node.left, Number) else left
    if node.op == "or" and _is_constant(node.right):
        return left
    if node.op == "-" and isinstance(node.left, Number) and right.fraction:
        top = 100.0**right.hundreds * right.others  # `1 - x` and `100 - x` are fractions as x is
        return replace(right, fraction=math.isclose(top, node.left.value))
    if node.op in ("+", "-") and isinstance(node.left, Number):
        return replace(right, fraction=False)
    if node.op in ("+", "-") and isinstance(node.right, Number):
        return replace(left, fraction=False)
    if node.op not in ("or", "+", "-") or left.hundreds != right.hundreds:
        return _UNKNOWN
    others = left.others if math.isclose(left.others, right.others) else math.nan
    fraction = left.fraction and node.op == "or"
    return Scale(left.hundreds, others, fraction, left.divides or right.divides)


def _is_constant(expr: Expr) -> bool:
    return isinstance(expr, Number) or (isinstance(expr, Call) and expr.function == "vector")


def hundredth(expr: Expr) -> Expr | None:
    """An expression with one multiplication by 100 taken out, and what it is held against made to fit.

    None where there is none to take out, or where it is not alone.
    """
    return _without(expr, 1)


def _without(expr: Expr, way: int) -> Expr | None:  # noqa: C901  # one branch for each kind of node
    """Without a multiplication by 100 (`way` 1) or a division by it (-1)."""
    match expr:
        case Binary("*", inner, Number(value)) | Binary("*", Number(value), inner) if _is(value, way):
            return inner
        case Binary("/", inner, Number(value)) if _is(value, -way):
            return inner
        case Binary("*" | "/" as op, left, right):
            fresh = _without(left, way)
            if fresh is not None:
                return replace(expr, left=fresh)
            fresh = _without(right, way if op == "*" else -way)
            return None if fresh is None else replace(expr, right=fresh)
        case Binary("and" | "unless", left, _):
            fresh = _without(left, way)
            return None if fresh is None else replace(expr, left=fresh)
        case Binary("or" | "+" | "-") | Binary("==" | "!=" | ">" | "<" | ">=" | "<="):
            return _both_without(expr, way)
        case Aggregate(op, inner) if op in (*_PICKS, "sum"):
            fresh = _without(inner, way)
            return None if fresh is None else replace(expr, expr=fresh)
        case Subquery(inner) | Negative(inner):
            fresh = _without(inner, way)
            return None if fresh is None else replace(expr, expr=fresh)
        case Call(function, (inner, *others)) if function in (*_SAME, *_BOUNDED, *RATES):
            fresh = _without(inner, way)
            if fresh is None:
                return None
            if function == "round" and not others:
                others = [Number(1.0)]
            bounds = [_bound(other, way) for other in others] if function in _BOUNDED else others
            return replace(expr, arguments=(fresh, *bounds))
        case Call("quantile_over_time", (quantile, inner)):
            fresh = _without(inner, way)
            return None if fresh is None else replace(expr, arguments=(quantile, fresh))
    return None


def _both_without(node: Binary, way: int) -> Expr | None:
    """Both sides of a sum, a choice or a comparison; a number beside a value becomes what it was meant as."""
    left, right = _without(node.left, way), _without(node.right, way)
    for_numbers = node.op in COMPARISONS and not node.matching.as_bool
    if left is None and right is not None and (for_numbers or _is_constant(node.left)):
        left = _bound(node.left, way)
    elif right is None and left is not None and (for_numbers or _is_constant(node.right)):
        right = _bound(node.right, way)
    return None if left is None or right is None else replace(node, left=left, right=right)


def _bound(expr: Expr, way: int) -> Expr:
    """A number, or what stands for one, on the new scale."""
    match expr:
        case Number(value) if abs(value) <= _LARGEST:
            return Number(value / 100 if way > 0 else round(value * 100, 12))
        case Call("vector", (inner,)):
            return Call("vector", (_bound(inner, way),))
    return Binary("/" if way > 0 else "*", expr, Number(100.0))


_LARGEST = 1e6
"""Greater numbers may be a variable's stand-in, and are left whole."""
