"""Rules on names: what is no longer exported, what never was, and what must not be mixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from collectors.lint.names import Known, known, re_exported
from collectors.lint.promql import Aggregate, Binary, Call, Expr, Matcher, Range, Selector, put, selectors, walk
from collectors.lint.query import Example, Fault, Query, Rule
from collectors.lint.shapes import ratios
from collectors.lint.upstream import V0


def _judged(query: Query) -> Iterator[tuple[Selector, Known]]:
    """Selectors of known names, those left out that another spelling of the same stands in for."""
    twins = _with_fallback(query.tree)
    for selector in selectors(query.tree):
        found = known(selector.name)
        if found is not None and not any(selector is twin for twin in twins):
            yield selector, found


def _with_fallback(tree: Expr) -> list[Selector]:
    found: list[Selector] = []
    for node in walk(tree):
        if isinstance(node, Binary) and node.op == "or":
            left, right = selectors(node.left), selectors(node.right)
            for side, other in ((left, right), (right, left)):
                bases = {entry.base for selector in other if (entry := known(selector.name)) is not None}
                found += [one for one in side if (entry := known(one.name)) is not None and entry.base in bases]
    return found


def _dead(query: Query) -> Iterator[Fault]:
    for selector, found in _judged(query):
        if not found.gone or found.role == "retrieve_rate":
            continue
        since = f"is not exported by {found.gone}" if found.gone == V0 else f"is gone from vLLM by {found.gone}"
        if found.counters is not None:
            hits, lookups = found.counters
            told = f"{selector.name} {since}; {hits} over {lookups} says it."
            yield Fault(told, from_counters(query, selector, (hits, lookups)))
        elif found.now:
            told = f"{selector.name} {since}; its name is {found.now} now."
            yield Fault(told, put(query.tree, selector, replace(selector, name=found.now)))
        else:
            yield Fault(f"{selector.name} {since}, and nothing took its place.", None)


def from_counters(query: Query, selector: Selector, counters: tuple[str, str]) -> Expr | None:
    """The tree with a gauge of a hit ratio, and what averages it, exchanged for a ratio of rates."""
    node: Expr = selector
    window, labels, without, aggregated = query.window(), None, False, False
    for parent in _parents(query.tree, selector):
        if isinstance(parent, Range):
            node, window = parent, parent.duration
        elif isinstance(parent, Call) and isinstance(node, Range) and parent.function.endswith("_over_time"):
            node = parent
        elif isinstance(parent, Aggregate) and parent.op == "avg":
            node, labels, without, aggregated = parent, parent.labels, parent.without, True
            break
        else:
            break
    if isinstance(node, Range):
        return None
    sides: list[Expr] = []
    for name in counters:
        side: Expr = Call("rate", (Range(replace(selector, name=name), window),))
        sides.append(Aggregate("sum", side, labels, without) if aggregated else side)
    return put(query.tree, node, Binary("/", sides[0], sides[1]))


def _parents(tree: Expr, node: Expr) -> list[Expr]:
    """What is above a node, the nearest first."""
    return [found for found in walk(tree) if found is not node and any(below is node for below in walk(found))][::-1]


def _spelling(query: Query) -> Iterator[Fault]:
    for selector, found in _judged(query):
        if found.bare and not found.gone:
            yield Fault(
                f"{selector.name} is a counter and exported as {found.now}: under this name nothing is found.",
                put(query.tree, selector, replace(selector, name=found.now)),
            )
    for node in walk(query.tree):
        if not isinstance(node, Binary) or node.op == "or":
            continue
        left, right = _separators(node.left), _separators(node.right)
        if (left, right) in (({":"}, {"_"}), ({"_"}, {":"})):
            yield Fault(
                "One side says vllm: and the other vllm_: a Prometheus holds one of the two, so nothing matches.",
                _with_colons(query.tree),
            )
            return


def _separators(tree: Expr) -> set[str]:
    """The sign behind the exporter's name, of names that have a colon upstream."""
    names = [(selector.name, known(selector.name)) for selector in selectors(tree)]
    return {":" if ":" in name else "_" for name, found in names if found is not None and ":" in found.base}


