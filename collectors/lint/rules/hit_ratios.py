"""Rules on hit ratios: what is divided by what, over which series, and what is added to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from collectors.lint.conditions import conditions
from collectors.lint.names import LMCACHE_FOUND, Known, known
from collectors.lint.promql import Binary, Expr, Matcher, Number, Selector, put, selectors, walk
from collectors.lint.query import Example, Fault, Query, Rule, renamed
from collectors.lint.shapes import Ratio, ratios, without_floor
from tierdeck.readings import Reading

_LOOKED_UP = "vllm:prefix_cache_queries_total"
_EXTERNAL = "vllm:external_prefix_cache_hits_total"
_SHARED_LABELS = ("job", "instance", "namespace", "pod", "model_name", "cluster", "container", "service")
"""Labels that vLLM's series and LMCache's can both carry."""
_LOOKUPS = r"(external |connector('s)? )?(quer(y|ies)|lookups?|requested|(tokens )?(queried|looked up|asked for|sent))"
_CONDITIONAL = re.compile(
    r"miss|condition|of external|not in l0|(beyond|below|past|after) l0"
    rf"|\b(of|per|over|divided by) (the |its )?{_LOOKUPS}\b|/ ?{_LOOKUPS}\b"
    r"|\bexternal (queries|lookups)\b"
    r"|\b(sent|passed|handed|put|asked) (on )?(to|of) (the |its |an? )?(\w+ )?(connector|tier|cache|store)\b"
)
"""Words by which a title says that a ratio is of what L0 did not have, or of what the connector was asked for."""


def _inverted(query: Query) -> Iterator[Fault]:
    yield from _upside_down(query.tree)
    yield from _inverted_record(query)


def _upside_down(tree: Expr) -> Iterator[Fault]:
    for found in ratios(tree):
        top, bottom = found.top, found.bottom
        if (top.role, bottom.role) != ("lookups", "hits") or found.node.matching.group:
            continue
        left = put(found.node.left, top.core, bottom.core)
        right = put(found.node.right, bottom.core, top.core)
        yield Fault(
            "Lookups are divided by hits: where 80 % were found this says 125 %.",
            put(tree, found.node, replace(found.node, left=left, right=right)),
        )


def _inverted_record(query: Query) -> Iterator[Fault]:
    """An alert on what the file records upside down."""
    for name in selectors(query.tree) if query.alert else ():
        made = query.recorded.get(name.name)
        if made is None:
            continue
        upright = next((fault.fixed for fault in _upside_down(query.spelled_out(made))), None)
        if upright is not None:
            plain = name == Selector(name.name)
            yield Fault(
                f"{name.name} is recorded as lookups divided by hits: where 80 % were found this says 125 %.",
                put(query.tree, name, upright) if plain else None,
            )


def _selects(query: Query, selector: Selector) -> frozenset[Matcher]:
    """What a selector narrows to; what matches everything, and the label of a source, left out."""
    kept = [matcher for matcher in selector.matchers if matcher.name != "source"]
    return frozenset().union(*(conditions(matcher, query.variables) for matcher in kept))


def _beyond(query: Query, selector: Selector, other: Selector) -> list[Matcher]:
    """The matchers of a selector that ask for something that the other does not."""
    asked = _selects(query, other)
    return sorted(
        matcher
        for matcher in selector.matchers
        if matcher.name != "source" and not conditions(matcher, query.variables) <= asked
    )


def _one_sided(query: Query) -> Iterator[Fault]:
    for found in ratios(query.tree):
        top, bottom = found.top, found.bottom
        if not _of_one_exporter(found) or found.node.matching.on is not None:
            continue
        only_above = _beyond(query, top.selector, bottom.selector)
        only_below = _beyond(query, bottom.selector, top.selector)
        if not only_above and not only_below:
            continue
        parts = [f"only the dividend selects {_written(query, only_above)}"] if only_above else []
        parts += [f"only the divisor selects {_written(query, only_below)}"] if only_below else []
        told = " and ".join(parts)
        grouped = top.aggregates and bottom.aggregates
        effect = "the two count different things" if grouped else "what finds no partner drops out without a word"
        yield Fault(f"{told[0].upper()}{told[1:]}: {effect}.", _same_selection(query, found, only_above + only_below))


def _of_one_exporter(found: Ratio) -> bool:
    """Hits and lookups, or sum and count, of series that carry the same labels."""
    above, below = found.top.known, found.bottom.known
    if above is None or below is None:
        return False
    exporter = above.base.replace(":", "_").partition("_")[0] == below.base.replace(":", "_").partition("_")[0]
    halves = above.base == below.base and (above.part, below.part) == ("_sum", "_count")
    return exporter and (halves or {found.top.role, found.bottom.role} == {"hits", "lookups"})


def _written(query: Query, matchers: list[Matcher]) -> str:
    text = query.say(Selector("", tuple(matchers)))
    return text[1:-1]


def _same_selection(query: Query, found: Ratio, missing: list[Matcher]) -> Expr | None:
    names = [matcher.name for matcher in missing]
    both = {matcher.name for matcher in (*found.top.selector.matchers, *found.bottom.selector.matchers)}
    if len(set(names)) < len(names):
        return None  # two values for one label: either may be meant
    tree = query.tree
    for side in (found.top.selector, found.bottom.selector):
        have = {matcher.name for matcher in side.matchers}
        added = tuple(matcher for matcher in missing if matcher not in side.matchers)
        if any(matcher.name in have & both for matcher in added):
            return None
        tree = put(tree, side, replace(side, matchers=side.matchers + added))
    return tree


def _external_share(query: Query) -> Iterator[Fault]:
    if _CONDITIONAL.search(query.words):
        return
    for found in ratios(query.tree):
        above, below = found.top.known, found.bottom.known
        if above is None or below is None:
            continue
        if (above.reading, below.reading) == (Reading.EXTERNAL_HITS, Reading.EXTERNAL_QUERIES):
            yield Fault(
                "External queries are only what L0 did not have (up to 0.11.1: all lookups): this is no tier's "
                "share of the prompt tokens, and its meaning changes with the version.",
                renamed(query.tree, {found.bottom.selector.name: _respelled(_LOOKED_UP, below)}, found.node.right),
            )


def _respelled(name: str, like: Known) -> str:
    return name if ":" in like.now else name.replace(":", "_")


def _lmcache_added(query: Query) -> Iterator[Fault]:
    for node in walk(query.tree):
        if not isinstance(node, Binary) or node.op != "+":
            continue
        for vllm, lmcache in ((node.left, node.right), (node.right, node.left)):
            ours, theirs = _readings(vllm), _readings(lmcache)
            if Reading.L0_HITS in ours and not set(LMCACHE_FOUND) & ours and set(LMCACHE_FOUND) & theirs:
                yield Fault(
                    "LMCache also counts tokens that L0 then served: added to L0's hits they count twice. What was "
                    "loaded from below L0 is vLLM's external hits.",
                    put(query.tree, node, vllm) if Reading.EXTERNAL_HITS in ours else _external_instead(query, lmcache),
                )
            elif ours == {Reading.PROMPT_TOKENS} and theirs == {Reading.LOOKUP_TOKENS}:
                yield Fault(
                    "LMCache looks up the same prompts as vLLM: added, they count twice.", put(query.tree, node, vllm)
                )


def _readings(tree: Expr) -> set[Reading | None]:
    return {found.reading for selector in selectors(tree) if (found := known(selector.name)) is not None}


def _external_instead(query: Query, part: Expr) -> Expr | None:
    """The tree with a part made of external hits; a sum of L1's and L2's hits becomes one of them."""
    names: dict[str, str] = {}
    whole = part
    while isinstance(part, Binary) and part.op == "+":
        part = part.left
    if len([one for one in _readings(part) if one in LMCACHE_FOUND]) > 1:
        return None
    for selector in selectors(part):
        found = known(selector.name)
        if found is None or any(matcher.name not in _SHARED_LABELS for matcher in selector.matchers):
            return None
        if found.reading in LMCACHE_FOUND:
            names[selector.name] = _EXTERNAL
        elif found.reading is Reading.LOOKUP_TOKENS:
            names[selector.name] = _LOOKED_UP
        else:
            return None
    return put(query.tree, whole, renamed(part, names))


def _idle_as_zero(query: Query) -> Iterator[Fault]:
    for found in ratios(query.tree):
        if found.is_hit_ratio and found.bottom.floored:
            right = without_floor(found.node.right)
            if not query.alert and not found.bottom.guarded:
                # in an alert the comparison with NaN does what `> 0` does
                right = Binary(">", right, Number(0.0))
            yield Fault(
                "The divisor is kept from being 0, so that no traffic reads as a hit ratio of 0.",
                put(query.tree, found.node.right, right),
            )


RULES = (
    Rule(
        "inverted_ratio",
        "Lookups divided by hits: the reciprocal of the hit ratio.",
        _inverted,
        Example(f"sum(rate({_LOOKED_UP}[5m])) / sum(rate(vllm:prefix_cache_hits_total[5m]))"),
    ),
    Rule(
        "one_sided_selector",
        "Hits and lookups, or sum and count, are selected by different labels.",
        _one_sided,
        Example(f'rate(vllm:prefix_cache_hits_total{{endpoint="service-port"}}[5m]) / rate({_LOOKED_UP}[5m])'),
    ),
    Rule(
        "external_share",
        "External hits divided by external queries, shown as the tier's share of the prompt tokens.",
        _external_share,
        Example(f"sum(rate({_EXTERNAL}[5m])) / sum(rate(vllm:external_prefix_cache_queries_total[5m]))"),
    ),
    Rule(
        "lmcache_added",
        "LMCache's hits or lookups added to vLLM's, which they contain in part.",
        _lmcache_added,
        Example(
            "(sum(rate(vllm:prefix_cache_hits_total[5m])) + sum(rate(lmcache:num_lookup_hits_total[5m]))) "
            f"/ sum(rate({_LOOKED_UP}[5m]))"
        ),
    ),
    Rule(
        "idle_as_zero",
        "A hit ratio whose divisor can't be 0: an idle model reads as one without hits.",
        _idle_as_zero,
        Example(f"sum(rate(vllm:prefix_cache_hits_total[5m])) / (sum(rate({_LOOKED_UP}[5m])) + 1e-10)"),
    ),
)
