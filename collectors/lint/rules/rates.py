"""Rules on time: counters read as they stand, gauges read as counters, averages over a whole life."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectors.lint.labels import one_each
from collectors.lint.names import known, recorded
from collectors.lint.promql import Aggregate, Binary, Call, Expr, Range, Selector, Subquery, put, walk
from collectors.lint.query import Example, Fault, Query, Rule
from collectors.lint.rules.metric_names import from_counters, is_router_copy
from collectors.lint.shapes import RATES, Operand, Ratio, beneath_numbers, compared, operand, ratio, ratios
from collectors.source import Kind


def _lifetime(query: Query) -> Iterator[Fault]:
    for found in ratios(query.tree):
        above, below = found.top.selector.name, found.bottom.selector.name
        halves = above.endswith("_sum") and below == above.removesuffix("_sum") + "_count"
        if halves and not found.top.rate and not found.bottom.rate and not recorded(above):
            yield Fault(
                "The mean over everything since the process started: a change of today hardly moves it.",
                _rated(query, found),
            )


def _without_rate(query: Query) -> Iterator[Fault]:
    for found in ratios(query.tree):
        above, below = found.top.known, found.bottom.known
        if above is None or below is None or above.kind is not Kind.COUNTER or below.kind is not Kind.COUNTER:
            continue
        raw = [side.selector.name for side in (found.top, found.bottom) if not side.rate]
        if len(raw) == 2:
            told = "Both counters are read as they stand: the ratio over everything since the process started."
            yield Fault(told, _rated(query, found))
        elif raw:
            yield Fault(f"{raw[0]} is read as it stands and the other side as a rate.", _rated(query, found))
    if query.alert:
        yield from _threshold(query)


def _rated(query: Query, found: Ratio) -> Expr:
    """Both sides as rates, summed where they were averaged."""
    how = found.top.rate or found.bottom.rate or "rate"
    tree = query.tree
    for side in (found.top, found.bottom):
        core: Expr = side.core
        if not side.rate:
            core = put(core, side.selector, Call(how, (Range(side.selector, query.window()),)))
        tree = put(tree, side.core, _summed(core))
    return tree


def _summed(core: Expr) -> Expr:
    if isinstance(core, Aggregate):
        return replace(core, op="sum" if core.op == "avg" else core.op, expr=_summed(core.expr))
    return core


def _threshold(query: Query) -> Iterator[Fault]:
    for node in walk(query.tree):
        held = compared(node)
        if held is not None and held[1] in (">", ">=") and held[2] > 0:
            side = operand(held[0])
            if side is None or side.known is None or side.rate:
                continue
            if side.known.kind is Kind.COUNTER:
                grown = Call("increase", (Range(side.selector, query.window()),))
                yield Fault(
                    f"{side.selector.name} only grows: once above the threshold it stays there until a restart.",
                    put(query.tree, side.selector, grown),
                )


def _gauge_rate(query: Query) -> Iterator[Fault]:
    for node in walk(query.tree):
        match node:
            case Call(function, (Range(selector) as span,)) if function in RATES:
                if is_router_copy(selector):
                    yield Fault(
                        f"{selector.name} with the label server is a gauge of the router, set to what it last read: "
                        "every fall of it is taken for a restart.",
                        _of_engines(query.tree),
                    )
                    continue
                found = known(selector.name)
                if found is None or found.kind is not Kind.GAUGE or found.role in ("rate", "retrieve_rate"):
                    continue
                instead = "delta" if function == "increase" else "avg_over_time"
                yield Fault(
                    f"{selector.name} is a gauge: {function}() takes each fall of it for a restart and adds it up.",
                    put(query.tree, node, Call(instead, (span,))),
                )


def _of_engines(tree: Expr) -> Expr:
    """The engines' own series in place of the router's copies: the router's label goes, from groupings too."""
    for node in walk(tree):
        if isinstance(node, Selector) and is_router_copy(node):
            own = replace(node, matchers=tuple(one for one in node.matchers if one.name != "server"))
            return _of_engines(put(tree, node, own))
        if isinstance(node, Aggregate) and node.labels and "server" in node.labels and not node.without:
            names = tuple(dict.fromkeys("instance" if name == "server" else name for name in node.labels))
            return _of_engines(put(tree, node, replace(node, labels=names)))
    return tree


