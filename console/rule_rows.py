"""Whether each rule can judge now: which figures it looks at, and for which endpoints or pools they are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from console.alert_words import severity_words
from console.judging import Judging
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.ttft import out_of_reach
from tierdeck.alerts.limits import AlertLimits
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rule import Rule
from tierdeck.alerts.rules import RULES
from tierdeck.fleet import POOL
from tierdeck.units import format_seconds

_FILE = "TIERDECK_ALERTS_FILE"
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
        unset: whom it does not judge since nobody wants it to: no limit is set, or it is switched off.
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
    unset: tuple[str, ...] = ()


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


def rule_rows(
    scene: Scene, judging: Judging | None = None, limits: Mapping[str, AlertLimits] | None = None
) -> tuple[RuleRow, ...]:
    """All rules, in the registry's order.

    Args:
        judging: who judges them; None: somebody does.
        limits: by cluster, what its rules are judged by; one that is missing has not been told.
    """
    told = _Told(scene, judging or Judging({"": ""}), limits or {})
    return tuple(_row(rule, told) for rule in RULES)


@dataclass(frozen=True, slots=True)
class _Told:
    scene: Scene
    judging: Judging
    limits: Mapping[str, AlertLimits]


def _row(rule: Rule, told: _Told) -> RuleRow:
    found = _found(rule, told)
    is_nowhere = told.judging.is_nowhere
    return RuleRow(
        rule.name, rule.title, severity_words(rule.severity), rule.meaning,
        f"{format_seconds(rule.hold_seconds)}" if rule.hold_seconds else "at once",
        "not now" if is_nowhere else found.judges, found.missing, rule.advice, rule.anchor,
        found.many > 0 and not is_nowhere, found.unset,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Found:
    """How many endpoints or pools a rule judges, in words too; whom it can't, and whom it is not to."""

    many: int
    judges: str
    missing: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


def _found(rule: Rule, told: _Told) -> _Found:
    scene, need = told.scene, NEEDS[rule.name]
    if rule.name == "deck_stale":
        return _Found(1, "the deck itself")
    pools = _looked_at(rule, scene.pools, told, lambda _: "") if need is None or rule.name == "l2_outage" else None
    if need is None:
        return pools if pools is not None and scene.pools else _Found(0, "no pool", ("No pool tells how full it is.",))
    if not scene.minutes:
        return _Found(0, "no endpoint", ("There is no endpoint.",))
    found = _looked_at(rule, scene.minutes, told, lambda subject: _lack(rule, need, subject, told))
    if pools is None or not scene.pools:
        return found
    return _Found(
        found.many + pools.many,
        f"{found.judges}, {pools.judges}",
        (*found.missing, *pools.missing),
        (*found.unset, *pools.unset),
    )


def _looked_at(rule: Rule, subjects: Iterable[Subject], told: _Told, lack: Callable[[Subject], str]) -> _Found:
    missing: dict[str, list[Subject]] = {}
    unset: dict[str, list[Subject]] = {}
    many, what = 0, "endpoint"
    for number, subject in enumerate(subjects, 1):
        many, what = number, "pool" if subject.endpoint == POOL else "endpoint"
        if why := _unset(rule, subject, told):
            unset.setdefault(why, []).append(subject)
        elif subject.cluster in told.judging.unjudged and not told.judging.is_nowhere:
            missing.setdefault("no rule of its cluster is judged now", []).append(subject)
        elif why := lack(subject):
            missing.setdefault(why, []).append(subject)
    fine = many - sum(len(some) for found in (missing, unset) for some in found.values())
    return _Found(fine, f"{fine} of {many} {what}{'' if many == 1 else 's'}", _said(missing), _said(unset))


def _unset(rule: Rule, subject: Subject, told: _Told) -> str:
    """Why nobody wants it to be judged; "": somebody does, or it is not known what is set."""
    limits = told.limits.get(subject.cluster)
    if limits is None:
        return ""
    if not limits.is_on(rule.name, subject):
        return f"not judged: the rule is switched off (`rules` in {_FILE})"
    key = {"hit_ratio_floor": "floor", "ttft_burn": "ttft"}.get(rule.name, "")
    is_set = {"floor": limits.floor(subject), "ttft": limits.objective(subject)}.get(key, True)
    return "" if is_set is not None else f"not judged: no limit is set (`{key}` in {_FILE})"


def _lack(rule: Rule, need: Need, subject: Subject, told: _Told) -> str:
    minute, limits = told.scene.minutes[subject], told.limits.get(subject.cluster)
    if not minute.readable and rule.name != "no_data":
        return "no replica is readable"
    if not need.is_met(minute):
        return need.reason
    if rule.name not in ("hit_ratio_floor", "ttft_burn"):
        return ""
    if limits is None:
        return "whether a limit is set is not known: its alerting process has not told yet"
    objective = limits.objective(subject)
    if rule.name != "ttft_burn" or objective is None or minute.ttft is None:
        return ""
    return out_of_reach(minute.ttft, objective)


def _said(found: Mapping[str, list[Subject]]) -> tuple[str, ...]:
    return tuple(f"{_names(some)}: {why}." for why, some in found.items())


def _names(subjects: list[Subject]) -> str:
    names = [subject.name for subject in sorted(subjects)]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
