"""What is lost, full, failing, late, silent: each condition on its case, on its look-alikes, and unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tests.unit.tierdeck.alerts.scenes import CHAT, NVME, START, run, scenes
from tierdeck.account import PoolAccount
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.cost import L2Costs
from tierdeck.alerts.conditions.l2 import L2Outage
from tierdeck.alerts.conditions.pool import PoolFilling
from tierdeck.alerts.conditions.requests import RequestsDeferred, RequestsFailing
from tierdeck.alerts.conditions.silent import NoData
from tierdeck.alerts.conditions.ttft import Objective, TtftBurn
from tierdeck.alerts.judgement import Detector, Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.fleet import POOL
from tierdeck.histogram import Histogram

TIB = 2**40
POOLS = Subject("east", POOL)


def verdicts(judgements: list[Judgement]) -> list[bool | None]:
    return [one.is_bad for one in judgements]


def test_silence_is_no_ratio_of_zero() -> None:
    gone, there = {"replicas": 2, "readable": 0}, {"replicas": 2, "readable": 1}
    judged = run(NoData(), scenes([there, gone, {"replicas": 0, "readable": 0}]))
    assert verdicts(judged) == [False, True, False], "an endpoint without replicas is asleep"
    assert judged[1].words == "None of 2 replicas of chat could be read."


def test_failed_requests_count_over_five_minutes() -> None:
    well, ill = {"requests": 100.0, "failed": 0.0}, {"requests": 100.0, "failed": 4.0}
    judged = run(RequestsFailing(), scenes([well, well, ill, ill, *[well] * 6]))
    assert verdicts(judged) == [False, False, True, True, True, True, True, False, False, False]
    assert judged[3].value == pytest.approx(8 / 400)
    assert "8 of 400 requests of chat failed" in judged[3].words


def test_a_few_failures_are_none_of_the_fleet_and_unknown_is_not_none() -> None:
    judged = run(RequestsFailing(), scenes([{"requests": 5.0, "failed": 2.0}, {"requests": 5.0, "failed": None}]))
    assert verdicts(judged)[0] is False
    assert verdicts(run(RequestsFailing(), scenes([{"requests": 5.0}]))) == [None]


def test_requests_that_wait_are_no_trouble_while_something_is_loaded() -> None:
    loading = {"deferred": 10.0, "running": 4.0, "stuck": ()}
    assert verdicts(run(RequestsDeferred(), scenes([loading] * 5))) == [False] * 5


def test_the_same_replica_must_be_stuck_for_two_minutes() -> None:
    one, other = {"deferred": 3.0, "stuck": ("chat-0",)}, {"deferred": 3.0, "stuck": ("chat-1",)}
    judged = run(RequestsDeferred(), scenes([one, other, other, {"deferred": 0.0}]))
    assert verdicts(judged) == [False, False, True, False]
    assert judged[2].evidence["replicas"] == "chat-1"
    assert judged[3].is_clear


def pool(free: float, *, lost: float = 0.0, capacity: float = 3 * TIB) -> PoolAccount:
    return PoolAccount(capacity_bytes=capacity, available_bytes=free, live=3.0 - lost, lost=0.0, blacklisted=lost)


STORING: dict[str, float] = {"stores_submitted": 100.0, "stores_completed": 98.0}
LOSING = {"stores_submitted": 100.0, "stores_completed": 0.0}


def test_a_pool_that_will_be_full_in_time_to_act() -> None:
    hours = 8
    free = [TIB * (1 - number / (60 * hours)) for number in range(60 * hours)]
    judged = [one for one in run_pool(free, STORING) if one.is_bad]
    first = judged[0]
    assert first.value is not None
    assert 3.9 * 3600 < first.value <= 4 * 3600
    assert "the last hour's pace it is full in" in first.words


def run_pool(free: list[float], figures: dict[str, float], rule: str = "pool_filling") -> list[Judgement]:
    return run(PoolFilling(), scenes([figures] * len(free), [pool(one) for one in free]), rule)


def test_a_pool_kept_at_its_brim_by_evictions_is_not_filling() -> None:
    brim = [TIB * (0.02 + 0.002 * (number % 5)) for number in range(120)]
    for rule in ("pool_filling", "pool_full"):
        assert not any(verdicts(run_pool(brim, STORING, rule)))


def test_a_pool_in_which_a_janitor_makes_room_now_and_then_is_not_filling() -> None:
    # Room falls from a quarter to 15 % within 30 minutes, and is made again: no time is like the first.
    janitor = [TIB * 3 * (0.25 - 0.1 * (number % 30) / 30) for number in range(180)]
    assert not any(verdicts(run_pool(janitor, STORING))[60:])
    filling = [TIB * 3 * (0.25 - 0.1 * number / 60) for number in range(60)]
    assert verdicts(run_pool(filling, STORING))[-1] is True


def test_a_full_pool_that_takes_nothing_is_full() -> None:
    assert verdicts(run_pool([0.0] * 20, LOSING, "pool_full"))[-1] is True
    assert verdicts(run_pool([0.0] * 20, {}, "pool_full"))[-1] is True, "nobody tells that stores complete"
    assert run_pool([0.0] * 20, LOSING, "pool_full")[-1].words.endswith("and nothing more is stored in it.")
    assert "no LMCache server tells whether more is stored" in run_pool([0.0] * 20, {}, "pool_full")[-1].words
    assert not any(verdicts(run_pool([0.0] * 20, LOSING))), "one that is full fills no more"


def test_a_pool_that_took_stores_at_its_brim_is_full_only_without_any_room() -> None:
    brim, figures = [0.02 * TIB] * 20, [STORING] * 10 + [LOSING] * 10
    judged = run(PoolFilling(), scenes(figures, [pool(one) for one in brim]), "pool_full")
    assert not any(verdicts(judged)), "stores are lost for another reason"
    empty = [0.02 * TIB] * 10 + [0.0] * 10
    assert verdicts(run(PoolFilling(), scenes(figures, [pool(one) for one in empty]), "pool_full"))[-1] is True


def test_a_new_pool_that_fills_has_only_begun() -> None:
    free = [3 * TIB - number * 0.01 * TIB for number in range(90)]
    assert not any(verdicts(run_pool(free, STORING)))


def test_a_pool_of_which_nothing_is_told_is_not_judged() -> None:
    (scene,) = scenes([{}], [PoolAccount(reason="master did not answer")])
    assert verdicts(list(PoolFilling().judge(scene))) == [None, None]


def l2(figures: Sequence[Mapping[str, object]], pools: list[PoolAccount] | None = None) -> list[Judgement]:
    """Of the pool where there is one, else of the endpoint."""
    return run(L2Outage(), scenes(figures, pools or ()), whose=POOLS if pools else CHAT)


def beside(figures: Mapping[str, Sequence[Mapping[str, object]]]) -> list[dict[str, bool | None]]:
    """What is said each minute of several endpoints of one pool, by name; `_pool` of the pool."""
    played = {name: scenes(minutes) for name, minutes in figures.items()}
    detector, said = L2Outage(), []
    firing: frozenset[tuple[str, Subject]] = frozenset()
    for parts in zip(*played.values(), strict=True):
        minutes = {replace(CHAT, endpoint=name): part.minutes[CHAT] for name, part in zip(played, parts, strict=True)}
        judged = list(detector.judge(Scene(parts[0].at, minutes, firing=firing)))
        firing = frozenset((one.rule, one.subject) for one in judged if one.is_bad)
        said.append({one.subject.endpoint: one.is_bad for one in judged})
    return said


def test_what_one_endpoint_sees_is_its_own_and_what_most_see_is_the_pools() -> None:
    well, ill = [STORING] * 9, [STORING] * 3 + [LOSING] * 6
    one = beside({"chat": ill, "rag": well, "code": well})[-1]
    assert one == {"_pool": False, "chat": True, "rag": False, "code": False}
    most = beside({"chat": ill, "rag": ill, "code": well})[-1]
    assert most == {"_pool": True, "chat": False, "rag": False, "code": False}, "it is said once"
    idle = beside(
        {"chat": ill, "rag": ill, **{f"idle-{number}": [{"stores_submitted": 0.0}] * 9 for number in range(9)}}
    )
    assert idle[-1]["_pool"], "those that do nothing can't tell"
    few = beside({"chat": ill, "rag": ill, **{f"well-{number}": well for number in range(9)}})[-1]
    assert [name for name, is_bad in few.items() if is_bad] == ["chat", "rag"], "the others' stores complete"


def test_what_was_said_of_an_endpoint_stays_its_own_when_others_see_it_too() -> None:
    first, later = [LOSING] * 12, [STORING] * 6 + [LOSING] * 6
    said = beside({"chat": first, "rag": later})
    assert (said[4], said[-1]) == (
        {"_pool": False, "chat": True, "rag": False},
        {"_pool": True, "chat": True, "rag": False},
    )


def test_the_pools_outage_spares_an_endpoint_that_shows_no_use_of_it() -> None:
    minutes = {
        CHAT: Minute(START, replicas=1, readable=1, stores_submitted=100.0, stores_completed=98.0),
        replace(CHAT, endpoint="plain"): Minute(START, replicas=1, readable=1, prompt_tokens=9.0, loaded_tokens=0.0),
        replace(CHAT, endpoint="silent"): Minute(START, replicas=1),
    }
    scene = replace(scenes([{}], [pool(TIB)])[0], minutes=minutes)
    (said,) = [one for one in L2Outage().judge(scene) if one.subject == POOLS]
    assert said.spared == ("plain",), "of one that can't be read nobody knows"
    (full,) = [one for one in PoolFilling().judge(scene) if one.rule == "pool_full"]
    assert full.spared == ("plain",)


def test_lost_workers_are_an_outage_until_they_are_how_it_is() -> None:
    pools = [pool(TIB)] * 5 + [pool(TIB, lost=1)] * 1500
    judged = l2([STORING] * len(pools), pools)
    assert verdicts(judged)[:5] == [False] * 5
    assert (verdicts(judged)[5], verdicts(judged)[1000]) == (True, True)
    assert verdicts(judged)[-1] is False, "since a day it is the usual number"
    assert judged[-1].evidence == {"over_because": "workers are still lost, for a day: 1 of nvme"}
    assert judged[5].words == "L2 is not working: 1 workers of nvme are lost."


def test_stores_that_never_complete_and_those_on_their_way() -> None:
    judged = l2([STORING] * 6 + [LOSING] * 6)
    assert not any(verdicts(judged)[:6])
    assert verdicts(judged)[-1] is True
    assert verdicts(l2([{"stores_submitted": 10.0, "stores_completed": 0.0}])) == [False], "so few are in flight"


def test_lost_stores_of_a_full_pool_are_told_by_the_pool() -> None:
    assert verdicts(l2([LOSING] * 6, [pool(0.0)] * 6))[-1] is False
    assert verdicts(run(L2Outage(), scenes([LOSING] * 6, [pool(0.0)] * 6), whose=CHAT))[-1] is False


FOUND = {
    "prompt_tokens": 10_000.0,
    "l0": 4_000.0,
    "found_l1": 5_000.0,
    "found_l2": 2_000.0,
    "lookup_tokens": 10_000.0,
    "stores_submitted": 50.0,
    "stores_completed": 50.0,
}


def test_what_is_found_and_not_loaded() -> None:
    well, ill = FOUND | {"loaded_tokens": 3_000.0}, FOUND | {"loaded_tokens": 1_000.0}
    judged = l2([well] * 6 + [ill] * 6)
    assert not any(verdicts(judged)[:6])
    assert verdicts(judged)[-1] is True
    assert "chat does not load what is found in it" in judged[-1].words


def test_more_found_than_prompts_have_is_no_count_of_what_was_not_loaded() -> None:
    # 5 minutes of 10,000 prompt tokens: up to 62,500 found are counters read apart, more belong to other prompts
    at_most = FOUND | {"found_l1": 10_500.0, "loaded_tokens": 1_000.0}
    assert verdicts(l2([at_most] * 6))[-1] is True
    assert verdicts(l2([at_most | {"found_l1": 10_501.0}] * 6))[-1] is False


def test_what_a_replica_does_not_count_is_not_found_in_vain() -> None:
    ill = FOUND | {"loaded_tokens": 1_000.0}
    assert verdicts(l2([ill | {"l0": None}] * 6)) == [False] * 6, "a scene tells no tiers then"


def test_a_pool_that_is_written_and_finds_nothing_where_it_used_to() -> None:
    well = FOUND | {"loaded_tokens": 3_000.0}
    blind = well | {"found_l2": 0.0, "found_l1": 7_000.0}
    assert verdicts(l2([well] * 30 + [blind] * 5))[-1] is True
    assert verdicts(l2([well] * 30 + [blind] * 3))[-1] is False, "not for long enough"
    assert verdicts(l2([blind] * 45))[-1] is False, "it never served anything: nothing is lost"


def test_a_loss_that_was_known_before_the_first_scene_is_no_news_and_one_of_today_goes_on() -> None:
    played = scenes([STORING] * 3, [pool(TIB, lost=1)] * 3)
    fresh, taught, old = L2Outage(), L2Outage(), L2Outage()
    taught.learn([(START - 7200.0, NVME, 0.0), (START - 3600.0, NVME, 1.0)])
    old.learn([(START - 7200.0, NVME, 1.0)])
    assert [verdicts(run(one, played, whose=POOLS))[-1] for one in (fresh, taught, old)] == [False, True, False]


def test_nothing_found_goes_on_being_an_outage_when_the_memory_of_before_is_gone() -> None:
    blind = FOUND | {"loaded_tokens": 3_000.0, "found_l2": 0.0, "found_l1": 7_000.0}
    firing = frozenset({("l2_outage", CHAT)})
    played = [replace(one, firing=firing) for one in scenes([blind] * 8)]
    assert verdicts(run(L2Outage(), played, whose=CHAT))[-1] is True


def test_an_l2_that_usually_finds_nothing_is_well_again_once_it_stores() -> None:
    blind = FOUND | {"loaded_tokens": 3_000.0, "found_l2": 0.0, "found_l1": 7_000.0}
    firing = frozenset({("l2_outage", CHAT)})
    played = scenes([blind] * 10 + [blind | {"stores_completed": 0.0}] * 5 + [blind] * 10)
    said = run(L2Outage(), [*played[:13], *(replace(one, firing=firing) for one in played[13:])], whose=CHAT)
    assert verdicts(said)[14] is True, "stores are lost"
    assert (said[-1].is_bad, said[-1].is_clear) == (False, True)


def test_one_that_used_to_find_stays_out_until_it_finds_again() -> None:
    well = FOUND | {"loaded_tokens": 3_000.0}
    blind = well | {"found_l2": 0.0, "found_l1": 7_000.0}
    firing = frozenset({("l2_outage", CHAT)})
    played = scenes([well] * 30 + [blind] * 400 + [well] * 6)
    said = run(L2Outage(), [*played[:37], *(replace(one, firing=firing) for one in played[37:])], whose=CHAT)
    assert verdicts(said)[429] is True, "what was found before is forgotten after 6 hours, and that it was is not"
    assert said[-1].is_clear


def test_of_an_l2_that_nobody_tells_of_nothing_is_said() -> None:
    assert verdicts(l2([{"prompt_tokens": 1000.0}])) == [None]


def ttft(late: float, soon: float) -> dict[str, object]:
    return {"ttft": Histogram((0.5, 2.0), (soon, 0.0, late))}


def test_ttft_spends_its_budget_only_where_both_windows_say_so() -> None:
    detector = TtftBurn(lambda subject: Objective(0.95, 2.0) if subject == CHAT else None)
    judged = run(detector, scenes([*[ttft(1, 99)] * 60, *[ttft(90, 10)] * 60, *[ttft(1, 99)] * 40]))
    bad = [number for number, one in enumerate(judged) if one.is_bad]
    assert bad, "90 of 100 are late for an hour"
    assert 60 < bad[0] < 120
    assert (judged[-1].is_bad, judged[-1].is_clear) == (False, True), "the short windows are well again"


def test_ttft_without_an_objective_or_a_bucket_for_it() -> None:
    assert list(TtftBurn(lambda subject: None).judge(scenes([ttft(9, 1)])[0])) == []
    beyond = TtftBurn(lambda subject: Objective(0.95, 30.0))
    assert verdicts(run(beyond, scenes([ttft(90, 10)] * 70)))[-1] is None, "no bucket reaches to the objective"


def test_loading_dearer_than_computing() -> None:
    cheap = {"load_seconds": 1.0, "load_tokens": 20_000.0, "prefill_seconds": 6.2, "computed_tokens": 20_000.0}
    dear = cheap | {"load_seconds": 7.0}
    assert verdicts(run(L2Costs(), scenes([cheap] * 3))) == [False] * 3
    judged = run(L2Costs(), scenes([dear] * 3))
    assert verdicts(judged) == [True] * 3
    assert judged[0].words == "Loading a token takes chat 350 µs, computing one 310 µs."
    assert verdicts(run(L2Costs(), scenes([{"load_seconds": 1.0}]))) == [None]


@pytest.mark.parametrize("detector", [L2Outage(), PoolFilling(), RequestsFailing(), NoData(), RequestsDeferred()])
def test_nothing_there_is_nothing_judged(detector: Detector) -> None:
    judged = list(detector.judge(Scene(0.0, {})))
    assert judged == []


def test_a_pool_is_named() -> None:
    assert NVME.name == "nvme"
