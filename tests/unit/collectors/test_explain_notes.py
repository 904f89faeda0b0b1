"""What the words of docs/ledger.md mean: notes, TTFT, usage and the pool, a test a rule."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.expositions import codes, explained, lmcache_mp, series, tokens, ttft, vllm, window


class TestNotes:
    def test_stores_that_do_not_complete_are_noted(self, tmp_path: Path) -> None:
        # live: 32 chunks failed, yet the requests count as completed: nothing is in flight
        def page(submitted: float, completed: float, requests: float) -> str:
            more = {
                "lmcache_mp_l2_store_submitted_objects_chunks_total": submitted,
                "lmcache_mp_l2_store_completed_objects_chunks_total": completed,
                "lmcache_mp_l2_store_submitted_requests_total": requests,
                'lmcache_mp_l2_store_completed_requests_total{l2_name="fs"}': requests,
            }
            return lmcache_mp(0, 0, more=more)

        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(9, 0, 9, 0), lmcache_mp=(page(144, 144, 21), page(176, 144, 25)))
        assert codes(part) == ["stores_incomplete"]

    def test_stores_in_flight_are_not(self, tmp_path: Path) -> None:
        # 4 of 25 requests are open, 8 chunks each: up to 32 chunks are on their way
        def page(submitted: float, completed: float, sent: float, done: float) -> str:
            more = {
                "lmcache_mp_l2_store_submitted_objects_chunks_total": submitted,
                "lmcache_mp_l2_store_completed_objects_chunks_total": completed,
                "lmcache_mp_l2_store_submitted_requests_total": sent,
                'lmcache_mp_l2_store_completed_requests_total{l2_name="fs"}': done,
            }
            return lmcache_mp(0, 0, more=more)

        pages = (page(168, 168, 21, 21), page(200, 168, 25, 21))
        assert codes(window(tmp_path, vllm(0, 0, 0, 0), vllm(9, 0, 9, 0), lmcache_mp=pages)) == []

    def test_one_open_store_may_be_a_long_prompt_but_does_not_excuse_everything(self, tmp_path: Path) -> None:
        # 200 chunks in 25 requests, 8 each; one is open: up to 4 * 8 = 32 chunks may be on their way
        def page(submitted: float, completed: float, sent: float, done: float) -> str:
            more = {
                "lmcache_mp_l2_store_submitted_objects_chunks_total": submitted,
                "lmcache_mp_l2_store_completed_objects_chunks_total": completed,
                "lmcache_mp_l2_store_submitted_requests_total": sent,
                'lmcache_mp_l2_store_completed_requests_total{l2_name="fs"}': done,
            }
            return lmcache_mp(0, 0, more=more)

        for completed, noted in ((168, []), (167, ["stores_incomplete"])):
            pages = (page(100, 100, 20, 20), page(200, completed, 25, 24))
            part = window(tmp_path / str(completed), vllm(0, 0, 0, 0), vllm(9, 0, 9, 0), lmcache_mp=pages)
            assert codes(part) == noted

    @pytest.mark.parametrize(("version", "noted"), [("0.10.2", True), ("", True), ("0.11.1", False), ("0.32.0", False)])
    def test_preemptions_of_old_or_unknown_engines_are_noted(self, tmp_path: Path, version: str, noted: bool) -> None:
        name = 'vllm:num_preemptions_total{engine="0",model_name="m"}'
        facts = {"versions": {"A": {"vllm": version}}} if version else None
        part = window(tmp_path, vllm(0, 0, 0, 0, more={name: 1}), vllm(9, 0, 0, 0, more={name: 3}), facts)
        assert ("preempted" in codes(part)) is noted

    def test_an_old_name_is_read_and_noted_and_never_added_to_the_new_one(self, tmp_path: Path) -> None:
        # production-stack#617: both generations exported together
        old = {"vllm:gpu_prefix_cache_queries_total": 0.0, "vllm:gpu_prefix_cache_hits_total": 0.0}
        both = window(tmp_path / "both", vllm(0, 0, 0, 0, more=old), vllm(32, 16, 0, 0, more=dict.fromkeys(old, 99.0)))
        assert (both["prompt_tokens"], tokens(both)["L0"], "renamed" in codes(both)) == (32, 16, False)
        only = window(tmp_path / "only", vllm(more=old), vllm(more=dict.fromkeys(old, 99.0)))
        assert (only["prompt_tokens"], tokens(only)["L0"], "renamed" in codes(only)) == (99, 99, True)

    @pytest.mark.parametrize(
        "spelling",
        ["vllm:prefix_cache_{}_total", "vllm:prefix_cache_{}", "vllm_prefix_cache_{}_total", "vllm_prefix_cache_{}"],
    )
    def test_every_spelling_of_a_name_is_read(self, tmp_path: Path, spelling: str) -> None:
        def page(queries: float, hits: float) -> str:
            return series(
                {spelling.format("queries"): queries, spelling.format("hits"): hits, "process_start_time_seconds": 1e6}
            )

        part = window(tmp_path, page(10, 5), page(110, 65))
        assert (part["prompt_tokens"], tokens(part)["L0"]) == (100, 60)
        assert "renamed" not in codes(part)

    def test_a_router_s_copies_are_left_out(self, tmp_path: Path) -> None:
        copies = {f'vllm:prefix_cache_{what}_total{{server="http://a"}}': 7777.0 for what in ("queries", "hits")}
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(100, 60, 0, 0, more=copies))
        assert (part["prompt_tokens"], tokens(part)["L0"]) == (100, 60)
        assert codes(part) == ["router_series_ignored"]

    @pytest.mark.parametrize("labels", ['{server="http://a"}', '{engine="0",model_name="m"}'])
    def test_what_a_router_s_own_page_says_of_engines_is_left_out_too(self, tmp_path: Path, labels: str) -> None:
        # production-stack re-exports with the label server; vllm-router's main port hands on a worker's page
        router = series({f"vllm:prefix_cache_queries_total{labels}": 7777.0, "process_start_time_seconds": 1e6})
        page = {"vllm": vllm(0, 0, 0, 0)}
        replicas = {"A": {0: page, 60: page}, "_fleet": {0: {"router": router}, 60: {"router": router}}}
        fleet = explained(tmp_path, replicas)["fleet"]
        assert fleet["prompt_tokens"] == 0
        assert codes(fleet) == ["router_series_ignored"]

    def test_a_page_of_router_copies_alone_is_no_engine(self, tmp_path: Path) -> None:
        page = series({'vllm:gpu_prefix_cache_queries_total{server="http://a"}': 7.0})
        assert window(tmp_path, page, page)["state"] == "no_engine_metrics"

    def test_a_lookup_counter_that_stays_zero_is_not_wired(self, tmp_path: Path) -> None:
        name = 'vllm:prompt_tokens_total{engine="0",model_name="m"}'
        part = window(tmp_path, vllm(0, 0, 0, 0, more={name: 0}), vllm(0, 0, 0, 0, more={name: 5248}))
        assert codes(part) == ["not_wired"]
        assert part["hit_ratio"]["by_token"] is None

    def test_with_prefix_caching_off_nothing_has_to_move(self, tmp_path: Path) -> None:
        name = 'vllm:prompt_tokens_total{engine="0",model_name="m"}'
        off = {'vllm:cache_config_info{enable_prefix_caching="False",engine="0"}': 1.0}
        part = window(tmp_path, vllm(0, 0, 0, 0, more={name: 0} | off), vllm(0, 0, 0, 0, more={name: 5248} | off))
        assert codes(part) == []

    def test_external_queries_of_0_11_1_have_another_meaning(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(10, 5, 10, 0), {"versions": {"A": {"vllm": "0.11.1"}}})
        assert "meaning_changed" in codes(part)


class TestTtftAndUsage:
    def test_a_quantile_beyond_the_last_bound_is_at_least_that(self, tmp_path: Path) -> None:
        # 10 observations: 5 up to 1 s, 5 beyond 60 s
        first, last = ttft({"1.0": 0, "60.0": 0, "+Inf": 0}), ttft({"1.0": 5, "60.0": 5, "+Inf": 10})
        part = window(tmp_path, vllm(0, 0, more=first), vllm(9, 0, more=last))
        # p50: rank 5 ends the bucket [0, 1]
        assert part["ttft_seconds"]["p50"] == {"value": 1.0, "low": 0.0, "high": 1.0}
        assert part["ttft_seconds"]["p95"] == {"at_least": 60.0}
        assert part["ttft_seconds"]["count"] == 10

    def test_different_layouts_are_merged_on_the_bounds_that_all_share(self, tmp_path: Path) -> None:
        # A: 4 in (0, 1], 4 in (1, 2]; B: 6 in (0, 2], 2 in (2, 5]. Shared: 2, 5 -> 14 in (0, 2], 2 in (2, 5]
        a = (ttft({"1.0": 0, "2.0": 0, "5.0": 0, "+Inf": 0}), ttft({"1.0": 4, "2.0": 8, "5.0": 8, "+Inf": 8}))
        b = (ttft({"2.0": 0, "5.0": 0, "+Inf": 0}), ttft({"2.0": 6, "5.0": 8, "+Inf": 8}))
        replicas = {
            name: {0: {"vllm": vllm(0, 0, more=pages[0])}, 60: {"vllm": vllm(9, 0, more=pages[1])}}
            for name, pages in (("A", a), ("B", b))
        }
        fleet = explained(tmp_path, replicas)["fleet"]
        # p50: rank 8 of 14 in (0, 2]: 2 * 8 / 14
        assert fleet["ttft_seconds"]["p50"] == {"value": pytest.approx(2 * 8 / 14), "low": 0.0, "high": 2.0}
        assert "layouts_differ" in codes(fleet)

    def test_layouts_may_differ_within_a_replica_s_window(self, tmp_path: Path) -> None:
        pages = [
            vllm(0, 0, more=ttft({"1.0": 0, "2.0": 0, "+Inf": 0})),
            vllm(9, 0, more=ttft({"1.0": 4, "2.0": 4, "+Inf": 4})),
            vllm(9, 0, start=2e6, more=ttft({"2.0": 4, "4.0": 4, "+Inf": 4})),
        ]
        part = explained(tmp_path, {"A": {i: {"vllm": page} for i, page in enumerate(pages)}})["replicas"]["A"]
        assert part["ttft_seconds"]["count"] == 8
        assert "layouts_differ" in codes(part)

    @staticmethod
    def usage(value: float, engine: str, capacity: float | None = None) -> dict[str, float]:
        found = {f'vllm:kv_cache_usage_perc{{engine="{engine}"}}': value}
        if capacity is not None:
            found[
                f'vllm:cache_config_info{{engine="{engine}",num_gpu_blocks="{capacity / 16:.0f}",block_size="16"}}'
            ] = 1
        return found

    def test_usage_of_several_engines_is_weighted_by_capacity(self, tmp_path: Path) -> None:
        # (0.9 * 1600 + 0.1 * 4800) / 6400 = 0.3
        page = vllm(0, 0, more=self.usage(0.9, "0", 1600) | self.usage(0.1, "1", 4800))
        assert window(tmp_path, page, page)["kv_usage_ratio"] == pytest.approx(0.3)

    def test_it_is_unknown_where_usages_differ_and_a_capacity_is_unknown(self, tmp_path: Path) -> None:
        idle = vllm(0, 0, more=self.usage(0.0, "0") | self.usage(0.0, "1", 4800))
        busy = vllm(0, 0, more=self.usage(0.9, "0") | self.usage(0.1, "1", 4800))
        assert window(tmp_path / "1", busy, idle)["kv_usage_ratio"] == 0
        assert window(tmp_path / "2", idle, busy)["kv_usage_ratio"] is None

    def test_gauges_that_the_last_page_lacks_keep_their_last_values(self, tmp_path: Path) -> None:
        kv, waiting = 'vllm:kv_cache_usage_perc{engine="0"}', 'vllm:num_requests_waiting{engine="0",model_name="m"}'
        part = window(tmp_path, vllm(0, 0, more={kv: 0.1, waiting: 5.0}), vllm(9, 0))
        assert (part["kv_usage_ratio"], part["waiting"]) == (0.1, 5)

    def test_by_request_is_the_mean_of_the_requests_own_ratios(self, tmp_path: Path) -> None:
        def page(count: float, total: float) -> str:
            name = "lmcache:request_cache_hit_rate"
            return series(
                {
                    f'{name}_bucket{{le="0.5"}}': count,
                    f'{name}_bucket{{le="+Inf"}}': count,
                    f"{name}_sum": total,
                    f"{name}_count": count,
                }
            )

        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(9, 0, 9, 0), lmcache=(page(2, 1.0), page(6, 2.0)))
        assert part["hit_ratio"]["by_request"] == pytest.approx(1.0 / 4)


def test_a_pool_is_told_by_its_leading_master(tmp_path: Path) -> None:
    leader = series(
        {"capacity": 300, "available": 100, "fs_used": 190, 'worker_num{tag="live"}': 2, 'worker_num{tag="lost"}': 1}
    )
    standby = series(
        {"capacity": 0, "available": 0, "fs_used": 0, 'worker_num{tag="live"}': 0, 'worker_num{tag="lost"}': 0}
    )
    page = vllm(0, 0)
    replicas = {
        "A": {0: {"vllm": page}, 60: {"vllm": page}},
        "_fleet": {0: {}, 60: {"curvine-master.1": standby, "curvine-master.2": leader}},
    }
    pool = explained(tmp_path, replicas)["pool"]
    assert (pool["capacity_bytes"], pool["available_bytes"], pool["used_bytes"]) == (300, 100, 190)
    assert (pool["workers"]["live"], pool["workers"]["lost"]) == (2, 1)
    assert pool["notes"] == []


def test_what_an_answering_master_does_not_export_is_not_laid_on_its_silence(tmp_path: Path) -> None:
    page = {"vllm": vllm(0, 0)}
    master = series({"capacity": 100, "available": 40, "fs_used": 60, 'worker_num{tag="live"}': 3})
    replicas = {"A": {0: page, 60: page}, "_fleet": {0: {"curvine-master": master}, 60: {"curvine-master": "<html>"}}}
    pool = explained(tmp_path, replicas)["pool"]
    assert (pool["capacity_bytes"], pool["workers"]["live"], pool["workers"]["blacklisted"]) == (100, 3, None)
    assert pool["why"]["workers.blacklisted"] == "no Curvine source that answered exports it"
    assert "at the last moment" in pool["notes"][0]["detail"]


class TestTenants:
    @staticmethod
    def page(**lookups: tuple[float, float]) -> str:
        """Tokens looked up and found in L1, by salt."""
        named: dict[str, float] = {}
        for salt, (asked, found) in lookups.items():
            labels = f'{{cache_salt="{salt}",model_name="m"}}'
            named[f"lmcache_mp_lookup_requested_tokens_total{labels}"] = asked
            named[f"lmcache_mp_lookup_hit_l1_tokens_total{labels}"] = found
        return series(named)

    def fleet(self, tmp_path: Path, first: str, last: str) -> Any:
        moments = {
            0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": first},
            60: {"vllm": vllm(900, 0, 900, 300), "lmcache-mp": last},
        }
        return explained(tmp_path, {"A": moments})["fleet"]

    def test_a_salt_without_lookups_in_the_window_is_left_out(self, tmp_path: Path) -> None:
        fleet = self.fleet(tmp_path, self.page(a=(100, 50), b=(0, 0)), self.page(a=(100, 50), b=(400, 100)))
        assert list(fleet["cache_salts"]) == ["b"]
        assert fleet["cache_salts"]["b"]["found_ratio"] == 0.25

    def test_where_no_salt_has_any_there_is_no_such_key(self, tmp_path: Path) -> None:
        assert "cache_salts" not in self.fleet(tmp_path, self.page(a=(100, 50)), self.page(a=(100, 50)))

    def test_a_ratio_that_can_t_be_has_its_reason(self, tmp_path: Path) -> None:
        # 120 found of 100
        fleet = self.fleet(tmp_path, self.page(a=(0, 0)), self.page(a=(100, 120)))
        assert fleet["cache_salts"]["a"]["found_ratio"] is None
        assert "contradict" in fleet["why"]["cache_salts.a.found_ratio"]


def test_without_a_curvine_source_there_is_no_pool(tmp_path: Path) -> None:
    page = vllm(0, 0)
    assert explained(tmp_path, {"A": {0: {"vllm": page}, 60: {"vllm": page}}})["pool"] is None
