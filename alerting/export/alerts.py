"""Alerting rules: what of Tierdeck's own rules can be said as PromQL over the counters themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from alerting.export import names, recorded
from alerting.export.options import Objective, RuleOptions
from alerting.export.promql import either, indented, now, or_zero, per_second, summed, window
from tierdeck.alerts.rule import Rule
from tierdeck.alerts.rules import (
    HIT_RATIO_DROP,
    HIT_RATIO_FLOOR,
    L2_OUTAGE,
    NO_DATA,
    POOL_FILLING,
    POOL_FULL,
    REQUESTS_DEFERRED,
    REQUESTS_FAILING,
    TIER_DROP,
    TTFT_BURN,
)
from tierdeck.fleet import POOL

_SHARE_LOST = 0.5
_FEWEST_CHUNKS = 20
_SHARE_NOT_LOADED = 0.1
_SHARE_FAILING = 0.01
_FEWEST_FAILED = 5
_FULL = 0.95
_OF_POOL = {"endpoint": POOL}
"""As Tierdeck's own alerts about pools are labelled: such a one reaches all of its cluster."""


@dataclass(frozen=True, slots=True)
class Alerting:
    """One alerting rule.

    Attributes:
        rule: the one of Tierdeck's that it stands for.
        says: figures, in the template language of annotations.
        labels: besides severity and endpoint.
        hold_seconds: None: the rule's own.
    """

    rule: Rule
    expr: str
    says: str
    labels: dict[str, str] = field(default_factory=dict)
    hold_seconds: float | None = None


def endpoint_alerts(options: RuleOptions) -> list[Alerting]:
    """Those on endpoints, caches and pools; the recordings they read come before them."""
    found = [_no_data(options), _failing(options), _deferred(options), *_outage(options)]
    if options.objective is not None:
        found.append(_burn(options, options.objective))
    found += [_drop(options), _tier_drop(options)]
    if options.floor is not None:
        found.append(_floor(options, options.floor))
    return [*found, *_filling(options)]


def _all(parts: Iterable[str], word: str = "and") -> str:
    return f"\n{word}\n".join(parts)


def _traffic(options: RuleOptions) -> tuple[str, str]:
    """Enough tokens and enough requests in the long window."""
    seconds = options.windows.long
    over = window(seconds)
    return (
        f"{recorded.prompt_tokens(over)} > {options.least_tokens / seconds:.6g}",
        f"{recorded.requests(over)} > {options.least_requests / seconds:.6g}",
    )


def _look_up(options: RuleOptions, record: str, *more: str) -> str:
    """A template that asks for the value of a recording with the alert's labels."""
    labels = (*options.scope.by, *more)
    inside = ",".join(f"{label}=%q" for label in labels)
    values = " ".join(f"$labels.{label}" for label in labels)
    return (
        f'{{{{ with printf "{record}{{{inside}}}" {values} | query }}}}'
        "{{ . | first | value | humanizePercentage }}{{ end }}"
    )


def _drop(options: RuleOptions) -> Alerting:
    short, long = window(options.windows.short), window(options.windows.long)
    usual = f"{recorded.USUAL} - {options.depth:g}"
    parts = (f"{recorded.hit_ratio(over)} < {usual}" for over in (long, short))
    says = (
        f"Hit ratio {{{{ $value | humanizePercentage }}}} over {long}, usually at least "
        f"{_look_up(options, recorded.USUAL)} at this time of day."
    )
    return Alerting(HIT_RATIO_DROP, _all((*parts, *_traffic(options))), says)