def _with_colons(tree: Expr) -> Expr:
    for selector in selectors(tree):
        found = known(selector.name)
        if found is not None and ":" in found.base and ":" not in selector.name:
            prefix = found.base.partition(":")[0]
            tree = put(tree, selector, replace(selector, name=prefix + ":" + selector.name[len(prefix) + 1 :]))
    return tree


def _retrieve_rate(query: Query) -> Iterator[Fault]:
    told = (
        "{} is of LMCache's retrieve side, which asks only for what the lookup had found: it stays near 1 whatever "
        "is missing."
    )
    for selector, found in _judged(query):
        if found.role == "retrieve_rate" and found.counters is not None:
            yield Fault(told.format(selector.name), from_counters(query, selector, found.counters))
    for ratio in ratios(query.tree):
        above, below = ratio.top.known, ratio.bottom.known
        if above is None or below is None or not ratio.is_hit_ratio:
            continue
        if above.counters is not None and above.counters == below.counters:
            tree = put(query.tree, ratio.top.selector, replace(ratio.top.selector, name=above.counters[0]))
            told_of = told.format(ratio.top.selector.name)
            yield Fault(
                told_of, put(tree, ratio.bottom.selector, replace(ratio.bottom.selector, name=above.counters[1]))
            )


def is_router_copy(selector: Selector) -> bool:
    """Whether a selector asks for the gauges that production-stack's router exports under engines' names."""
    asks = any(found.name == "server" and found.op in ("=", "=~") and found.value for found in selector.matchers)
    return asks and re_exported(known(selector.name))


def _router_copies(query: Query) -> Iterator[Fault]:
    for node in walk(query.tree):
        if isinstance(node, Binary) and node.op in ("+", "-"):
            for copies, engines in ((node.left, node.right), (node.right, node.left)):
                if _all_copies(copies) and _no_copies(engines):
                    yield Fault(
                        "Series with the label server are the router's copies of what the engines export: "
                        "added up, everything counts twice.",
                        put(query.tree, node, engines) if node.op == "+" else None,
                    )
        elif query.router and isinstance(node, Aggregate) and node.op in ("sum", "avg", "count"):
            for selector in selectors(node.expr):
                found = known(selector.name)
                if isinstance(node.expr, Selector) and re_exported(found) and not selector.matchers:
                    own = replace(selector, matchers=(_not_a_copy(),))
                    yield Fault(
                        f"The router that this file reads exports {selector.name} too, with the label server: "
                        "its copies are counted with the engines' own.",
                        put(query.tree, selector, own),
                    )


def _all_copies(tree: Expr) -> bool:
    found = selectors(tree)
    return bool(found) and all(is_router_copy(selector) for selector in found)


def _no_copies(tree: Expr) -> bool:
    found = selectors(tree)
    return bool(found) and all(re_exported(known(one.name)) and not is_router_copy(one) for one in found)


def _not_a_copy() -> Matcher:
    return Matcher("server", "=", "")


RULES = (
    Rule(
        "dead_name",
        "A metric that current releases no longer export.",
        _dead,
        Example("max(vllm:gpu_cache_usage_perc)"),
    ),
    Rule(
        "one_spelling",
        "A counter without its `_total`, or `vllm:` and `vllm_` in one calculation.",
        _spelling,
        Example("sum(rate(vllm:prefix_cache_hits[5m])) / sum(rate(vllm:prefix_cache_queries[5m]))"),
    ),
    Rule(
        "retrieve_rate",
        "LMCache's retrieve side read as its hit ratio.",
        _retrieve_rate,
        Example("avg(lmcache:retrieve_hit_rate)"),
    ),
    Rule(
        "router_copies",
        "Gauges that production-stack's router exports under engines' names, counted with the engines' own.",
        _router_copies,
        Example('sum(vllm:num_requests_running{server=~".+"}) + sum(vllm:num_requests_running{job="vllm"})'),
    ),
)
