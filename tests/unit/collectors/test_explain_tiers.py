"""What the words of docs/ledger.md mean: tiers, bounds, external counters, caches, a test a rule."""

from pathlib import Path

import pytest

from tests.support.expositions import START, bounds, codes, explained, lmcache_mp, series, tokens, vllm, window


class TestExternalCounters:
    @pytest.mark.parametrize(("queries", "code"), [(1000, ["external_double_counted"]), (400, [])])
    def test_both_meanings_of_external_queries_give_the_same_tiers(
        self, tmp_path: Path, queries: float, code: list[str]
    ) -> None:
        # vllm#30522: 600 of 1000 in L0, 200 external: L0 60 %, external 20 %, miss 20 %
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(1000, 600, queries, 200))
        assert tokens(part) == {"L0": 600, "L1": None, "L2": None, "L1+L2": 200, "miss": 200}
        assert part["hit_ratio"]["by_token"] == 0.8
        assert [c for c in codes(part) if c.startswith("external")] == code

    def test_external_queries_beyond_l0_s_misses_are_noted_and_withhold_nothing(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(1000, 600, 500, 200))
        assert "external_mismatch" in codes(part)
        assert part["hit_ratio"]["by_token"] == 0.8

    def test_present_and_zero_means_no_connector(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(100, 60, 0, 0))
        assert tokens(part) == {"L0": 60, "L1": 0, "L2": 0, "L1+L2": 0, "miss": 40}

    def test_absent_altogether_is_unknown(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0), vllm(100, 60))
        assert tokens(part) == {"L0": 60, "L1": None, "L2": None, "L1+L2": None, "miss": None}
        assert bounds(part, "L2") == (None, None, None)
        assert part["tiers"]["L0"]["ratio"] == 0.6
        assert "nothing shows that it has no connector" in part["why"]["tiers.miss.tokens"]

    @pytest.mark.parametrize(
        ("version", "miss"), [("0.11.1", 40), ("0.32.0+cpu", 40), ("0.11.0", None), ("0.9.2", None)]
    )
    def test_absent_is_zero_for_a_version_that_always_exports_them(
        self, tmp_path: Path, version: str, miss: float | None
    ) -> None:
        part = window(tmp_path, vllm(0, 0), vllm(100, 60), {"versions": {"A": {"vllm": version}}})
        assert tokens(part)["miss"] == miss

    def test_absent_is_zero_for_an_engine_that_tells_prompt_tokens_by_source(self, tmp_path: Path) -> None:
        more = {'vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"}': 0.0}
        assert tokens(window(tmp_path, vllm(0, 0, more=more), vllm(100, 60, more=more)))["miss"] == 40

    def test_absent_at_first_and_then_there_in_the_same_process_is_known(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0), vllm(100, 60, 40, 10))
        assert tokens(part)["miss"] == 30

    def test_a_new_process_without_them_leaves_the_window_unknown(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(100, 60, start=2e6))
        assert tokens(part)["miss"] is None


