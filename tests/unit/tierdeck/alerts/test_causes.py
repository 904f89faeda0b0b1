"""Each cause comes first in its own case, and not in those that look like it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.around_an_alert import (
    GIB,
    NOW,
    ONSET,
    USUAL,
    Habit,
    account,
    around,
    event,
    pool,
    pool_readings,
    silent,
)
from tierdeck.account import Answer
from tierdeck.alerts.alert import FoundCause
from tierdeck.alerts.causes import CAUSES, MOST, find_causes
from tierdeck.alerts.circumstances import Circumstances, TargetState
from tierdeck.alerts.rules import BY_NAME
from tierdeck.events import EventKind
from tierdeck.rounds import SaltCounts

COLD = replace(USUAL, l0=0.1, l1=0.0, l2=0.4)
"""After a restart: L2 takes over some of what L0 and L1 had."""
NO_L2 = replace(USUAL, l2=0.0)
CUT_OFF = replace(USUAL, l1=0.0, l2=0.0)
ELSEWHERE = replace(USUAL, l0=0.15, l1=0.4, l2=0.15)
"""Sent to another replica than before: LMCache has it all the same."""
OTHER_TEXTS = Habit(l0=0.1, l1=0.05, l2=0.05)
GONE_KEYS = replace(USUAL, l1=0.0, l2=0.05, stored=3.0)
LOSING = replace(USUAL, completing=0.0)
LOST = replace(USUAL, l1=0.02, l2=0.02, stored=3.0, l1_used=2 * GIB)


def first(seen: Circumstances) -> FoundCause:
    return find_causes(seen)[0]


def without(seen: Circumstances, name: str, answer: Answer = Answer.NOTHING) -> Circumstances:
    """A replica that can't be read since."""
    return replace(seen, after=replace(seen.after, replicas={**seen.after.replicas, name: silent(name, answer)}))


def unwired(seen: Circumstances, name: str) -> Circumstances:
    one = seen.after.replicas[name]
    broken = replace(one.ledger, prompt_tokens=0.0, l0_hits=0.0)
    return replace(seen, after=replace(seen.after, replicas={**seen.after.replicas, name: replace(one, ledger=broken)}))


def writing(seen: Circumstances, **chunks: float) -> Circumstances:
    return replace(seen, after=replace(seen.after, stored=chunks))


def queueing(seen: Circumstances) -> Circumstances:
    return replace(seen, before=replace(seen.before, waiting=0.5), after=replace(seen.after, waiting=9.0))


def scaled(gone: tuple[str, ...] = (), **new: Habit) -> Circumstances:
    seen = around(3, new)
    replicas = {name: one for name, one in seen.after.replicas.items() if name not in gone}
    sides = replace(seen.before, replicas={name: seen.before.replicas[name] for name in "abc"})
    return replace(seen, before=sides, after=replace(seen.after, replicas=replicas), declared=frozenset(replicas))


def with_tenants(
    after: Habit, gold: tuple[float, float], iron: tuple[float, float], iron_found_before: float = 800.0
) -> Circumstances:
    """(looked up, found) of each tenant since; before each looked up 1000 tokens, and gold found 800."""
    seen = around(3, after)
    usual = {"gold": SaltCounts(1000.0, 600.0, 200.0), "iron": SaltCounts(1000.0, 0.0, iron_found_before)}
    since = {name: SaltCounts(one[0], 0.0, one[1]) for name, one in (("gold", gold), ("iron", iron))}
    return replace(seen, before=replace(seen.before, salts=usual), after=replace(seen.after, salts=since))


