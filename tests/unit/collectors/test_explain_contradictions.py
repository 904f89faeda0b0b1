"""Counters that contradict each other: what is withheld is what can't be true, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.expositions import bounds, codes, explained, lmcache_mp, tokens, vllm, window

CONSUMER = {"roles": {"A": "kv_consumer"}}


def by_source(queries: float, hits: float, external: float, **sources: float) -> str:
    """One page of vLLM that tells where cached tokens came from."""
    name = "vllm:prompt_tokens_cached_by_source_total"
    more = {f'{name}{{engine="0",model_name="m",source="{source}"}}': value for source, value in sources.items()}
    return vllm(queries, hits, queries - hits, external, more=more)


def attributed(tmp_path: Path, external: float, facts: dict[str, Any] | None = None, **sources: float) -> Any:
    """Replica A with 1000 tokens looked up, 100 of them in L0."""
    first = by_source(0, 0, 0, device=0, **dict.fromkeys(sources, 0))
    return window(tmp_path, first, by_source(1000, 100, external, device=100, **sources), facts)


class TestMoreLoadedThanMissed:
    def test_tokens_and_ratios_are_withheld_and_bounds_stay(self, tmp_path: Path) -> None:
        # E = 500 > 1000 - 600; l1 = 700, l2 = 400: L1 in [500 - 400, min(500, 700)], L2 = 500 - L1
        caches = (lmcache_mp(0, 0), lmcache_mp(700, 400))
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(1000, 600, 400, 500), lmcache_mp=caches)
        assert tokens(part) == {"L0": 600, "L1": None, "L2": None, "L1+L2": None, "miss": None}
        assert (bounds(part, "L1"), bounds(part, "L2")) == ((100, None, 500), (0, None, 400))
        assert [tier["ratio"] for tier in part["tiers"].values()] == [0.6, None, None, None, None]
        assert part["hit_ratio"]["by_token"] is None
        assert codes(part) == ["external_mismatch"]

    def test_without_a_cache_s_metrics_the_bounds_are_all_that_was_loaded(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(1000, 600, 400, 401))
        assert tokens(part) == {"L0": 600, "L1": None, "L2": None, "L1+L2": None, "miss": None}
        assert (bounds(part, "L1"), bounds(part, "L2")) == ((0, None, 401), (0, None, 401))
        assert codes(part) == ["external_mismatch"]

    def test_a_fleet_s_sum_is_withheld_with_it(self, tmp_path: Path) -> None:
        replicas = {
            "A": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(1000, 600, 400, 500)}},
            "B": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(1000, 0, 1000, 0)}},
        }
        fleet = explained(tmp_path, replicas)["fleet"]
        assert tokens(fleet) == {"L0": 600, "L1": None, "L2": None, "L1+L2": None, "miss": None}
        assert bounds(fleet, "L1") == (0, None, 500)
        assert fleet["hit_ratio"]["by_token"] is None

    def test_so_is_that_of_replicas_that_share_a_cache(self, tmp_path: Path) -> None:
        # together E = 500 <= 2000 - 600 would look sound; the server's l1 = 500 bounds it: [500, 500]
        replicas = {
            "A": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(1000, 600, 400, 500)}},
            "B": {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(1000, 0, 1000, 0)}},
            "_fleet": {0: {"lmcache-mp": lmcache_mp(0, 0)}, 60: {"lmcache-mp": lmcache_mp(500, 0)}},
        }
        fleet = explained(tmp_path, replicas)["fleet"]
        assert tokens(fleet) == {"L0": 600, "L1": None, "L2": None, "L1+L2": None, "miss": None}
        assert (bounds(fleet, "L1"), fleet["hit_ratio"]["by_token"]) == ((500, None, 500), None)


class TestMoreHitThanLookedUp:
    def test_the_count_stays_and_its_share_and_the_rest_are_withheld(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(1000, 1100, 0, 0))
        assert tokens(part) == {"L0": 1100, "L1": 0, "L2": 0, "L1+L2": 0, "miss": None}
        assert part["tiers"]["L0"]["ratio"] is None
        assert "contradict" in part["why"]["tiers.L0.ratio"]
        assert part["hit_ratio"]["by_token"] is None
        assert part["why"]["hit_ratio.by_token"] == "the engine counted more prefix cache hits than lookups"
        assert part["worth"]["shared_prefix"]["low"] is None
        assert codes(part) == ["counters_disagree"]

    def test_whatever_was_loaded_then_is_beyond_what_was_missed(self, tmp_path: Path) -> None:
        part = window(tmp_path, vllm(0, 0, 0, 0), vllm(1000, 1100, 0, 50))
        assert tokens(part) == {"L0": 1100, "L1": None, "L2": None, "L1+L2": None, "miss": None}
        assert set(codes(part)) == {"counters_disagree", "external_mismatch"}

    def test_other_replicas_do_not_make_a_ratio_of_it(self, tmp_path: Path) -> None:
        # (1100 + 100) / 2000 = 0.6 would look sound
        replicas = {
            name: {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(1000, hits, 0, 0)}}
            for name, hits in (("A", 1100), ("B", 100))
        }
        fleet = explained(tmp_path, replicas)["fleet"]
        assert (tokens(fleet)["miss"], fleet["hit_ratio"]["by_token"]) == (None, None)


def test_hits_that_are_not_exported_leave_the_sum_of_l1_and_l2_known(tmp_path: Path) -> None:
    part = window(tmp_path, vllm(0, None, 0, 0), vllm(1000, None, 900, 300))
    assert tokens(part) == {"L0": None, "L1": None, "L2": None, "L1+L2": 300, "miss": None}
    assert (bounds(part, "L1"), part["hit_ratio"]["by_token"]) == ((0, None, 300), None)


class TestMoreAttributedThanLoaded:
    def test_a_token_too_many_is_left_off(self, tmp_path: Path) -> None:
        # host 201 of E = 200
        part = attributed(tmp_path, 200, host=201, disk=0)
        assert tokens(part) == {"L0": 100, "L1": 200, "L2": 0, "L1+L2": 200, "miss": 700}
        assert (bounds(part, "L1"), part["hit_ratio"]["by_token"]) == ((200, 200, 200), 0.3)
        assert codes(part) == ["external_mismatch"]
        assert part["notes"][0]["evidence"] == "by source 201, external 200"

    def test_between_host_and_disk_it_is_an_estimate_within_bounds(self, tmp_path: Path) -> None:
        # E = 200, host 150, disk 100: L1 in [200 - 100, 150], L2 = 200 - L1; estimate L2 = min(200, 100)
        part = attributed(tmp_path, 200, host=150, disk=100)
        assert (bounds(part, "L1"), bounds(part, "L2")) == ((100, 100, 150), (50, 100, 100))
        assert set(codes(part)) == {"external_mismatch", "split_estimated"}

    def test_what_came_from_peers_is_at_most_what_host_and_disk_left(self, tmp_path: Path) -> None:
        # E = 50: host 30, so that 20 of the 40 are transferred
        part = attributed(tmp_path, 50, host=30, p2p=40)
        assert tokens(part) == {"L0": 100, "L1": 30, "L2": 0, "L1+L2": 30, "miss": 850, "transfer": 20}
        assert codes(part) == ["external_mismatch"]

    def test_a_decode_replica_s_too(self, tmp_path: Path) -> None:
        # E = 100, host 120: 100 - 120 < 0, so that nothing was transferred
        part = attributed(tmp_path, 100, CONSUMER, host=120, disk=0)
        assert tokens(part) == {"L0": 100, "L1": 100, "L2": 0, "L1+L2": 100, "miss": 800, "transfer": 0}
        assert codes(part) == ["external_mismatch"]
        assert part["notes"][0]["evidence"] == "by source 120, external 100"

    def test_a_fleet_with_a_shared_cache_adds_up_what_its_replicas_say(self, tmp_path: Path) -> None:
        # A: host 120 of E = 100, nothing transferred; B: E = 50, all transferred
        pages = {"A": by_source(1000, 0, 100, host=120), "B": by_source(1000, 0, 50, host=0)}
        replicas: dict[str, Any] = {
            name: {0: {"vllm": by_source(0, 0, 0, host=0)}, 60: {"vllm": page}} for name, page in pages.items()
        }
        replicas["_fleet"] = {0: {"lmcache-mp": lmcache_mp(0, 0)}, 60: {"lmcache-mp": lmcache_mp(0, 0)}}
        fleet = explained(tmp_path, replicas, {"roles": dict.fromkeys("AB", "kv_consumer")})["fleet"]
        assert tokens(fleet) == {"L0": 0, "L1": 100, "L2": 0, "L1+L2": 100, "miss": 1850, "transfer": 50}

    def test_counters_that_move_one_after_the_other_agree_over_the_window(self, tmp_path: Path) -> None:
        # host is counted before the external hits: over the whole window 200 - 200 = 0 were transferred
        pages = (by_source(0, 0, 0, host=0), by_source(500, 0, 0, host=100), by_source(1000, 0, 200, host=200))
        moments = {60 * i: {"vllm": page} for i, page in enumerate(pages)}
        part = explained(tmp_path, {"A": moments}, CONSUMER)["replicas"]["A"]
        assert tokens(part) == {"L0": 0, "L1": 200, "L2": 0, "L1+L2": 200, "miss": 800, "transfer": 0}
        assert "external_mismatch" not in codes(part)


@pytest.mark.parametrize("hits", [0, 400, 1100])
def test_no_ratio_leaves_its_range(tmp_path: Path, hits: float) -> None:
    part = attributed(tmp_path, 1200, host=hits, disk=hits)
    ratios = [tier["ratio"] for tier in part["tiers"].values()] + list(part["hit_ratio"].values())
    assert all(0 <= ratio <= 1 for ratio in ratios if ratio is not None)