class TestBounds:
    def test_where_the_bounds_meet_the_split_is_exact(self, tmp_path: Path) -> None:
        # E = 80 = l1 50 + l2 30: L1 in [80 - 30, min(80, 50)] = [50, 50]
        part = window(
            tmp_path, vllm(0, 0, 0, 0), vllm(200, 0, 200, 80), lmcache_mp=(lmcache_mp(0, 0), lmcache_mp(50, 30))
        )
        assert (bounds(part, "L1"), bounds(part, "L2")) == ((50, 50, 50), (30, 30, 30))
        assert codes(part) == []

    def test_else_it_is_an_estimate_within_bounds(self, tmp_path: Path) -> None:
        # E = 80, l1 = 60, l2 = 50 (L0 served 30 of them): L1 in [30, 60], L2 = 80 - L1 in [20, 50];
        # estimate L2 = min(80, 50) = 50, L1 = 30
        part = window(
            tmp_path, vllm(0, 0, 0, 0), vllm(200, 30, 170, 80), lmcache_mp=(lmcache_mp(0, 0), lmcache_mp(60, 50))
        )
        assert (bounds(part, "L1"), bounds(part, "L2")) == ((30, 30, 60), (20, 50, 50))
        assert codes(part) == ["split_estimated"]
        assert tokens(part)["L1+L2"] == 80

    def test_more_loaded_than_found_bounds_nothing_and_is_estimated(self, tmp_path: Path) -> None:
        part = window(
            tmp_path, vllm(0, 0, 0, 0), vllm(200, 0, 200, 80), lmcache_mp=(lmcache_mp(0, 0), lmcache_mp(20, 30))
        )
        # E = 80 > 20 + 30: nothing is certain; L2 = min(80, 30) = 30
        assert (bounds(part, "L1"), bounds(part, "L2")) == ((0, 50, 80), (0, 30, 80))
        assert codes(part) == ["split_estimated"]

    @pytest.mark.parametrize("missing", [0, 60])
    def test_a_cache_scrape_missing_at_an_edge_tells_nothing(self, tmp_path: Path, missing: int) -> None:
        moments = {
            0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp(0, 0)},
            30: {"vllm": vllm(100, 0, 100, 40), "lmcache-mp": lmcache_mp(40, 0)},
            60: {"vllm": vllm(200, 0, 200, 80), "lmcache-mp": lmcache_mp(80, 0)},
        }
        del moments[missing]["lmcache-mp"]
        part = explained(tmp_path, {"A": moments})["replicas"]["A"]
        assert bounds(part, "L1") == (0, None, 80)
        assert {"unsplit", "scrape_gap"} <= set(codes(part))
        assert part["found_not_loaded_tokens"] is None

    def test_a_cache_scrape_missing_in_between_does_no_harm(self, tmp_path: Path) -> None:
        moments = {
            0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp(0, 0)},
            30: {"vllm": vllm(100, 0, 100, 40)},
            60: {"vllm": vllm(200, 0, 200, 80), "lmcache-mp": lmcache_mp(80, 0)},
        }
        part = explained(tmp_path, {"A": moments})["replicas"]["A"]
        assert bounds(part, "L1") == (80, 80, 80)
        assert codes(part) == ["scrape_gap"]

    def test_without_cache_metrics_the_sum_is_known_and_the_split_is_not(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(200, 0, 200, 80))
        assert tokens(part) == {"L0": 0, "L1": None, "L2": None, "L1+L2": 80, "miss": 120}
        assert bounds(part, "L2") == (0, None, 80)
        assert codes(part) == ["unsplit"]

    def test_several_salts_and_models_of_a_server_are_summed(self, tmp_path: Path) -> None:
        def page(a: float, b: float) -> str:
            more = {'lmcache_mp_lookup_hit_l1_tokens_total{cache_salt="t",model_name="m"}': b}
            return lmcache_mp(a, 0, more=more)

        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(200, 0, 200, 80), lmcache_mp=(page(0, 0), page(50, 30)))
        assert bounds(part, "L1") == (80, 80, 80)


