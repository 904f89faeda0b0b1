"""Whether each rule can judge now: which figures it looks at, and for which endpoints or pools they are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.alert_words import severity_words
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rule import Rule
from tierdeck.alerts.rules import RULES
from tierdeck.units import format_seconds

_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Need:
    """What a rule looks at in one minute of an endpoint.

    Attributes:
        is_met: the figures are there.
        reason: why it can't be judged where they are not.
    """

    is_met: Callable[[Minute], bool]
    reason: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule in words.

    Attributes:
        judges: `3 of 3 endpoints`.
        missing: whom it can't judge and why, a sentence a reason; (): nobody.
    """

    name: str
    title: str
    severity: str
    meaning: str
    hold: str
    judges: str
    missing: tuple[str, ...]
    advice: tuple[str, ...]
    anchor: str
    is_judged: bool


_HITS = Need(
    lambda one: one.prompt_tokens is not None and one.hit_tokens is not None,
    "hits below L0 are not known, so that there is no hit ratio",
)
_TIERS = Need(
    lambda one: one.prompt_tokens is not None and None not in (one.l0, one.l1, one.l2), "the tiers are not told apart"
)
_STORES = Need(
    lambda one: one.stores_submitted is not None or one.lookup_tokens is not None,
    "neither stores to L2 nor lookups in it are exported",
)
NEEDS: dict[str, Need | None] = {
    "hit_ratio_drop": _HITS,
    "hit_ratio_drift": _HITS,
    "hit_ratio_floor": _HITS,
    "tier_drop": _TIERS,
    "ttft_burn": Need(lambda one: one.ttft is not None, "no time to first token is exported"),
    "l2_outage": _STORES,
    "requests_failing": Need(lambda one: one.failed is not None, "requests that failed are not exported"),
    "requests_deferred": Need(lambda one: one.deferred is not None, "requests that wait as deferred are not exported"),
    "l2_costs": Need(
        lambda one: None not in (one.prefill_seconds, one.computed_tokens, one.load_seconds, one.load_tokens),
        "what loading and computing a token take is not exported",
    ),
    "no_data": Need(lambda one: one.replicas > 0, "it has no replica"),
    "pool_full": None,
    "pool_filling": None,
    "deck_stale": None,
}
"""By rule; None: it is not about endpoints."""


def rule_rows(scene: Scene, trouble: str = "") -> tuple[RuleRow, ...]:
    """All rules, in the registry's order.

    Args:
        trouble: why no rule is judged at all; "": they are.
    """
    return tuple(_row(rule, scene, trouble) for rule in RULES)


def _row(rule: Rule, scene: Scene, trouble: str) -> RuleRow:
    judges, missing, is_judged = _judged(rule, scene)
    if trouble:
        judges, is_judged = "not now", False
    return RuleRow(
        rule.name, rule.title, severity_words(rule.severity), rule.meaning,
        f"{format_seconds(rule.hold_seconds)}" if rule.hold_seconds else "at once",
        judges, missing, rule.advice, rule.anchor, is_judged,
    )  # fmt: skip


def _judged(rule: Rule, scene: Scene) -> tuple[str, tuple[str, ...], bool]:
    need = NEEDS[rule.name]
    if rule.name == "deck_stale":
        return "the deck itself", (), True
    if need is None:
        if not scene.pools:
            return "no pool", ("No pool tells how full it is.",), False
        return _count(len(scene.pools), len(scene.pools), "pool"), (), True
    if not scene.minutes:
        return "no endpoint", ("There is no endpoint.",), False
    silent: list[Subject] = []
    lacking: list[Subject] = []
    for subject, minute in scene.minutes.items():
        if not minute.readable and rule.name != "no_data":
            silent.append(subject)
        elif not need.is_met(minute):
            lacking.append(subject)
    many = len(scene.minutes)
    fine = many - len(silent) - len(lacking)
    missing = [
        f"{_names(some)}: {why}." for some, why in ((silent, "no replica is readable"), (lacking, need.reason)) if some
    ]
    pools = len(scene.pools) if rule.name == "l2_outage" else 0
    judges = _count(fine, many, "endpoint") + (f", {_count(pools, pools, 'pool')}" if pools else "")
    return judges, tuple(missing), fine + pools > 0


def _names(subjects: list[Subject]) -> str:
    names = [subject.name for subject in sorted(subjects)]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _count(some: int, many: int, word: str) -> str:
    return f"{some} of {many} {word}{'' if many == 1 else 's'}"
