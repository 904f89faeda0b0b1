"""What must not become a wrong number: series that vanish, contradictions, garbage values, odd folders."""

import os
from pathlib import Path

import pytest

from collectors.snapshot import read_snapshot
from tests.support.expositions import codes, explained, lmcache_mp, series, tokens, vllm, write_snapshot
from tierdeck.errors import UsageError

ABORTS = 'vllm:request_success_total{engine="0",finished_reason="abort",model_name="m"}'


@pytest.mark.parametrize("gone", [{}, {ABORTS: float("nan")}, {ABORTS: -5.0}])
def test_a_label_set_that_vanishes_is_a_gap_and_no_reset(tmp_path: Path, gone: dict[str, float]) -> None:
    moments = {
        0: {"vllm": vllm(100_000, 0, 0, 0, requests=100, more={ABORTS: 50.0})},
        60: {"vllm": vllm(101_000, 0, 0, 0, requests=110, more=gone)},
        120: {"vllm": vllm(102_000, 0, 0, 0, requests=120, more={ABORTS: 53.0})},
    }
    replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
    # stop 100 -> 120 and abort 50 -> 53
    assert (replica["prompt_tokens"], replica["requests"]) == (2000, 23)
    assert "counter_reset" not in codes(replica)


def test_a_scrape_without_a_tier_s_counter_makes_no_share(tmp_path: Path) -> None:
    # hits are missing at 120 s: 600 of 2000 would be wrong, 600 of the first 1000 is right
    pages = (vllm(0, 0, 0, 0), vllm(1000, 600, 0, 0), vllm(2000, None, 0, 0))
    replica = explained(tmp_path, {"A": {60 * i: {"vllm": page} for i, page in enumerate(pages)}})["replicas"]["A"]
    assert (replica["prompt_tokens"], tokens(replica)["L0"]) == (1000, 600)
    assert "scrape_gap" in codes(replica)


@pytest.mark.parametrize("capacity", ["nan", "inf", "1e999", "-5", "0", "many"])
def test_a_capacity_that_is_none_is_unknown(tmp_path: Path, capacity: str) -> None:
    more = {
        'vllm:kv_cache_usage_perc{engine="0"}': 0.9,
        'vllm:kv_cache_usage_perc{engine="1"}': 0.1,
        f'vllm:cache_config_info{{engine="0",kv_cache_size_tokens="{capacity}"}}': 1.0,
        'vllm:cache_config_info{engine="1",kv_cache_size_tokens="4096"}': 1.0,
    }
    page = vllm(0, 0, more=more)
    assert (
        explained(tmp_path, {"A": {0: {"vllm": page}, 60: {"vllm": page}}})["replicas"]["A"]["kv_usage_ratio"] is None
    )


@pytest.mark.parametrize("usage", [40.0, -1.0])
def test_a_usage_outside_its_range_is_unknown(tmp_path: Path, usage: float) -> None:
    page = vllm(0, 0, more={'vllm:kv_cache_usage_perc{engine="0"}': usage})
    assert (
        explained(tmp_path, {"A": {0: {"vllm": page}, 60: {"vllm": page}}})["replicas"]["A"]["kv_usage_ratio"] is None
    )


def test_values_beyond_all_measure_are_left_out(tmp_path: Path) -> None:
    moments = {
        name: {0: {"vllm": vllm(0, 0)}, 60: {"vllm": vllm(1e308, 0, more={'vllm:num_requests_running{e="1"}': 1e308})}}
        for name in ("A", "B")
    }
    assert explained(tmp_path, moments)["fleet"]["prompt_tokens"] in (0, None)


def test_lmcache_s_workers_are_no_engines_of_vllm(tmp_path: Path) -> None:
    def page(queries: float, lookups: float) -> str:
        return vllm(queries, 0, 0, 0, more={'lmcache:num_lookup_tokens_total{worker_id="0"}': lookups})

    moments = {0: {"vllm": page(100_000, 500)}, 60: {"vllm": page(101_000, 100)}}
    assert explained(tmp_path, {"A": moments})["replicas"]["A"]["prompt_tokens"] == 1000


def test_gauges_of_a_target_that_misses_the_last_moment_are_its_last_ones(tmp_path: Path) -> None:
    name = 'vllm:num_requests_waiting{engine="0",model_name="m"}'
    moments = {
        0: {"vllm.1": vllm(0, 0, more={name: 3.0}), "vllm.2": vllm(0, 0, more={name: 4.0})},
        60: {"vllm.1": vllm(9, 0, more={name: 2.0})},
    }
    assert explained(tmp_path, {"A": moments})["replicas"]["A"]["waiting"] == 2 + 4


def test_workers_of_a_pool_may_lie_with_any_replica(tmp_path: Path) -> None:
    page = vllm(0, 0)
    worker = series({"capacity": 10, "available": 4, "fs_used": 5})
    whole = explained(
        tmp_path,
        {n: {0: {"vllm": page, "curvine-worker": worker}, 60: {"vllm": page, "curvine-worker": worker}} for n in "AB"},
    )
    assert (whole["pool"]["capacity_bytes"], whole["pool"]["workers"]["live"]) == (20, 2)