class TestFoundNotLoaded:
    def test_it_is_what_nobody_used_at_least(self, tmp_path: Path) -> None:
        # found 100 + 50; loaded 80, L0 30: at least 150 - 80 - 30 = 40
        part = window(
            tmp_path, vllm(0, 0, 0, 0), vllm(200, 30, 170, 80), lmcache_mp=(lmcache_mp(0, 0), lmcache_mp(100, 50))
        )
        assert part["found_not_loaded_tokens"] == 40
        assert "found_not_loaded" in codes(part)

    def test_a_scrape_of_vllm_that_is_missing_in_between_withholds_nothing(self, tmp_path: Path) -> None:
        # found 500 + 200; loaded 200, L0 100: at least 700 - 300 = 400
        moments = {
            0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp(0, 0)},
            60: {"lmcache-mp": lmcache_mp(300, 100)},
            120: {"vllm": vllm(1000, 100, 900, 200), "lmcache-mp": lmcache_mp(500, 200)},
        }
        part = explained(tmp_path, {"A": moments})["replicas"]["A"]
        assert part["found_not_loaded_tokens"] == 400
        assert {"found_not_loaded", "scrape_gap"} <= set(codes(part))

    def test_nor_does_one_of_lmcache(self, tmp_path: Path) -> None:
        moments = {
            0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp(0, 0)},
            60: {"vllm": vllm(500, 50, 450, 100)},
            120: {"vllm": vllm(1000, 100, 900, 200), "lmcache-mp": lmcache_mp(500, 200)},
        }
        assert explained(tmp_path, {"A": moments})["replicas"]["A"]["found_not_loaded_tokens"] == 400

    def test_where_vllm_s_counts_begin_later_it_is_no_claim(self, tmp_path: Path) -> None:
        # vLLM ran before 0 s but was first read at 60 s: LMCache's 5000 of the first minute have no counterpart
        moments = {
            0: {"lmcache-mp": lmcache_mp(0, 0)},
            60: {"vllm": vllm(5000, 0, 5000, 5000), "lmcache-mp": lmcache_mp(5000, 0)},
            120: {"vllm": vllm(6000, 0, 6000, 5500), "lmcache-mp": lmcache_mp(5500, 0)},
        }
        part = explained(tmp_path, {"A": moments})["replicas"]["A"]
        assert part["found_not_loaded_tokens"] is None
        assert "found_not_loaded" not in codes(part)

    def test_a_process_that_began_in_the_window_has_no_counts_before(self, tmp_path: Path) -> None:
        # it counts from 0: found 5500, loaded 5000: at least 500
        moments = {
            0: {"lmcache-mp": lmcache_mp(0, 0)},
            60: {"vllm": vllm(5000, 0, 5000, 4600), "lmcache-mp": lmcache_mp(5000, 0)},
            120: {"vllm": vllm(6000, 0, 6000, 5000), "lmcache-mp": lmcache_mp(5500, 0)},
        }
        part = explained(tmp_path, {"A": moments}, {"first_moment": START - 10})["replicas"]["A"]
        assert part["found_not_loaded_tokens"] == 500

    def test_where_vllm_s_counts_end_earlier_it_is_no_claim(self, tmp_path: Path) -> None:
        # hits are missing on the last page, so that vLLM's counts end at 60 s: 1400 - 500 would be LMCache's alone
        moments = {
            0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp(0, 0)},
            60: {"vllm": vllm(1000, 100, 900, 400), "lmcache-mp": lmcache_mp(500, 0)},
            120: {"vllm": vllm(3000, None, 2700, 1300), "lmcache-mp": lmcache_mp(1400, 0)},
        }
        part = explained(tmp_path, {"A": moments})["replicas"]["A"]
        assert (part["prompt_tokens"], part["found_not_loaded_tokens"]) == (1000, None)

    def test_of_a_fleet_with_an_unreadable_replica_it_is_no_claim(self, tmp_path: Path) -> None:
        # B may have used the 40 that A did not
        replicas = {
            "A": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(100, 0, 100, 60)}},
            "B": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {}},
            "_fleet": {0: {"lmcache-mp": lmcache_mp(0, 0)}, 60: {"lmcache-mp": lmcache_mp(100, 0)}},
        }
        assert explained(tmp_path, replicas)["fleet"]["found_not_loaded_tokens"] is None

    def test_zero_without_a_cache(self, tmp_path: Path) -> None:
        assert window(tmp_path, vllm(0, 0, 0, 0), vllm(200, 30, 0, 0))["found_not_loaded_tokens"] == 0

    def test_unknown_when_vllm_asked_and_no_cache_scrape_covers_the_window(self, tmp_path: Path) -> None:
        assert window(tmp_path, vllm(0, 0, 0, 0), vllm(200, 30, 170, 0))["found_not_loaded_tokens"] is None

    def test_embedded_lmcache_tells_it_too(self, tmp_path: Path) -> None:
        # production-stack#818: lookups found 192, vLLM loaded none
        def page(found: float) -> str:
            return series({'lmcache:num_lookup_hits_total{worker_id="0"}': found, "process_start_time_seconds": 1e6})

        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(300, 0, 300, 0), lmcache=(page(0), page(192)))
        assert part["found_not_loaded_tokens"] == 192


class TestSourcesThatVllmTells:
    @staticmethod
    def page(queries: float, hits: float, external: float, **by_source: float) -> str:
        name = "vllm:prompt_tokens_cached_by_source_total"
        more = {f'{name}{{engine="0",model_name="m",source="{source}"}}': value for source, value in by_source.items()}
        return vllm(queries, hits, queries - hits, external, more=more)

    def test_host_is_l1_and_disk_is_l2(self, tmp_path: Path) -> None:
        first = self.page(0, 0, 0, device=0, host=0, disk=0, p2p=0, external_unspecified=0)
        last = self.page(1000, 100, 300, device=100, host=200, disk=100, p2p=0, external_unspecified=0)
        part = window(tmp_path, first, last)
        assert tokens(part) == {"L0": 100, "L1": 200, "L2": 100, "L1+L2": 300, "miss": 600}
        assert bounds(part, "L1") == (200, 200, 200)

    def test_peer_to_peer_is_transfer_and_no_hit(self, tmp_path: Path) -> None:
        first = self.page(0, 0, 0, device=0, host=0, disk=0, p2p=0, external_unspecified=0)
        last = self.page(1000, 100, 300, device=100, host=200, disk=0, p2p=100, external_unspecified=0)
        part = window(tmp_path, first, last)
        assert tokens(part) == {"L0": 100, "L1": 200, "L2": 0, "L1+L2": 200, "miss": 600, "transfer": 100}
        assert part["hit_ratio"]["by_token"] == 0.3

    def test_on_a_decode_replica_external_hits_are_transfer(self, tmp_path: Path) -> None:
        facts = {"roles": {"A": "kv_consumer"}}
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(1000, 100, 900, 900), facts)
        assert tokens(part) == {"L0": 100, "L1": 0, "L2": 0, "L1+L2": 0, "miss": 0, "transfer": 900}
        assert part["hit_ratio"]["by_token"] == 0.1

    def test_a_decode_replica_to_which_nothing_came_says_so(self, tmp_path: Path) -> None:
        whole = explained(
            tmp_path,
            {name: {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(1000, 100, 900, 0)}} for name in "AB"},
            {"roles": {"A": "kv_consumer"}},
        )
        assert whole["replicas"]["A"]["tiers"]["transfer"] == {"tokens": 0, "ratio": 0}
        assert whole["fleet"]["tiers"]["transfer"] == {"tokens": 0, "ratio": 0}
        assert "transfer" not in whole["replicas"]["B"]["tiers"]

    def test_a_decode_replica_s_own_host_cache_stays_a_hit(self, tmp_path: Path) -> None:
        first = self.page(0, 0, 0, host=0, disk=0, p2p=0, external_unspecified=0)
        last = self.page(1000, 100, 900, host=150, disk=50, p2p=200, external_unspecified=500)
        part = window(tmp_path, first, last, {"roles": {"A": "kv_consumer"}})
        assert tokens(part) == {"L0": 100, "L1": 150, "L2": 50, "L1+L2": 200, "miss": 0, "transfer": 700}