NEW_ROUTING = event(EventKind.ROUTING_CHANGED, "routing kvaware → roundrobin")
FROZEN = (TargetState("b", "lmcache-mp", "timed out", ONSET - 15),)
SHRUNK = event(EventKind.SIZE_CHANGED, "L0 0.9 → 0.5, by argo-cd", tier="L0")
OWN: dict[str, tuple[str, Circumstances]] = {
    "a page without series": ("metrics_lost", without(around(3), "b", Answer.NO_SERIES)),
    "a counter that stands still": ("metrics_lost", unwired(around(3), "b")),
    "nothing answers": ("metrics_lost", without(without(around(2, rule="no_data"), "a"), "b")),
    "a worker is gone": (
        "l2_outage",
        around(3, replace(USUAL, l2=0.05), pools=pool_readings(since=pool(live=2.0, size=200 * GIB, blacklisted=1.0))),
    ),
    "writes are lost": ("l2_outage", around(3, replace(USUAL, l2=0.05, completing=0.0))),
    "L2 finds nothing": ("l2_outage", around(3, NO_L2)),
    "L2 can't be read": ("l2_outage", around(3, replace(USUAL, l2=0.0, unread=0.2))),
    "stores are lost, and no ratio moves yet": ("l2_outage", around(3, LOSING, rule="l2_outage")),
    "requests fail after L2": (
        "l2_outage",
        around(3, rule="requests_failing", pools=pool_readings(since=pool(live=0.0, blacklisted=3.0))),
    ),
    "a cache server is frozen": ("cache_server", around(3, {"b": CUT_OFF}, targets=FROZEN)),
    "requests wait for a cache server": (
        "cache_server",
        without(around(3, rule="requests_deferred", targets=FROZEN), "b"),
    ),
    "one restarted": ("restart", around(3, {"c": COLD}, restarted=["c"])),
    "all restarted": ("restart", around(3, COLD, restarted="abc")),
    "out of memory": (
        "restart",
        around(
            3, {"c": COLD}, restarted=["c"], events=(event(EventKind.OOM, "c: vllm ran out of memory", "c"),)
        ),
    ),
    "routing changed": ("routing_change", around(3, ELSEWHERE, part="L0", rule="tier_drop")),
    "routing changed, as told": (
        "routing_change",
        around(3, replace(ELSEWHERE, l1=0.25), events=(NEW_ROUTING,)),
    ),
    "the router restarted": (
        "routing_change",
        around(
            3,
            replace(ELSEWHERE, l1=0.25),
            events=(event(EventKind.RESTART, "router-0: router restarted", "router-0", component="router"),),
        ),
    ),
    "L0 is wiped": ("l0_wiped", around(3, {"b": replace(USUAL, l0=0.05, l1=0.45)}, part="L0", rule="tier_drop")),
    "sizes changed, as told": ("resized", around(3, COLD, restarted="abc", events=(SHRUNK,))),
    "sizes changed, as gauges tell": ("resized", around(3, replace(COLD, l0_size=200_000.0), restarted="abc")),
    "the pool shrank": (
        "resized",
        around(3, replace(USUAL, l2=0.08), pools=pool_readings(since=pool(size=100 * GIB))),
    ),
    "a tenant's chunks are deleted": ("quota", with_tenants(replace(USUAL, l1=0.1, l2=0.1), (1000, 800), (1000, 40))),
    "tiers lost their content": ("eviction_storm", around(3, LOST, pools=pool_readings(since=pool(used=0.1)))),
    "scaled out": ("capacity", scaled(d=Habit(l0=0.05, l1=0.0, l2=0.1), e=Habit(l0=0.05, l1=0.0, l2=0.1))),
    "scaled in": ("capacity", scaled(gone=("c",), a=replace(USUAL, tokens=1500.0), b=replace(USUAL, tokens=1500.0))),
    "a node was replaced": ("capacity", scaled(gone=("c",), d=Habit(l0=0.05, l1=0.0, l2=0.2))),
    "prompts are longer": ("workload_shift", around(3, replace(OTHER_TEXTS, length=9000.0))),
    "prompts have less in common": ("workload_shift", around(3, OTHER_TEXTS)),
    "three times as many, where they were": (
        "workload_shift",
        around(3, replace(ELSEWHERE, tokens=3000.0), part="L0", rule="tier_drop"),
    ),
    "another tenant": ("workload_shift", with_tenants(OTHER_TEXTS, (200, 160), (5000, 250), 50.0)),
    "other keys": ("key_mismatch", around(3, GONE_KEYS)),
    "other keys since a restart": (
        "key_mismatch",
        around(3, {"c": Habit(l0=0.3, l1=0.0, l2=0.0, stored=3.0)}, restarted=["c"]),
    ),
    "engines are busy": ("queueing", queueing(around(3, replace(USUAL, tokens=3000.0), rule="ttft_burn"))),
    "one endpoint fills the pool": ("heavy_writer", writing(around(3, rule="pool_filling"), chat=900.0, rag=100.0)),
    "nothing at all": ("unknown", around(3)),
    "one falls, and nothing tells why": ("unknown", around(3, {"b": replace(USUAL, l1=0.0)})),
}  # fmt: skip


@pytest.mark.parametrize("case", OWN)
def test_it_comes_first_in_its_own_case(case: str) -> None:
    name, seen = OWN[case]
    found = find_causes(seen)
    assert found[0].name == name, [(one.name, one.words) for one in found]
    assert len(found) <= MOST


