"""Counters that vanish from a page, or appear late on it: a gap, a zero, never a wrong share."""

from __future__ import annotations

from pathlib import Path

from tests.support.expositions import bounds, codes, explained, lmcache_mp, vllm


def without(text: str, name: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if name not in line)


def test_a_cache_counter_that_vanishes_leaves_the_edge_open(tmp_path: Path) -> None:
    moments = {
        0: {"vllm": vllm(0, 0, 0, 0), "lmcache-mp": lmcache_mp(0, 0)},
        30: {"vllm": vllm(1000, 100, 900, 300), "lmcache-mp": lmcache_mp(300, 100)},
        60: {
            "vllm": vllm(2000, 200, 1800, 600),
            "lmcache-mp": without(lmcache_mp(600, 200), "hit_l2"),
        },
    }
    part = explained(tmp_path, {"A": moments})["replicas"]["A"]
    assert bounds(part, "L1") == (0, None, 600)
    assert bounds(part, "L2") == (0, None, 600)
    assert {"scrape_gap", "unsplit"} <= set(codes(part))


def test_one_engines_missing_hits_are_a_gap_of_both_its_counters(tmp_path: Path) -> None:
    def both(prompt: float, hits: float) -> str:
        return vllm(prompt, hits, engine="0") + without(vllm(prompt, hits, engine="1"), "process_start_time_seconds")

    whole = both(2000, 1000).splitlines(keepends=True)
    gone = "".join(line for line in whole if 'engine="1"' not in line or "cache_hits" not in line)
    moments = {0: {"vllm": both(0, 0)}, 60: {"vllm": both(1000, 500)}, 120: {"vllm": gone}}
    part = explained(tmp_path, {"A": moments})["replicas"]["A"]
    # 2 x 500 of 2 x 1,000 until 60 s; what came after waits for a whole page
    assert (part["prompt_tokens"], part["tiers"]["L0"]["tokens"]) == (2000, 1000)
    assert "scrape_gap" in codes(part)


def test_one_engine_without_external_counters_leaves_the_rest_open(tmp_path: Path) -> None:
    one = without(vllm(1000, 500, engine="1"), "process_start_time_seconds")
    moments = {0: {"vllm": vllm(0, 0, 0, 0)}, 60: {"vllm": vllm(1000, 500, 500, 100) + one}}
    part = explained(tmp_path, {"A": moments}, {"versions": {"A": {"vllm": "0.10.9"}}})["replicas"]["A"]
    assert part["tiers"]["miss"]["tokens"] is None
    assert part["hit_ratio"]["by_token"] is None
