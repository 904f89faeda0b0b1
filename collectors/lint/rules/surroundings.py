"""Rules on what is made of a figure: its unit on a panel, the vectors it is matched with, its alert."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from collectors.lint.labels import is_scalar, labels
from collectors.lint.names import known
from collectors.lint.promql import (
    COMPARISONS,
    Aggregate,
    Binary,
    Call,
    Expr,
    Matching,
    Number,
    Range,
    put,
    selectors,
    walk,
)
from collectors.lint.query import Example, Fault, Query, Rule
from collectors.lint.scales import hundredth, scale
from collectors.lint.shapes import Ratio, beneath_complements, compared, ratio, unscaled
from collectors.source import Kind
from tierdeck.readings import Reading

_ENOUGH_TOKENS = 1000.0
"""Tokens in the range below which a hit ratio says little: as many as `warming` asks for."""
_TWICE = 2
_LEAST_SHARE = 0.1
"""A figure in per cent that is held against less than this may mean so little: hits at all, or none."""
_TRAFFIC = (Reading.REQUESTS, Reading.RUNNING)


def _percent(query: Query) -> Iterator[Fault]:
    found = scale(query.spelled_out(query.tree))
    if found.hundreds > 1 and found.is_fraction(found.hundreds):
        yield Fault("A ratio is multiplied by 100 twice.", hundredth(query.tree))
    elif found.hundreds > 0 and query.unit == "percentunit" and (found.fraction or found.divides):
        yield Fault("The unit percentunit multiplies by 100 itself: 0.8 shows as 8000 %.", hundredth(query.tree))
    elif query.unit == "percent" and found.is_fraction(0):
        yield Fault(
            "The unit percent expects 0 to 100, and this lies between 0 and 1: 0.8 shows as 0.8 %.",
            Binary("*", Number(100.0), query.tree),
        )
    if query.alert:
        yield from _per_cent_threshold(query)


def _per_cent_threshold(query: Query) -> Iterator[Fault]:
    for node in walk(query.tree):
        held = compared(node)
        if held is None or not isinstance(node, Binary):
            continue
        value, op, threshold = held
        found = scale(query.spelled_out(value))
        # a ratio above 1.05, or above 2, is asked for by who looks for tokens that count twice
        least = _TWICE if op in (">", ">=") else 1
        if least < threshold <= 100 and found.is_fraction(0):
            meant, told = (
                threshold / 100,
                f"between 0 and 1 and is held against {threshold:g}: the answer never changes",
            )
        elif _LEAST_SHARE <= threshold < 1 and found.is_fraction(1):
            meant, told = threshold * 100, f"between 0 and 100 and is held against {threshold:g}, not even one per cent"
        else:
            continue
        instead = Number(round(meant, 12))
        fixed = replace(node, right=instead) if value is node.left else replace(node, left=instead)
        yield Fault(f"This lies {told}.", put(query.tree, node, fixed))


def _no_match(query: Query) -> Iterator[Fault]:
    for node in walk(query.tree):
        if not isinstance(node, Binary) or node.op == "or" or is_scalar(node.left) or is_scalar(node.right):
            continue
        if node.matching.on is not None or node.matching.group or node.matching.fills != (None, None):
            continue
        left, right = labels(node.left), labels(node.right)
        if left is None or right is None:
            continue
        only_left = _lacking(query, left.exact or left.at_least, right.exact)
        only_right = _lacking(query, right.exact or right.at_least, left.exact)
        if only_left or only_right:
            lacks = [f"the right side lacks {_listed(only_left)}"] if only_left else []
            lacks += [f"the left side lacks {_listed(only_right)}"] if only_right else []
            effect = {"and": "nothing ever passes", "unless": "nothing is ever left out"}
            yield Fault(
                f"Nothing matches: {' and '.join(lacks)}, so that {effect.get(node.op, 'the result is empty')}.",
                _grouped_alike(query.tree, node) or _matched(query.tree, node, left.exact, right.exact),
            )


def _lacking(query: Query, names: frozenset[str], exact: frozenset[str] | None) -> frozenset[str]:
    """The names that the exact labels of the other side lack; one variable in two spellings is one name."""
    if exact is None:
        return frozenset()
    there = {query.variables.named(name) for name in exact}
    return frozenset(name for name in names if query.variables.named(name) not in there)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _grouped_alike(tree: Expr, node: Binary) -> Expr | None:
    """A hit ratio whose sides are both sums: by the labels of the finer one."""
    found = ratio(node)
    if found is None or not found.is_hit_ratio:
        return None
    top, bottom = found.top.core, found.bottom.core
    if not isinstance(top, Aggregate) or not isinstance(bottom, Aggregate) or top.without or bottom.without:
        return None
    above, below = set(top.labels or ()), set(bottom.labels or ())
    if above <= below:
        return put(tree, top, replace(top, labels=bottom.labels))
    return put(tree, bottom, replace(bottom, labels=top.labels)) if below <= above else None


def _matched(tree: Expr, node: Binary, left: frozenset[str] | None, right: frozenset[str] | None) -> Expr | None:
    """Matched on the labels of the side that has fewer."""
    if right is not None and (left is None or right <= left):
        on, group = right, "left"
    elif left is not None and (right is None or left <= right):
        on, group = left, "right"
    else:
        return None
    how = Matching(on=True, labels=tuple(sorted(on)), as_bool=node.matching.as_bool)
    if node.op not in ("and", "unless"):
        how = replace(how, group=group)
    return put(tree, node, replace(node, matching=how))


def _no_guard(query: Query) -> Iterator[Fault]:
    if not query.alert or _guards(query.tree):
        return
    for node in walk(query.tree):
        held = compared(node)
        if held is None:
            continue
        value, op, _ = held
        inner, falls = beneath_complements(value)
        found = ratio(unscaled(inner))
        if op not in ((">", ">=") if falls else ("<", "<=")):
            continue
        if found is None or not found.is_hit_ratio or found.bottom.guarded:
            continue
        guard = Binary(">", _traffic(found), Number(_ENOUGH_TOKENS))
        yield Fault(
            "Nothing asks for traffic: on a model that is nearly idle, a few requests without a hit raise this alert.",
            put(query.tree, node, Binary("and", node, guard)),
        )


def _guards(tree: Expr) -> bool:
    """Whether some condition on traffic is joined with `and` or `unless`."""
    return any(
        isinstance(node, Binary) and node.op in ("and", "unless") and any(_is_traffic(side) for side in _sides(node))
        for node in walk(tree)
    )


def _sides(node: Binary) -> tuple[Expr, ...]:
    return (node.left, node.right)


def _is_traffic(side: Expr) -> bool:
    """A comparison of something that counts work; a hit ratio itself is none."""
    compared = [one for one in walk(side) if isinstance(one, Binary) and one.op in COMPARISONS]
    for one in compared:
        value = one.right if isinstance(one.left, Number) else one.left
        if ratio(beneath_complements(value)[0]) is not None or scale(value).fraction:
            continue
        for selector in selectors(value):
            found = known(selector.name)
            if found is None or found.role == "lookups" or found.reading in _TRAFFIC or found.part == "_count":
                return True
            if found.kind is Kind.COUNTER and found.role != "hits":
                return True
    return False


def _traffic(found: Ratio) -> Expr:
    """What the divisor counted in the range, as a number of tokens."""
    core: Expr = found.bottom.core
    for node in walk(core):
        if isinstance(node, Call) and node.function in ("rate", "irate"):
            core = put(core, node, replace(node, function="increase"))
    if not found.bottom.rate:
        core = put(core, found.bottom.selector, Call("increase", (Range(found.bottom.selector, timedelta(minutes=5)),)))
    return core


RULES = (
    Rule(
        "percent_unit",
        "A ratio multiplied by 100 as often as the unit does not ask for.",
        _percent,
        Example(
            "100 * sum(rate(vllm:prefix_cache_hits_total[5m])) / sum(rate(vllm:prefix_cache_queries_total[5m]))",
            unit="percentunit",
        ),
    ),
    Rule(
        "no_match",
        "Two sides whose labels differ, so that no series finds a partner.",
        _no_match,
        Example(
            "sum by (instance) (rate(vllm:prefix_cache_hits_total[5m])) "
            "/ sum(rate(vllm:prefix_cache_queries_total[5m]))"
        ),
    ),
    Rule(
        "no_traffic_guard",
        "An alert on a low hit ratio that an idle model can raise.",
        _no_guard,
        Example(
            "sum(rate(vllm:prefix_cache_hits_total[15m])) / sum(rate(vllm:prefix_cache_queries_total[15m])) < 0.3",
            alert=True,
        ),
    ),
)