@pytest.mark.parametrize("case", OWN)
def test_it_says_what_was_seen(case: str) -> None:
    for one in find_causes(OWN[case][1]):
        assert one.words
        assert one.evidence
        assert one.at is not None


@pytest.mark.parametrize("cause", CAUSES, ids=lambda one: one.name)
def test_every_cause_has_a_case_of_its_own(cause: Any) -> None:
    assert any(name == cause.name for name, _ in OWN.values())
    assert cause.rules <= BY_NAME.keys()


def test_every_rule_has_a_cause_that_may_say_something() -> None:
    for rule in BY_NAME:
        assert any(rule in cause.rules for cause in CAUSES)


def test_names_are_distinct() -> None:
    assert len({cause.name for cause in CAUSES}) == len(CAUSES)


def test_the_share_of_the_drop_is_said_in_points_with_the_instant_in_utc() -> None:
    # before each has 0.8; c falls to 0.3: 50 points of a third of the tokens, and all fall by 3 points besides
    some = replace(USUAL, l0=0.37)
    found = first(around(3, {"a": some, "b": some, "c": replace(COLD, l2=0.2)}, restarted=["c"]))
    assert found.words.startswith("-17 of -19 points: replica c, restarted 08:02 UTC")
    assert found.points == pytest.approx(-16.7, abs=0.05)
    assert (found.replica, found.at) == ("c", ONSET + 120)


def test_a_restart_that_explains_little_is_named_after_what_explains_more() -> None:
    found = find_causes(around(6, replace(USUAL, l2=0.0), restarted=["c"]))
    assert found[0].name == "l2_outage"
    assert "restart" in {one.name for one in found[1:]}


def test_an_event_is_quoted() -> None:
    changed = event(EventKind.ROUTING_CHANGED, "routing kvaware → roundrobin, by alice", at=ONSET - 30)
    found = first(around(3, replace(ELSEWHERE, l1=0.25), events=(changed,)))
    assert "routing kvaware → roundrobin, by alice, 07:59 UTC" in found.words


def test_a_change_of_routing_that_nobody_told_is_called_so() -> None:
    assert "no change of routing was told" in first(OWN["routing changed"][1]).words


def test_what_evictions_and_other_keys_have_in_common_is_said() -> None:
    full = pool_readings(pool(used=0.99), pool(used=0.99))
    for one in find_causes(around(3, GONE_KEYS, pools=full))[:1]:
        assert "looks the same" in one.words
    storm = first(OWN["tiers lost their content"][1])
    assert "evictions themselves are not in the store" in storm.evidence


def test_a_ratio_that_did_not_fall_is_called_so() -> None:
    assert first(around(3, rule="hit_ratio_floor")).words.startswith("The ratio did not fall")


def test_without_anything_to_compare_with_it_says_so() -> None:
    seen = around(3)
    found = first(
        replace(seen, before=replace(seen.before, replicas=seen.after.replicas), after=replace(seen.after, replicas={}))
    )
    assert found.name == "metrics_lost"
    nothing = first(replace(seen, before=replace(seen.before, replicas={}), after=replace(seen.after, replicas={})))
    assert nothing.name == "unknown"
    assert "nothing to compare with" in nothing.evidence


def test_a_restart_of_yesterday_is_dated() -> None:
    seen = around(3, {"c": COLD}, restarted=["c"], now=NOW + 86400)
    assert "2027-01-15 08:02 UTC" in first(seen).words


def test_a_replica_that_does_not_answer_is_not_said_to_have_failed() -> None:
    seen = without(around({"a": USUAL, "b": replace(USUAL, l0=0.6), "c": USUAL}), "b")
    assert first(seen).name == "metrics_lost"
    assert "whether they serve can't be told from here" in first(seen).words


def test_every_cause_has_a_section_in_the_document() -> None:
    text = (Path(__file__).parents[4] / "docs" / "causes.md").read_text("utf-8")
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings[-len(CAUSES) :] == [f"`{cause.name}`" for cause in CAUSES]


def test_a_fully_idle_side_raises_nothing() -> None:
    edges = (ONSET, NOW)
    idle = replace(USUAL, tokens=0.0)
    seen = around(2)
    find_causes(replace(seen, after=replace(seen.after, replicas={"a": account("a", idle, edges)})))
    find_causes(replace(seen, after=replace(seen.after, replicas={})))