def _averaged(query: Query) -> Iterator[Fault]:
    told = "A mean of ratios: a replica with one request weighs as much as one with a thousand."
    for node in walk(query.tree):
        match node:
            case Aggregate("avg", inner) if not one_each(node):
                found = ratio(beneath_numbers(inner))
                if found is not None and _counts(found):
                    yield Fault(told, _ratio_of_sums(query.tree, node, found))
                gauge = beneath_numbers(inner)
                entry = known(gauge.name) if isinstance(gauge, Selector) else None
                if entry is not None and entry.role == "rate" and entry.counters is not None and not entry.gone:
                    assert isinstance(gauge, Selector)
                    yield Fault(told, from_counters(query, gauge, entry.counters))
            case Call("avg_over_time", (Subquery(inner),)):
                found = ratio(beneath_numbers(inner))
                if found is not None and _counts(found):
                    yield Fault(
                        "A mean over time of ratios: a minute with one request weighs as much as one with a thousand.",
                        _over_the_whole(query.tree, node, found),
                    )


def _counts(found: Ratio) -> bool:
    return all(side.known is not None and side.known.cumulative for side in (found.top, found.bottom))


def _ratio_of_sums(tree: Expr, node: Aggregate, found: Ratio) -> Expr | None:
    if found.node.matching.group:
        return None
    ratio_of_sums: Expr = found.node
    for side in (found.top, found.bottom):
        ratio_of_sums = put(ratio_of_sums, side.core, _sum_like(node, side))
    if isinstance(ratio_of_sums, Binary):
        ratio_of_sums = replace(ratio_of_sums, matching=replace(found.node.matching, on=None, labels=()))
    return put(tree, node, put(node.expr, found.node, ratio_of_sums))


def _sum_like(node: Aggregate, side: Operand) -> Aggregate:
    """A side summed by the labels of the mean; a sum that is there already gives way."""
    inner = side.core
    if isinstance(inner, Aggregate) and inner.op == "sum" and not node.without and not inner.without:
        inner = inner.expr
    return Aggregate("sum", inner, node.labels, node.without)


def _over_the_whole(tree: Expr, node: Call, found: Ratio) -> Expr | None:
    """The ratio with the subquery's time as the range of its rates."""
    span = node.arguments[0]
    assert isinstance(span, Subquery)
    if not found.top.rate or not found.bottom.rate or span.offset is not None or span.at:
        return None
    inner: Expr = span.expr
    for one in [one for one in walk(inner) if isinstance(one, Range)]:
        inner = put(inner, one, replace(one, duration=span.duration))
    return put(tree, node, inner)


RULES = (
    Rule(
        "lifetime_average",
        "The sum of a histogram divided by its count, without a rate: the mean since the process started.",
        _lifetime,
        Example("vllm:time_to_first_token_seconds_sum / vllm:time_to_first_token_seconds_count"),
    ),
    Rule(
        "counter_without_rate",
        "Counters divided, or held against a threshold, as they stand.",
        _without_rate,
        Example("sum(vllm:prefix_cache_hits_total) / sum(vllm:prefix_cache_queries_total)"),
    ),
    Rule(
        "gauge_under_rate",
        "A gauge under rate(), irate() or increase().",
        _gauge_rate,
        Example("rate(vllm:num_requests_running[5m])"),
    ),
    Rule(
        "average_of_ratios",
        "A mean of hit ratios or of means, without their weights.",
        _averaged,
        Example("avg(rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m]))"),
    ),
)