def _tier_drop(options: RuleOptions) -> Alerting:
    """L0 has the guard in tokens that its past has; L1 and L2 are of what LMCache looked up."""
    short, long = window(options.windows.short), window(options.windows.long)
    usual = f"{recorded.TIER_USUAL} - {options.depth:g}"
    parts = [f"{recorded.tier_ratio(over)} < {usual}" for over in (long, short)]
    tokens = f"{options.least_tokens / options.windows.long:.6g}"
    looked_up = recorded.of_model(
        options.scope, lambda by: f"{per_second(options.scope, names.LOOKUP_TOKENS, long, by=by)} > {tokens}"
    )
    busy = f"(\n  {recorded.prompt_tokens(long)} > {tokens}\n  or\n{indented(looked_up)}\n)"
    says = (
        f"{{{{ $labels.tier }}}} had {{{{ $value | humanizePercentage }}}} over {long}, usually at least "
        f"{_look_up(options, recorded.TIER_USUAL, 'tier')}: L0 of the prompt tokens, L1 and L2 of what LMCache "
        "looked up."
    )
    on = ", ".join(options.scope.by)
    return Alerting(TIER_DROP, f"{_all(parts)}\nand on ({on})\n{busy}", says)


def _floor(options: RuleOptions, floor: float) -> Alerting:
    long = window(options.windows.long)
    says = f"Hit ratio {{{{ $value | humanizePercentage }}}} over {long}; the floor is {100 * floor:g} %."
    return Alerting(HIT_RATIO_FLOOR, _all((f"{recorded.hit_ratio(long)} < {floor:g}", *_traffic(options))), says)


def _burn(options: RuleOptions, objective: Objective) -> Alerting:
    pairs = []
    for times, long, short in objective.burns(options.windows):
        spent = f"{times * objective.budget:.6g}"
        late = tuple(f"{recorded.late_share(window(seconds))} > {spent}" for seconds in (long, short))
        count = f"{recorded.first_tokens(window(long))} > {options.least_requests / long:.6g}"
        pairs.append(f"(\n{indented(_all((*late, count)))}\n)")
    share = f"{{{{ $value | humanizePercentage }}}} of first tokens came later than {objective.seconds:g} s"
    return Alerting(TTFT_BURN, _all(pairs, "or"), f"{share}; {100 * objective.budget:g} % may.")


def _outage(options: RuleOptions) -> list[Alerting]:
    scope, over = options.scope, window(options.windows.stores)

    def lost(by: tuple[str, ...]) -> str:
        submitted = per_second(scope, names.STORES_SUBMITTED, over, by=by)
        completed = per_second(scope, names.STORES_COMPLETED, over, by=by)
        enough = f"{_FEWEST_CHUNKS / options.windows.stores:.6g}"
        share = f"1 -\n{or_zero(completed, submitted)}\n/\n({submitted} > {enough})"
        return f"(\n{indented(share)}\n) > {_SHARE_LOST}"

    workers = now(scope, names.WORKERS_LOST)
    return [
        Alerting(
            L2_OUTAGE,
            f"{workers} > 0",
            "{{ $value }} of Curvine's workers are silent or lost.",
            {"sign": "workers_lost", **_OF_POOL},
        ),
        Alerting(
            L2_OUTAGE,
            recorded.of_model(scope, lost),
            f"{{{{ $value | humanizePercentage }}}} of the chunks submitted to L2 over {over} were not stored.",
            {"sign": "stores_incomplete"},
        ),
        _not_loaded(options),
    ]


def _not_loaded(options: RuleOptions) -> Alerting:
    """What LMCache found beyond all that vLLM had from L0 or loaded: at least that much was not loaded."""
    scope, over, by = options.scope, window(options.windows.stores), options.scope.shared
    found = per_second(scope, names.L1_FOUND, over, by=by), per_second(scope, names.L2_FOUND, over, by=by)
    hits = per_second(scope, names.EXTERNAL_HITS, over, by=by), per_second(scope, names.L0_HITS, over, by=by)
    both = f"(\n{indented(found[0])}\n  +\n{indented(or_zero(found[1], found[0]))}\n)"
    had = f"(\n{indented(hits[0])}\n  +\n{indented(hits[1])}\n)"
    least = f"{options.least_tokens / options.windows.long:.6g}"
    return Alerting(
        L2_OUTAGE,
        recorded.of_model(scope, lambda _: f"(1 -\n{had}\n/\n({both} > {least})) > {_SHARE_NOT_LOADED}"),
        f"At least {{{{ $value | humanizePercentage }}}} of the tokens that LMCache found over {over} were not loaded.",
        {"sign": "found_not_loaded"},
    )


