"""L1 and L2: room in bytes, eviction, refusal."""

import pytest

from tierdeck.sizing.chunks import ChunkCache, Stored


def test_holds_as_many_chunks_as_fit() -> None:
    cache = ChunkCache(35)
    assert cache.store([1, 2, 3, 4], 10) == Stored(written=3, evicted=0, refused=1)
    assert cache.used_bytes == 30
    assert cache.match([1, 2, 3, 4]) == 3


def test_drops_the_tail_of_the_least_recently_used_prompt_first() -> None:
    cache = ChunkCache(40)
    cache.store([1, 2], 10)
    cache.store([11, 12], 10)
    cache.touch([1, 2])
    assert cache.store([21], 10).evicted == 1
    assert 12 not in cache
    assert cache.match([11, 12]) == 1
    assert cache.match([1, 2]) == 2


def test_a_cache_that_evicts_nothing_refuses_what_does_not_fit() -> None:
    cache = ChunkCache(20, evicting=False)
    cache.store([1], 10)
    assert cache.store([2, 3], 10) == Stored(written=1, evicted=0, refused=1)
    assert cache.store([1, 2], 10) == Stored()


def test_shrinking_drops_what_no_longer_fits_and_says_so() -> None:
    gone: list[int] = []
    cache = ChunkCache(30, on_evicted=gone.append)
    cache.store([1, 2, 3], 10)
    assert cache.resize(10) == 2
    assert gone == [3, 2]
    cache.discard([1])
    assert (len(cache), cache.used_bytes, gone) == (0, 0, [3, 2])


def test_matches_from_where_another_tier_left_off() -> None:
    cache = ChunkCache(100)
    cache.store([2, 3], 10)
    assert cache.match([1, 2, 3, 4], start=1) == 2


def test_a_capacity_is_not_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        ChunkCache(-1)
