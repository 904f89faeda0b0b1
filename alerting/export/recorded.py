"""Recording rules: tokens, requests and ratios of every endpoint under one name, whatever upstream called them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from alerting.export import names
from alerting.export.options import Objective, RuleOptions
from alerting.export.promql import Scope, either, indented, or_zero, per_second, summed, window


@dataclass(frozen=True, slots=True)
class Recording:
    """What a query gives, kept under a name."""

    record: str
    expr: str
    labels: dict[str, str] = field(default_factory=dict)


def prompt_tokens(over: str) -> str:
    return f"tierdeck:prompt_tokens:rate{over}"


def l0_tokens(over: str) -> str:
    return f"tierdeck:l0_tokens:rate{over}"


def lower_tokens(over: str) -> str:
    """Loaded from below L0."""
    return f"tierdeck:lower_tokens:rate{over}"


def requests(over: str) -> str:
    return f"tierdeck:requests:rate{over}"


def hit_ratio(over: str) -> str:
    return f"tierdeck:hit_ratio:rate{over}"


def tier_ratio(over: str) -> str:
    """With the label `tier`: L0 of the prompt tokens, L1 and L2 of what LMCache looked up."""
    return f"tierdeck:tier_ratio:rate{over}"


def first_tokens(over: str) -> str:
    return f"tierdeck:first_tokens:rate{over}"


def late_share(over: str) -> str:
    """Of first tokens, that came later than the objective allows."""
    return f"tierdeck:ttft_late:ratio_rate{over}"


USUAL = "tierdeck:hit_ratio:usual"
MODEL = "tierdeck:model:only"
TIER_USUAL = "tierdeck:tier_ratio:usual"
_PAST, _TIER_PAST = "tierdeck:hit_ratio:past", "tierdeck:tier_ratio:past"


def token_recordings(options: RuleOptions) -> list[Recording]:
    """Counts and ratios over the short and the long window, and what was usual: evaluated in this order."""
    found = _model(options)
    for seconds in (options.windows.short, options.windows.long):
        found += _window(options.scope, window(seconds))
    for seconds in options.windows.past:
        found += _past(options, seconds)
    found.append(Recording(USUAL, f"min without (past) ({_PAST})"))
    found.append(Recording(TIER_USUAL, f"min without (past) ({_TIER_PAST})"))
    return found


def of_model(scope: Scope, build: Callable[[tuple[str, ...]], str]) -> str:
    """A cache's figures with the model of the engines beside it, as these call it, where they serve but one.

    A cache knows its model by another name (a path), or not at all.

    Args:
        build: gives the figures by such labels.
    """
    if not _tells_models(scope):
        return build(scope.by)
    on = ", ".join(scope.shared)
    known = f"(\n{indented(build(scope.without_model))}\n)\n* on ({on}) group_left (model_name) {MODEL}"
    return f"{known}\nor\n(\n{indented(build(scope.by))}\n)\nunless on ({on}) {MODEL}"


def _tells_models(scope: Scope) -> bool:
    return "model_name" in scope.by and bool(scope.shared)


def _model(options: RuleOptions) -> list[Recording]:
    """1 for the model of each place where engines serve but one; those that were there lately count."""
    scope = options.scope
    if not _tells_models(scope):
        return []
    back = window(options.windows.memory)
    seen = either(tuple(f"present_over_time({one}[{back}])" for one in scope.selectors(names.PROCESSED_TOKENS)))
    models = summed(seen, (*scope.shared, "model_name"), "group")
    return [
        Recording(
            MODEL, f"{models}\nand on ({', '.join(scope.shared)})\n({summed(models, scope.shared, 'count')} == 1)"
        )
    ]


def _window(scope: Scope, over: str) -> list[Recording]:
    looked_up = prompt_tokens(over)
    lower = or_zero(lower_tokens(over), l0_tokens(over))
    found = [
        Recording(looked_up, per_second(scope, names.PROMPT_TOKENS, over)),
        Recording(l0_tokens(over), per_second(scope, names.L0_HITS, over)),
        Recording(lower_tokens(over), per_second(scope, names.EXTERNAL_HITS, over)),
        Recording(requests(over), per_second(scope, names.REQUESTS, over)),
        Recording(hit_ratio(over), f"({l0_tokens(over)} + {lower})\n/ ({looked_up} > 0)"),
        Recording(tier_ratio(over), f"{l0_tokens(over)} / ({looked_up} > 0)", {"tier": "L0"}),
    ]
    return found + _cache_tiers(scope, tier_ratio(over), over)


def _cache_tiers(scope: Scope, record: str, over: str, offset: str = "", past: str = "") -> list[Recording]:
    """L1 and L2 as LMCache's server counts them: of what it looked up, which includes what L0 then served."""

    def ratio(metric: names.Metric) -> Callable[[tuple[str, ...]], str]:
        def build(by: tuple[str, ...]) -> str:
            looked_up = per_second(scope, names.LOOKUP_TOKENS, over, offset=offset, by=by)
            return f"{per_second(scope, metric, over, offset=offset, by=by)}\n/\n({looked_up} > 0)"

        return build

    more = {"past": past} if past else {}
    return [
        Recording(record, of_model(scope, ratio(metric)), {"tier": tier, **more})
        for tier, metric in (("L1", names.L1_FOUND), ("L2", names.L2_FOUND))
    ]


def _past(options: RuleOptions, ago: float) -> list[Recording]:
    """The same instant of an earlier day, from the counters themselves: the rules need no past of their own."""
    scope, span = options.scope, options.windows.past_span
    over, offset, past = window(span), window(ago - span / 2), window(ago)
    least = options.least_tokens / options.windows.long
    labels = {"past": past}
    counted = {
        "tierdeck:prompt_tokens:past": names.PROMPT_TOKENS,
        "tierdeck:l0_tokens:past": names.L0_HITS,
        "tierdeck:lower_tokens:past": names.EXTERNAL_HITS,
    }
    found = [
        Recording(record, per_second(scope, metric, over, offset=offset), labels) for record, metric in counted.items()
    ]
    # the label `past` is already there: only this day's series meet
    looked_up, l0, lower = (f'{record}{{past="{past}"}}' for record in counted)
    enough = f"({looked_up} > {least:g})"
    found += [
        Recording(_PAST, f"({l0} + {or_zero(lower, l0)})\n/ {enough}", labels),
        Recording(_TIER_PAST, f"{l0} / {enough}", {"tier": "L0", **labels}),
    ]
    return found + _cache_tiers(scope, _TIER_PAST, over, offset, past)


def ttft_recordings(options: RuleOptions, objective: Objective) -> list[Recording]:
    """Share of late first tokens over every window of the objective; nothing where no bucket ends at its bound."""
    found = []
    for seconds in sorted({one for pair in objective.burns(options.windows) for one in pair[1:]}):
        over = window(seconds)
        count = _histogram(options.scope, "_count", over)
        in_time = _histogram(options.scope, "_bucket", over, f'le=~"{_bound(objective.seconds)}"')
        found.append(Recording(first_tokens(over), count))
        found.append(Recording(late_share(over), f"1 -\n{in_time}\n/\n({first_tokens(over)} > 0)"))
    return found


def _histogram(scope: Scope, suffix: str, over: str, *more: str) -> str:
    parts = tuple(f"rate({one}[{over}])" for one in scope.selectors(names.TTFT, *more, suffix=suffix))
    return summed(either(parts), scope.by)


def _bound(seconds: float) -> str:
    """`1` and `1.0`: libraries write whole bounds either way."""
    text = f"{seconds:g}".replace(".", r"\\.")
    return text if "." in text else rf"{text}(\\.0)?"