def _failing(options: RuleOptions) -> Alerting:
    over = window(options.windows.short)
    failed = per_second(options.scope, names.FAILED, over)
    share = f"{failed}\n/\n({recorded.requests(over)} > 0) > {_SHARE_FAILING}"
    enough = f"{failed} >= {_FEWEST_FAILED / options.windows.short:.6g}"
    says = f"{{{{ $value | humanizePercentage }}}} of the requests over {over} ended in an error of the engine."
    return Alerting(REQUESTS_FAILING, f"{share}\nand\n{enough}", says)


def _deferred(options: RuleOptions) -> Alerting:
    """Engines on which requests waited for the cache all the time, and more of them than ran.

    Source: loads that are under way count as `deferred` too, so that some are there on any busy engine.
    """
    scope, over = options.scope, window(options.windows.deferred)
    waits = either(tuple(f"min_over_time({one}[{over}])" for one in scope.selectors(names.DEFERRED)))
    mean = either(tuple(f"avg_over_time({one}[{over}])" for one in scope.selectors(names.DEFERRED)))
    runs = either(tuple(f"avg_over_time({one}[{over}])" for one in scope.selectors(names.RUNNING)))
    inside = f"(({mean}) > ignoring (reason) ({runs}))\n  and ignoring (reason) (({waits}) > 0)"
    says = "{{ $value }} requests wait for the cache server, more than run."
    return Alerting(REQUESTS_DEFERRED, summed(inside, scope.by), says)


def _no_data(options: RuleOptions) -> Alerting:
    """Engines that were seen lately, at endpoints of which none is seen now: down, gone, or without metrics."""
    scope, back = options.scope, window(options.windows.memory)
    selectors = scope.selectors(names.PROCESSED_TOKENS)
    were = summed(either(tuple(f"present_over_time({one}[{back}])" for one in selectors)), scope.by, "count")
    are = summed(either(selectors), scope.by, "count")
    says = f"None of the {{{{ $value }}}} engines seen within {back} can be read. That is no hit ratio of 0."
    return Alerting(NO_DATA, f"{were}\nunless\n{are}", says)


def _filling(options: RuleOptions) -> list[Alerting]:
    """By the master's figures: `capacity` and the like are anybody's names, `worker_num` beside them is not.

    A pool whose use falls at times evicts, and may be full.
    """
    scope, windows = options.scope, options.windows
    by, over = scope.by, window(windows.pool)
    (live,), (used,) = scope.selectors(names.WORKERS_LIVE), scope.selectors(names.POOL_USED)
    (free,), (whole,) = scope.selectors(names.POOL_AVAILABLE), scope.selectors(names.POOL_CAPACITY)
    master = f"and ignoring (tag) {live}"
    capacity = summed(f"{whole} {master}", by)
    available = summed(f"{free} {master}", by)
    pace = summed(f"(deriv({used}[{over}]) and resets({used}[{over}]) == 0) {master}", by)
    least = f"{0.01 / windows.pool:.6g}"
    soon = (
        f"{available}\n/\n({pace} > {least} *\n{indented(capacity)}) < {windows.full:g}",
        "At the pace of the last " + over + " the pool is full in {{ $value | humanizeDuration }}.",
    )
    stores = window(windows.stores)
    submitted = per_second(scope, names.STORES_SUBMITTED, stores)
    completed = per_second(scope, names.STORES_COMPLETED, stores)
    on = ", ".join(label for label in by if label == "cluster")
    failing = f"{or_zero(completed, submitted)}\n<\n{submitted} * {1 - _SHARE_LOST:g}"
    full = (
        f"1 -\n{available}\n/\n({capacity} > 0) > {_FULL}\nand on ({on})\n({failing})",
        "The pool is {{ $value | humanizePercentage }} full, and what is submitted to it is not stored.",
    )
    return [Alerting(POOL_FILLING, *soon, _OF_POOL), Alerting(POOL_FULL, *full, _OF_POOL)]
