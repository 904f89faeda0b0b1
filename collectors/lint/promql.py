"""PromQL as a tree of ours: its nodes, walked and changed.

Parentheses are not kept: `printing` sets those that precedence asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import TypeAlias


@dataclass(frozen=True, slots=True, order=True)
class Matcher:
    """One condition of a selector; `op` is =, !=, =~ or !~."""

    name: str
    op: str
    value: str


@dataclass(frozen=True, slots=True)
class Selector:
    """`name{matchers} @ at offset …`; the name is empty where only matchers select."""

    name: str
    matchers: tuple[Matcher, ...] = ()
    offset: timedelta | None = None
    at: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """`selector[duration]`."""

    selector: Selector
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Subquery:
    """`(expr)[duration:step]`."""

    expr: Expr
    duration: timedelta
    step: timedelta | None
    offset: timedelta | None = None
    at: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A scalar literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class Negative:
    """`-expr`."""

    expr: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments)`."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`op by (labels) (parameter, expr)`; `labels` is None without a clause."""

    op: str
    expr: Expr
    labels: tuple[str, ...] | None = None
    without: bool = False
    parameter: Expr | None = None


@dataclass(frozen=True, slots=True)
class Matching:
    """How two vectors are matched.

    Attributes:
        on: the labels are those matched on, else those ignored; None: neither clause.
        group: `left`, `right` or empty; `include` are its labels.
        fills: numbers of `fill_left` and `fill_right`.
    """

    on: bool | None = None
    labels: tuple[str, ...] = ()
    group: str = ""
    include: tuple[str, ...] = ()
    as_bool: bool = False
    fills: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right`; `op` in lower case."""

    op: str
    left: Expr
    right: Expr
    matching: Matching = Matching()


Expr: TypeAlias = "Selector | Range | Subquery | Number | Text | Negative | Call | Aggregate | Binary"

COMPARISONS = ("==", "!=", ">", "<", ">=", "<=")
SET_OPERATORS = ("and", "or", "unless")


def children(node: Expr) -> tuple[Expr, ...]:
    """The expressions directly below a node; a range's selector counts as one."""
    match node:
        case Range(selector):
            return (selector,)
        case Subquery(expr) | Negative(expr):
            return (expr,)
        case Call(_, arguments):
            return arguments
        case Aggregate():
            return (node.expr,) if node.parameter is None else (node.parameter, node.expr)
        case Binary():
            return (node.left, node.right)
    return ()


def walk(node: Expr) -> Iterator[Expr]:
    """A node and all below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def levels(node: Expr) -> int:
    """How deep a tree is; 1 for what has nothing below it."""
    return 1 + max((levels(child) for child in children(node)), default=0)


def selectors(node: Expr) -> list[Selector]:
    """All selectors below a node, in the order in which they are written."""
    return [found for found in walk(node) if isinstance(found, Selector)]


def put(tree: Expr, old: Expr, new: Expr) -> Expr:
    """The tree with the node `old` (that very object) exchanged for `new`."""
    if tree is old:
        return new
    changed: dict[str, object] = {}
    for name in (entry.name for entry in fields(tree)):
        value = getattr(tree, name)
        fresh: object = value
        if isinstance(value, _NODES):
            fresh = put(value, old, new)
        elif name == "arguments":
            fresh = tuple(put(argument, old, new) for argument in value)
            fresh = value if all(a is b for a, b in zip(fresh, value, strict=True)) else fresh
        if fresh is not value:
            changed[name] = fresh
    return replace(tree, **changed) if changed else tree  # type: ignore[arg-type]  # a node's own fields


_NODES = (Selector, Range, Subquery, Number, Text, Negative, Call, Aggregate, Binary)
