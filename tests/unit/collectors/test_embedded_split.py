"""LMCache inside vLLM counts no tier's hits: L2 is estimated from the bytes that it read from its remote."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.expositions import bounds, codes, explained, series, tokens, vllm, window

KV = {"kv_bytes_per_token": 512}


def page(read_bytes: float | None, found: float = 0, *, disk: float = 0, workers: int = 1, role: str = "worker") -> str:
    """Tokens found in all, and bytes read by each worker."""
    named: dict[str, float | None] = {"process_start_time_seconds": 1e6}
    for worker in range(workers):
        labels = f'{{model_name="m",role="{role}",worker_id="{worker}"}}'
        named[f"lmcache:num_lookup_tokens_total{labels}"] = found
        named[f"lmcache:num_lookup_hits_total{labels}"] = found
        named[f"lmcache:num_remote_read_bytes_total{labels}"] = read_bytes
        named[f"lmcache:local_storage_usage{labels}"] = disk
    return series(named)


def of(tmp_path: Path, pages: tuple[str, str], facts: dict[str, Any] | None = None) -> Any:
    """Replica A, which loaded 320 of 400 tokens."""
    return window(tmp_path, vllm(0, 0, 0, 0), vllm(400, 0, 400, 320), KV if facts is None else facts, lmcache=pages)


def test_l2_is_the_bytes_read_in_tokens_and_the_bounds_stay_open(tmp_path: Path) -> None:
    # 65,536 bytes of 512 a token are 128 tokens; 320 - 128 = 192 are L1's
    part = of(tmp_path, (page(0), page(65_536, 320)))
    assert (bounds(part, "L1"), bounds(part, "L2")) == ((0, 192, 320), (0, 128, 320))
    assert tokens(part)["L1+L2"] == 320
    assert codes(part) == ["split_estimated"]
    assert "read from the remote 128" in part["notes"][0]["evidence"]


def test_nothing_read_means_that_all_came_from_l1(tmp_path: Path) -> None:
    part = of(tmp_path, (page(65_536), page(65_536, 320)))
    assert (tokens(part)["L1"], tokens(part)["L2"]) == (320, 0)
    assert codes(part) == ["split_estimated"]


def test_more_read_than_loaded_is_all_l2_and_no_more(tmp_path: Path) -> None:
    # 262,144 / 512 = 512 tokens read, 320 loaded
    part = of(tmp_path, (page(0), page(262_144, 320)))
    assert (tokens(part)["L1"], tokens(part)["L2"]) == (0, 320)


def test_bytes_that_are_no_whole_tokens_are_told_as_whole_ones(tmp_path: Path) -> None:
    # 65,700 / 512 = 128.3 tokens, 128; 320 - 128 = 192
    part = of(tmp_path, (page(0), page(65_700, 320)))
    assert (tokens(part)["L1"], tokens(part)["L2"]) == (192, 128)


def test_a_size_that_makes_bytes_countless_tokens_stays_within_the_bounds(tmp_path: Path) -> None:
    part = of(tmp_path, (page(0), page(65_536, 320)), {"kv_bytes_per_token": 1e-300})
    assert (tokens(part)["L1"], tokens(part)["L2"]) == (0, 320)


def test_every_rank_reads_its_own_part(tmp_path: Path) -> None:
    # 4 ranks with 16,384 bytes each: 65,536 bytes, 128 tokens
    part = of(tmp_path, (page(0, workers=4), page(16_384, 320, workers=4)))
    assert (tokens(part)["L1"], tokens(part)["L2"]) == (192, 128)


def test_merged_into_vllm_s_own_page_it_is_the_same(tmp_path: Path) -> None:
    part = window(tmp_path, vllm(0, 0, 0, 0) + page(0), vllm(400, 0, 400, 320) + page(65_536, 320), KV)
    assert (tokens(part)["L1"], tokens(part)["L2"]) == (192, 128)


@pytest.mark.parametrize(
    ("pages", "facts"),
    [
        ((page(0), page(65_536, 320)), {}),  # nobody says how many bytes a token has
        ((page(0, role="scheduler"), page(65_536, 320, role="scheduler")), KV),  # which never reads
        ((page(0, disk=4096), page(65_536, 320, disk=4096)), KV),  # some came from the disk, and nobody counts these
        ((page(None), page(None, 320)), KV),
    ],
)
def test_without_them_nothing_is_estimated(tmp_path: Path, pages: tuple[str, str], facts: dict[str, Any]) -> None:
    part = of(tmp_path, pages, facts)
    assert bounds(part, "L1") == (0, None, 320)
    assert codes(part) == ["unsplit"]
    assert "what it read from its remote is not known" in part["why"]["tiers.L1.tokens"]


def test_a_cache_scrape_missing_at_an_edge_leaves_it_open(tmp_path: Path) -> None:
    moments = {0: {"vllm": vllm(0, 0, 0, 0), "lmcache": page(0)}, 60: {"vllm": vllm(400, 0, 400, 320)}}
    part = explained(tmp_path, {"A": moments}, KV)["replicas"]["A"]
    assert bounds(part, "L1") == (0, None, 320)


def test_what_was_found_and_not_loaded_still_comes_from_lookups(tmp_path: Path) -> None:
    # found 320; 100 loaded, 20 in L0: at least 320 - 100 - 20 = 200 were computed again
    part = window(tmp_path, vllm(0, 0, 0, 0), vllm(400, 20, 380, 100), KV, lmcache=(page(0), page(65_536, 320)))
    assert part["found_not_loaded_tokens"] == 200
    assert (tokens(part)["L1"], tokens(part)["L2"]) == (0, 100)


def test_a_fleet_adds_up_what_was_read(tmp_path: Path) -> None:
    # 2 x 320 loaded; 128 and 64 tokens read
    replicas = {
        name: {0: {"vllm": vllm(0, 0, 0, 0), "lmcache": page(0)}, 60: {"vllm": last, "lmcache": page(read, 320)}}
        for name, last, read in (("A", vllm(400, 0, 400, 320), 65_536), ("B", vllm(400, 0, 400, 320), 32_768))
    }
    fleet = explained(tmp_path, replicas, KV)["fleet"]
    assert (tokens(fleet)["L1"], tokens(fleet)["L2"]) == (640 - 192, 192)