def test_an_engine_that_shows_late_that_it_always_exports_them_has_no_connector(tmp_path: Path) -> None:
    by_source = {'vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"}': 0.0}
    pages = (vllm(0, 0), vllm(100, 60), vllm(200, 120, more=by_source), vllm(300, 180))
    replica = explained(tmp_path, {"A": {i: {"vllm": page} for i, page in enumerate(pages)}})["replicas"]["A"]
    assert tokens(replica) == {"L0": 180, "L1": 0, "L2": 0, "L1+L2": 0, "miss": 120}


def test_an_idle_cache_server_s_page_is_a_successful_scrape(tmp_path: Path) -> None:
    idle = series({'target_info{service_name="x"}': 1.0, "lmcache_mp_event_bus_queue_depth": 0.0})
    moments = {
        0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": idle},
        60: {"vllm": vllm(100, 0, 100, 64), "lmcache-mp": lmcache_mp(64, 0, start=None)},
    }
    replica = explained(tmp_path, {"A": moments})["replicas"]["A"]
    assert (tokens(replica)["L1"], codes(replica)) == (64, [])


def test_vllm_series_that_we_don_t_read_are_vllm_series_all_the_same(tmp_path: Path) -> None:
    page = series({'vllm:engine_sleep_state{engine="0",sleep_state="awake"}': 0.0})
    whole = explained(tmp_path, {"A": {0: {"vllm": page}, 60: {"vllm": page}}})
    assert whole["replicas"]["A"]["state"] == "ok"
    assert whole["replicas"]["A"]["prompt_tokens"] is None


def test_gaps_of_a_shared_cache_server_are_the_fleet_s_notes(tmp_path: Path) -> None:
    replicas = {
        "A": {i: {"vllm": vllm(i, 0, i, 0)} for i in (0, 60, 120)},
        "_fleet": {0: {"lmcache-mp": lmcache_mp(0, 0)}, 60: {}, 120: {"lmcache-mp": lmcache_mp(0, 0)}},
    }
    assert "scrape_gap" in codes(explained(tmp_path, replicas)["fleet"])


class TestOddFolders:
    def refused(self, folder: Path) -> str:
        with pytest.raises(UsageError) as caught:
            read_snapshot(folder)
        assert "\n" not in caught.value.line()
        return str(caught.value)

    def good(self, folder: Path) -> Path:
        page = {"vllm": vllm(0, 0)}
        return write_snapshot(folder, {"A": {0: page, 60: page}})

    def test_a_second_folder_for_a_moment(self, tmp_path: Path) -> None:
        (self.good(tmp_path) / "A" / "00").mkdir()
        assert "a second folder" in self.refused(tmp_path)

    def test_a_body_that_is_no_file(self, tmp_path: Path) -> None:
        (self.good(tmp_path) / "A" / "60" / "router.txt").mkdir()
        assert "not a regular file" in self.refused(tmp_path)

    def test_a_body_that_never_ends(self, tmp_path: Path) -> None:
        os.mkfifo(self.good(tmp_path) / "A" / "60" / "router.txt")
        assert "not a regular file" in self.refused(tmp_path)

    @pytest.mark.parametrize(
        "text", ["[]", "{", "[" * 100_000, '{"first_moment": true}', '{"first_moment": 1e999}', '{"roles": [1]}',
                 '{"roles": {"A": "boss"}}', '{"versions": {"A": 3}}', '{"roles": []}',
                 '{"versions": {"A": {"vllm": 0.32}}}', '{"kv_bytes_per_token": 0}',
                 '{"first_moment": ' + "9" * 5000 + "}"]
    )  # fmt: skip
    def test_facts_that_are_none(self, tmp_path: Path, text: str) -> None:
        (self.good(tmp_path) / "fleet.json").write_text(text)
        assert "fleet.json" in self.refused(tmp_path)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ('{"versions": {"A": "0.32.0"}}', 'versions.A must name components, such as {"vllm": "0.32.0"}'),
            ('{"versions": ["A"]}', "versions must be a JSON object"),
            ('{"roles": {"A": "boss"}}', "roles.A must be one of kv_both, kv_producer, kv_consumer"),
            ('{"roles": {"A": ["kv_both"]}}', "roles.A must be one of kv_both, kv_producer, kv_consumer"),
            ('{"kv_bytes_per_token": -5}', "kv_bytes_per_token must be above 0"),
            ('{"kv_bytes_per_token": "5"}', "kv_bytes_per_token must be a number"),
            ('{"a": ' + "9" * 5000 + "}", "a number in it is too long, or it is nested too deeply"),
            ("[" * 100_000, "a number in it is too long, or it is nested too deeply"),
            ('{"roles": }', "line 1, column 11 is no JSON"),
        ],
    )
    def test_what_is_wrong_with_facts_is_said_in_one_plain_sentence(
        self, tmp_path: Path, text: str, sentence: str
    ) -> None:
        (self.good(tmp_path) / "fleet.json").write_text(text)
        assert self.refused(tmp_path) == f"fleet.json can't be used: {sentence}"