class TestSharedCacheServer:
    def test_it_splits_the_fleet_and_bounds_the_replicas(self, tmp_path: Path) -> None:
        # E: A 60, B 20; server: l1 50, l2 30. Fleet: L1 in [80 - 30, 50] = 50 exact.
        # A: L1 in [60 - 30, min(60, 50)] = [30, 50]; B: [0, 20]
        replicas = {
            "A": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(100, 0, 100, 60)}},
            "B": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(100, 0, 100, 20)}},
            "_fleet": {0: {"lmcache-mp": lmcache_mp(0, 0)}, 60: {"lmcache-mp": lmcache_mp(50, 30)}},
        }
        whole = explained(tmp_path, replicas)
        assert tokens(whole["fleet"]) == {"L0": 0, "L1": 50, "L2": 30, "L1+L2": 80, "miss": 120}
        assert bounds(whole["replicas"]["A"], "L1") == (30, None, 50)
        assert bounds(whole["replicas"]["B"], "L1") == (0, None, 20)
        assert whole["fleet"]["found_not_loaded_tokens"] == 0

    @staticmethod
    def l1(used: float, ratio: float) -> str:
        return lmcache_mp(
            0, 0, more={'lmcache_mp_l1_memory_usage_bytes{l1_tag="d"}': used, 'lmcache_mp_l1_usage_ratio{l1_tag="d"}':
                        ratio}
        )  # fmt: skip

    def test_its_l1_is_the_fleet_s(self, tmp_path: Path) -> None:
        # 1000 held at usage 0.5: 2000
        page = {"vllm": vllm(0, 0, 0, 0)}
        shared = {0: {"lmcache-mp": self.l1(0, 0)}, 60: {"lmcache-mp": self.l1(1000, 0.5)}}
        whole = explained(tmp_path, {"A": {0: page, 60: page}, "B": {0: page, 60: page}, "_fleet": shared})
        assert whole["fleet"]["tier_usage"]["L1"] == {"used_bytes": 1000, "capacity_bytes": 2000}
        assert whole["replicas"]["A"]["tier_usage"]["L1"]["used_bytes"] is None

    def test_beside_a_cache_of_a_replica_s_own_both_count(self, tmp_path: Path) -> None:
        # A's own: 300 of 1200; the shared one: 1000 of 2000
        page = {"vllm": vllm(0, 0, 0, 0)}
        own = page | {"lmcache-mp": self.l1(300, 0.25)}
        shared = {"lmcache-mp": self.l1(1000, 0.5)}
        replicas = {"A": {0: own, 60: own}, "B": {0: page, 60: page}, "_fleet": {0: shared, 60: shared}}
        whole = explained(tmp_path, replicas)
        assert whole["fleet"]["tier_usage"]["L1"] == {"used_bytes": 1300, "capacity_bytes": 3200}
        assert whole["replicas"]["A"]["tier_usage"]["L1"] == {"used_bytes": 300, "capacity_bytes": 1200}

    def test_a_shared_server_that_does_not_export_its_l1_leaves_the_fleet_s_unknown(self, tmp_path: Path) -> None:
        page = {"vllm": vllm(0, 0, 0, 0)}
        shared = {"lmcache-mp": lmcache_mp(0, 0)}
        fleet = explained(tmp_path, {"A": {0: page, 60: page}, "_fleet": {0: shared, 60: shared}})["fleet"]
        assert fleet["tier_usage"]["L1"] == {"used_bytes": None, "capacity_bytes": None}
        assert fleet["why"]["tier_usage.L1.used_bytes"] == "the shared cache server does not export it"
