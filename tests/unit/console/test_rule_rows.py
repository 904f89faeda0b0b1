"""Whether each rule can judge: said of every rule, with the reason where it can't."""

from __future__ import annotations

from dataclasses import replace

from console.judging import Judging
from console.rule_rows import NEEDS, RuleRow, rule_rows
from tierdeck.account import PoolAccount
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.ttft import Objective
from tierdeck.alerts.limits import AlertLimits, Limits
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import HIT_RATIO_DROP, RULES
from tierdeck.fleet import POOL
from tierdeck.histogram import Histogram
from tierdeck.units import format_seconds

CHAT, RAG = Subject("east", "chat"), Subject("east", "rag")
FULL = Minute(0.0, prompt_tokens=1000, hit_tokens=800, l0=500, l1=200, l2=100, replicas=2, readable=2)
PLAIN = Minute(0.0, prompt_tokens=1000, replicas=1, readable=1)
SILENT = Minute(0.0, replicas=2)


def rows(
    *minutes: tuple[Subject, Minute], pools: int = 0, trouble: str = "", limits: AlertLimits | None = None
) -> dict[str, RuleRow]:
    found = {Subject("east", POOL, f"p{number}"): PoolAccount() for number in range(pools)}
    told = {"east": limits} if limits is not None else {}
    return {row.name: row for row in rule_rows(Scene(0.0, dict(minutes), found), Judging({"east": trouble}), told)}


def test_every_rule_has_its_needs() -> None:
    assert set(NEEDS) == {rule.name for rule in RULES}


def test_a_rule_says_for_whom_it_has_figures_and_why_not_for_others() -> None:
    told = rows((CHAT, FULL), (RAG, PLAIN))["hit_ratio_drop"]
    assert told.judges == "1 of 2 endpoints"
    assert told.missing == ("rag: hits below L0 are not known, so that there is no hit ratio.",)
    assert told.is_judged
    assert told.hold == format_seconds(HIT_RATIO_DROP.hold_seconds)


def test_an_endpoint_that_tells_nothing_is_no_lack_of_a_metric_and_no_data_judges_it() -> None:
    told = rows((CHAT, SILENT))
    assert told["hit_ratio_drop"].missing == ("chat: no replica is readable.",)
    assert not told["hit_ratio_drop"].is_judged
    assert told["no_data"].judges == "1 of 1 endpoint"


def test_pools_are_judged_where_there_are_any() -> None:
    assert rows((CHAT, FULL))["pool_filling"].missing == ("No pool tells how full it is.",)
    assert rows((CHAT, FULL), pools=1)["pool_filling"].judges == "1 of 1 pool"
    assert rows((CHAT, PLAIN), pools=1)["l2_outage"].is_judged


def test_nothing_is_judged_while_nobody_judges() -> None:
    told = rows((CHAT, FULL), trouble="The alerting process is not running.")
    assert {row.judges for row in told.values()} == {"not now"}
    assert told["hit_ratio_drop"].missing == ()  # the page says it once


TIMED = replace(FULL, ttft=Histogram((0.5, 80.0), (9.0, 1.0, 0.0)))


def test_what_has_no_limit_is_not_judged_and_says_which_setting_would_set_one() -> None:
    limits = AlertLimits(endpoints={"chat": Limits(floor=0.5, rules={"no_data": False})})
    told = rows((CHAT, TIMED), (RAG, TIMED), limits=limits)
    assert told["hit_ratio_floor"].judges == "1 of 2 endpoints"
    assert told["hit_ratio_floor"].unset == ("rag: not judged: no limit is set (`floor` in TIERDECK_ALERTS_FILE).",)
    assert not told["ttft_burn"].is_judged
    assert told["ttft_burn"].unset == ("chat, rag: not judged: no limit is set (`ttft` in TIERDECK_ALERTS_FILE).",)
    assert told["ttft_burn"].missing == (), "nobody wants it, so that it is no gap of a shift"
    assert told["no_data"].unset == ("chat: not judged: the rule is switched off (`rules` in TIERDECK_ALERTS_FILE).",)
    unknown = rows((CHAT, TIMED))["hit_ratio_floor"]
    assert "is not known" in unknown.missing[0]


def test_an_objective_beyond_the_last_bucket_can_not_be_judged() -> None:
    def missing(seconds: float) -> tuple[str, ...]:
        limits = AlertLimits(Limits(ttft=Objective(0.95, seconds)))
        return rows((CHAT, TIMED), limits=limits)["ttft_burn"].missing

    assert missing(80.0) == ()
    assert missing(200.0) == (
        "chat: its objective of 200 s can't be judged: the last bucket ends at 80 s, and what is later is one count.",
    )


def test_endpoints_of_a_cluster_that_nobody_judges_are_named() -> None:
    west = Subject("west", "chat")
    scene = Scene(0.0, {CHAT: FULL, west: FULL})
    told = {row.name: row for row in rule_rows(scene, Judging({"east": "", "west": "Nothing is judged."}))}
    assert told["hit_ratio_drop"].judges == "1 of 2 endpoints"
    assert told["hit_ratio_drop"].missing == ("chat: no rule of its cluster is judged now.",)


def test_of_many_endpoints_the_first_are_named() -> None:
    many = [(Subject("east", f"e{number}"), PLAIN) for number in range(5)]
    assert rows(*many)["tier_drop"].missing == ("e0, e1, e2 and 2 more: the tiers are not told apart.",)
