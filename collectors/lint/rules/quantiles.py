"""Rules on histogram quantiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectors.lint.labels import one_each
from collectors.lint.names import known, recorded
from collectors.lint.promql import Aggregate, Call, Expr, Number, Range, Selector, children, put, walk
from collectors.lint.query import Example, Fault, Query, Rule
from collectors.lint.shapes import beneath_numbers
from collectors.source import Kind

_TTFT = "vllm:time_to_first_token_seconds_bucket"


def _quantiles(tree: Expr) -> Iterator[tuple[Call, Expr]]:
    """Quantiles of classic histograms, with what they are taken of."""
    for node in walk(tree):
        match node:
            case Call("histogram_quantile", (_, inner)):
                if any(isinstance(one, Selector) and "_bucket" in one.name for one in walk(inner)):
                    yield node, inner


def _without_le(query: Query) -> Iterator[Fault]:
    for _, inner in _quantiles(query.tree):
        for node in walk(inner):
            if not isinstance(node, Aggregate) or node.op not in ("sum", "avg", "min", "max"):
                continue
            listed = node.labels or ()
            if node.without and "le" in listed:
                fixed = replace(node, labels=tuple(label for label in listed if label != "le"))
            elif not node.without and "le" not in listed:
                fixed = replace(node, labels=("le", *listed))
            else:
                continue
            yield Fault(
                "The buckets are summed over le, so that no histogram is left to take a quantile of.",
                put(query.tree, node, fixed),
            )


def _without_rate(query: Query) -> Iterator[Fault]:
    for _, inner in _quantiles(query.tree):
        for selector in _bare_buckets(inner):
            rated = Call("rate", (Range(selector, query.window()),))
            yield Fault(
                "The quantile over everything since the process started: a change of today hardly moves it.",
                put(query.tree, selector, rated),
            )


def _bare_buckets(node: Expr) -> Iterator[Selector]:
    """Selectors of buckets that no range holds."""
    if isinstance(node, Selector):
        if node.name.endswith("_bucket") and not recorded(node.name):
            yield node
    elif not isinstance(node, Range):
        for child in children(node):
            yield from _bare_buckets(child)


def _averaged(query: Query) -> Iterator[Fault]:
    for node in walk(query.tree):
        if not isinstance(node, Aggregate) or node.op not in ("avg", "sum") or one_each(node):
            continue
        inner = beneath_numbers(node.expr)
        match inner:
            case Call("histogram_quantile", (quantile, buckets)):
                yield Fault(
                    "Quantiles of several replicas can't be averaged: merge their buckets, then take the quantile.",
                    put(query.tree, node, put(node.expr, inner, _merged(node, quantile, buckets))),
                )
            case Selector():
                yield from _summaries(query, node, inner)


def _merged(node: Aggregate, quantile: Expr, buckets: Expr) -> Expr:
    inner = buckets.expr if isinstance(buckets, Aggregate) and buckets.op == "sum" and not buckets.without else buckets
    labels = node.labels or () if node.without else ("le", *(label for label in node.labels or () if label != "le"))
    return Call("histogram_quantile", (quantile, Aggregate("sum", inner, labels, node.without)))


def _summaries(query: Query, node: Aggregate, selector: Selector) -> Iterator[Fault]:
    """`avg(x{quantile="0.95"})`; what vLLM exports are histograms, which have no such label."""
    asked = [one for one in selector.matchers if one.name == "quantile" and one.op == "="]
    if not asked:
        return
    entry = known(selector.name)
    if entry is None or entry.kind is not Kind.HISTOGRAM or entry.part:
        yield Fault("Quantiles of several replicas can't be averaged.", None)
        return
    kept = tuple(one for one in selector.matchers if one is not asked[0])
    buckets = Call("rate", (Range(replace(selector, name=selector.name + "_bucket", matchers=kept), query.window()),))
    try:
        merged = _merged(node, Number(float(asked[0].value)), buckets)
    except ValueError:
        merged = None
    yield Fault(
        f"{selector.name} is a histogram and has no label quantile, so that nothing is found; and quantiles of "
        "several replicas could not be averaged.",
        None if merged is None else put(query.tree, node, put(node.expr, selector, merged)),
    )


RULES = (
    Rule(
        "quantile_without_le",
        "A histogram quantile of buckets that were summed over `le`.",
        _without_le,
        Example(f"histogram_quantile(0.95, sum by (instance) (rate({_TTFT}[5m])))"),
    ),
    Rule(
        "quantile_without_rate",
        "A histogram quantile of raw buckets: over everything since the process started.",
        _without_rate,
        Example(f"histogram_quantile(0.95, sum by (le) ({_TTFT}))"),
    ),
    Rule(
        "averaged_quantiles",
        "A mean or sum of quantiles.",
        _averaged,
        Example(f"avg(histogram_quantile(0.95, sum by (le, instance) (rate({_TTFT}[5m]))))"),
    ),
)
