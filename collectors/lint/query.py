"""One query of a file: its tree, and what its surroundings say about how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from collectors.lint.promql import Expr, Range, Selector, put, selectors, walk
from collectors.lint.variables import Variables

_MOST_STEPS = 8
"""So many recorded names are followed: rules may record each other in a circle."""
DEEPEST_RECORDED = 20
"""Deeper ones are not: all that is followed together must stay a tree that can be walked."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query that parsed.

    Attributes:
        where: the place in the file, for people.
        text: as the file has it.
        unit: Grafana's unit of the panel; empty where unknown or where it differs within the panel.
        alert: the expression of an alerting rule.
        board: of a board; else of a rule file.
        words: title, legend and the like, in lower case: what the figure is called.
        router: the file reads production-stack's router too.
        recorded: what the recording rules of the file make, by the name under which they record it.
        before, after: the file's own text around the query, as of `label_values(…, pod)`.
    """

    where: str
    text: str
    tree: Expr
    variables: Variables
    unit: str = ""
    alert: bool = False
    board: bool = False
    words: str = ""
    router: bool = False
    before: str = ""
    after: str = ""
    recorded: Mapping[str, Expr] = field(default_factory=dict)

    def window(self) -> timedelta:
        """The range to put where one is missing: the query's own, else the usual one."""
        for node in walk(self.tree):
            if isinstance(node, Range):
                return node.duration
        return self.variables.duration("$__rate_interval") if self.board else timedelta(minutes=5)

    def spelled_out(self, tree: Expr) -> Expr:
        """A part of the query with what the file records in place of the names: to look at, not to write down."""
        for _ in range(_MOST_STEPS):
            name = next((one for one in selectors(tree) if one.name in self.recorded), None)
            if name is None:
                break
            tree = put(tree, name, self.recorded[name.name])
        return tree

    def say(self, node: Expr) -> str:
        """A part of the query as text."""
        return self.variables.text(node)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a query.

    Attributes:
        says: what is wrong and what it leads to, one or two sentences.
        fixed: the whole query with this fault corrected; None where nobody can say what was meant.
    """

    says: str
    fixed: Expr | None


@dataclass(frozen=True, slots=True)
class Example:
    """A query with the fault, and the surroundings that make it one."""

    text: str
    unit: str = ""
    alert: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of fault."""

    code: str
    meaning: str
    check: Callable[[Query], Iterator[Fault]]
    example: Example


def renamed(tree: Expr, names: dict[str, str], among: Expr | None = None) -> Expr:
    """The tree with selectors' names exchanged, in a part of it or everywhere."""
    fresh = among if among is not None else tree
    for selector in selectors(fresh):
        if selector.name in names:
            new = Selector(names[selector.name], selector.matchers, selector.offset, selector.at)
            fresh = put(fresh, selector, new)
    return fresh if among is None else put(tree, among, fresh)
