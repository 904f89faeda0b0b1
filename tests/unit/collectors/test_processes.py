"""One engine behind several paths: what proves it, what does not, and how a path stands in for another."""

from pathlib import Path

from collectors.processes import Paths, are_one, same_processes
from collectors.source import Key, TargetReading
from tests.support.expositions import START, codes, explained, lmcache_mp, vllm
from tierdeck.readings import Reading


def page(lookups: float, start: float | None = START, created: float | None = None) -> TargetReading:
    gauges = {} if created is None else {Key(Reading.CREATED, "0"): created}
    counters = {Key(Reading.PROMPT_TOKENS, "0"): lookups}
    return TargetReading(start_time=start, counters=counters, gauges=gauges, recognised=True)


def test_creation_times_prove_one_process_though_its_counters_moved_in_between() -> None:
    assert are_one(page(100, created=7.25), page(120, created=7.25))
    assert not are_one(page(100, created=7.25), page(100, created=7.5))
    assert not are_one(page(100, created=7.25), page(100))


def test_creation_times_prove_nothing_against_the_counters() -> None:
    assert not are_one(page(1000, created=7.25), page(5000, created=7.25))
    two = [{"A": [page(n, created=7.5)], "B": [page(3 * n, created=7.5)]} for n in (0, 4416)]
    assert same_processes(two) == ({}, {})


def test_replicas_that_part_later_were_never_one() -> None:
    moments = [{name: [page(n, created=7.5)] for name in "AB"} for n in (10, 20)]
    assert same_processes(moments) == ({"B": "A"}, {})
    parted = {"A": [page(1, start=START + 70, created=80.0)], "B": [page(30, created=7.5)]}
    assert same_processes([*moments, parted]) == ({}, {})


def test_engines_of_one_start_are_told_apart_by_their_label() -> None:
    a, b = page(100, created=7.25), page(100, created=7.25)
    other = TargetReading(
        start_time=START,
        counters={Key(Reading.PROMPT_TOKENS, "1"): 100.0},
        gauges={Key(Reading.CREATED, "1"): 7.25},
        recognised=True,
    )
    assert are_one(a, b)
    assert not are_one(a, other)


def test_a_copy_stands_in_where_its_original_is_gone(tmp_path: Path) -> None:
    created = 'vllm:prefix_cache_queries_created{engine="0",model_name="m"} 101.5\n'
    a = {0: {"vllm": vllm(1000, 100) + created}}
    b = {0: {"vllm": vllm(1000, 100) + created}, 60: {"vllm": vllm(3000, 300) + created}}
    fleet = explained(tmp_path, {"A": a, "B": b})["fleet"]
    assert (fleet["prompt_tokens"], fleet["state"]) == (2000, "ok")
    assert "same_process" not in codes(fleet)


def test_an_engine_that_a_copy_stands_in_for_is_not_missing_from_what_a_shared_cache_found(tmp_path: Path) -> None:
    # found 500; loaded 200, L0 100: at least 500 - 300 = 200
    created = 'vllm:prefix_cache_queries_created{engine="0",model_name="m"} 101.5\n'
    first, last = vllm(1000, 100, 900, 0) + created, vllm(2000, 200, 1800, 200) + created
    shared = {0: {"lmcache-mp": lmcache_mp(0, 0)}, 60: {"lmcache-mp": lmcache_mp(500, 0)}}
    replicas = {"A": {0: {"vllm": first}}, "B": {0: {"vllm": first}, 60: {"vllm": last}}, "_fleet": shared}
    fleet = explained(tmp_path, replicas)["fleet"]
    assert (fleet["prompt_tokens"], fleet["found_not_loaded_tokens"]) == (1000, 200)


def test_paths_that_looked_alike_once_and_part_are_both_counted(tmp_path: Path) -> None:
    moments = {
        0: {"vllm.1": vllm(1000, 100), "vllm.2": vllm(1000, 100)},
        60: {"vllm.1": vllm(2000, 200), "vllm.2": vllm(3000, 300)},
    }
    # 1,000 -> 2,000 and 1,000 -> 3,000
    assert explained(tmp_path, {"A": moments})["replicas"]["A"]["prompt_tokens"] == 1000 + 2000


def test_without_them_it_takes_equal_counters_above_zero() -> None:
    assert are_one(page(100), page(100))
    assert not are_one(page(100), page(101))
    assert not are_one(page(0), page(0))
    assert not are_one(page(100, start=None), page(100, start=None))


def test_a_further_path_stands_in_for_the_first_and_is_remembered() -> None:
    paths = Paths(["vllm.1", "vllm.2"])
    first, second = page(100), page(100)
    assert paths.once({"vllm.1": first, "vllm.2": second}) == {"vllm.1": first}
    later = Paths(["vllm.1", "vllm.2"], paths.memory())
    assert later.engines == ["vllm.1"]
    third = page(150)
    assert later.once({"vllm.2": third}) == {"vllm.1": third}


def test_paths_part_again_when_their_processes_differ() -> None:
    paths = Paths(["vllm.1", "vllm.2"], {"vllm.2": "vllm.1"})
    both = {"vllm.1": page(10), "vllm.2": page(20, start=START + 5)}
    assert paths.once(both) == both
    assert paths.engines == ["vllm.1", "vllm.2"]


def test_replicas_must_look_alike_at_every_moment_to_be_suspected() -> None:
    moments = [{"A": [page(1)], "B": [page(1)]}, {"A": [page(2)], "B": [page(3)]}]
    assert same_processes(moments) == ({}, {})
    assert same_processes(moments[:1]) == ({}, {"B": "A"})
    one = [{"A": [page(n, created=7.5)], "B": [page(n + 1, created=7.5)]} for n in (10, 30)]
    assert same_processes(one) == ({"B": "A"}, {})  # 1 of 20 apart: scraped a moment later


def test_idle_replicas_that_started_together_are_two(tmp_path: Path) -> None:
    idle = {0: {"vllm": vllm(0, 0)}, 60: {"vllm": vllm(0, 0)}}
    assert codes(explained(tmp_path, {"A": idle, "B": idle})["fleet"]) == []


def test_two_engines_of_one_replica_are_added(tmp_path: Path) -> None:
    moments = {
        second: {"vllm.1": vllm(n, 0, engine="0"), "vllm.2": vllm(2 * n, 0, engine="0", start=START + 1)}
        for second, n in ((0, 100), (60, 150))
    }
    assert explained(tmp_path, {"A": moments})["replicas"]["A"]["prompt_tokens"] == 50 + 100
