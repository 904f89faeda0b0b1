"""The console's panels as questions with their queries: one table for all boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alerting.export import names
from alerting.export.names import Metric
from alerting.export.promql import Scope, either, indented, now, or_zero, per_second, summed

_RATE = "$__rate_interval"
QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Line:
    """One query and what its series are called."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart.

    Attributes:
        title: the question it answers.
        unit: Grafana's name of it.
        stacked: its lines add up.
        note: what it leaves open.
        width: of 24.
    """

    title: str
    unit: str
    lines: tuple[Line, ...]
    stacked: bool = False
    note: str = ""
    width: int = 12


def fleet_panels(scope: Scope) -> tuple[Panel, ...]:
    """All endpoints side by side, the pool, and what fires."""
    name = _legend(scope.by)
    return (
        *_tokens(scope, ()),
        _hit_ratio(scope, scope.by, name),
        _ttft(scope),
        _load(scope, scope.by, name),
        Panel("How many engines can be read?", "short", (_engines(scope, name),)),
        *_pool_panels(scope),
        *_cache_panels(scope),
        _alerts("How many alerts fire?"),
    )


def endpoint_panels(scope: Scope) -> tuple[Panel, ...]:
    """One endpoint, replica by replica."""
    by = (*(label for label in scope.by if label != "job"), "pod", "instance")
    name = "{{pod}} {{instance}}"
    return (
        *_tokens(scope, ()),
        _hit_ratio(scope, by, name),
        Panel(
            "Which replica gets how much?", "cps", (_line(per_second(scope, names.PROMPT_TOKENS, _RATE, by=by), name),)
        ),
        _ttft(scope),
        _load(scope, by, name),
        Panel(
            "How full is L0?",
            "percentunit",
            (_line(summed(either(scope.selectors(names.KV_USAGE)), by, "max"), name),),
            note="Of the fullest engine behind each address.",
        ),
        *_cache_panels(scope),
        _alerts("What fires here?"),
    )


def _line(expr: str, legend: str) -> Line:
    return Line(expr, legend)


def _legend(by: Sequence[str]) -> str:
    shown = [label for label in by if label != "job"] or list(by)
    return " ".join(f"{{{{{label}}}}}" for label in shown)


def _rate(scope: Scope, metric: Metric, by: Sequence[str]) -> str:
    return per_second(scope, metric, _RATE, by=tuple(by))


def _lower(scope: Scope, by: Sequence[str]) -> str:
    """0 where L0 is counted and nothing is loaded from below it."""
    return or_zero(_rate(scope, names.EXTERNAL_HITS, by), _rate(scope, names.L0_HITS, by))


def _tokens(scope: Scope, by: Sequence[str]) -> tuple[Panel, Panel]:
    looked_up, l0, lower = _rate(scope, names.PROMPT_TOKENS, by), _rate(scope, names.L0_HITS, by), _lower(scope, by)
    miss = f"{looked_up}\n-\n{l0}\n-\n{lower}"
    tiers = (("L0", l0), ("L1+L2", lower), ("computed", miss))
    note = (
        "L1+L2 is what vLLM loaded through its connector. How much of it came from which of the two, no counter "
        "tells exactly; the console has bounds."
    )
    shares = tuple(Line(f"(\n{indented(expr)}\n)\n/\n({looked_up} > 0)", name) for name, expr in tiers)
    return (
        Panel(
            "Where do prompt tokens come from?",
            "cps",
            tuple(Line(expr, name) for name, expr in tiers),
            stacked=True,
            note=note,
        ),
        Panel("Which share of the prompt tokens comes from where?", "percentunit", shares, stacked=True, note=note),
    )


def _hit_ratio(scope: Scope, by: Sequence[str], legend: str) -> Panel:
    hits = f"(\n{indented(_rate(scope, names.L0_HITS, by))}\n  +\n{indented(_lower(scope, by))}\n)"
    expr = f"{hits}\n/\n({_rate(scope, names.PROMPT_TOKENS, by)} > 0)"
    note = "By token: hits of all tiers over tokens looked up. No traffic is a gap, not 0 %."
    return Panel("How many prompt tokens need no computing?", "percentunit", (Line(expr, legend),), note=note)


def _ttft(scope: Scope) -> Panel:
    parts = tuple(f"rate({one}[{_RATE}])" for one in scope.selectors(names.TTFT, suffix="_bucket"))
    buckets = summed(either(parts), ("le",))
    lines = tuple(Line(f"histogram_quantile({share}, {buckets})", f"p{100 * share:g}") for share in QUANTILES)
    note = "As the engine sees it; between a bucket's bounds this is interpolated."
    return Panel("How long until the first token?", "s", lines, note=note)


def _load(scope: Scope, by: Sequence[str], legend: str) -> Panel:
    counted = (("running", names.RUNNING), ("waiting", names.WAITING), ("waiting for the cache", names.DEFERRED))
    lines = tuple(Line(now(scope, metric, tuple(by)), f"{word}: {legend}") for word, metric in counted)
    return Panel("How many requests run, and how many wait?", "short", lines)


def _engines(scope: Scope, legend: str) -> Line:
    return Line(summed(either(scope.selectors(names.PROCESSED_TOKENS)), scope.by, "count"), legend)


def _pool_panels(scope: Scope) -> tuple[Panel, Panel]:
    """The master's figures: other exporters may have a `capacity`, but no `worker_num` beside it."""
    (live,) = scope.selectors(names.WORKERS_LIVE)
    space = (("capacity", names.POOL_CAPACITY), ("used", names.POOL_USED), ("available", names.POOL_AVAILABLE))
    lines = tuple(
        Line(summed(f"{scope.selectors(metric)[0]} and ignoring (tag) {live}", ()), word) for word, metric in space
    )
    workers = (("live", names.WORKERS_LIVE), ("silent or lost", names.WORKERS_LOST))
    return (
        Panel("How full is the pool?", "bytes", lines),
        Panel("Are all workers there?", "short", tuple(Line(now(scope, metric, ()), word) for word, metric in workers)),
    )


def _cache_panels(scope: Scope) -> tuple[Panel, Panel]:
    looked_up = _rate(scope, names.LOOKUP_TOKENS, ())
    found = tuple(
        Line(f"{_rate(scope, metric, ())}\n/\n({looked_up} > 0)", tier)
        for tier, metric in (("L1", names.L1_FOUND), ("L2", names.L2_FOUND))
    )
    stores = (("submitted", names.STORES_SUBMITTED), ("completed", names.STORES_COMPLETED))
    return (
        Panel(
            "What does LMCache find of what it looks up?",
            "percentunit",
            found,
            note="Also what L0 then served: these are no shares of the prompt tokens.",
        ),
        Panel(
            "Do stores to L2 complete?",
            "cps",
            tuple(Line(_rate(scope, metric, ()), word) for word, metric in stores),
            note="Chunks a second.",
        ),
    )


def _alerts(title: str) -> Panel:
    expr = 'count by (alertname, severity) (ALERTS{alertname=~"Tierdeck.*",alertstate="firing"})'
    note = "Of the exported rules; the watchdog always fires."
    return Panel(title, "short", (Line(expr, "{{alertname}}"),), note=note)
