"""L0: prefix hits, what is held and what is evicted first."""

from tierdeck.sizing.blocks import BlockCache


def used(cache: BlockCache, *blocks: int) -> None:
    assert cache.acquire(blocks)
    cache.release(blocks)


def test_counts_leading_blocks_only() -> None:
    cache = BlockCache(10)
    used(cache, 1, 2, 3)
    assert cache.match([1, 2, 9, 3]) == 2
    assert cache.match([9, 1]) == 0


def test_evicts_the_last_blocks_of_a_prefix_first() -> None:
    cache = BlockCache(4)
    used(cache, 1, 2, 3, 4)
    used(cache, 9)  # room for one more: 4 goes
    assert cache.match([1, 2, 3, 4]) == 3
    assert cache.evicted == 1


def test_evicts_the_least_recently_used_prompt_first() -> None:
    cache = BlockCache(4)
    used(cache, 1, 2)
    used(cache, 11, 12)
    used(cache, 1, 2)
    used(cache, 21, 22)  # 11 and 12 were used longest ago
    assert cache.match([1, 2]) == 2
    assert cache.match([11, 12]) == 0


def test_blocks_of_running_requests_stay_and_a_request_that_finds_no_room_waits() -> None:
    cache = BlockCache(4)
    assert cache.acquire([1, 2], nameless=1)
    assert not cache.acquire([11, 12])
    assert cache.acquire([1, 2])  # shared: needs no room
    assert cache.held_blocks == 3
    cache.release([1, 2], nameless=1)
    assert cache.acquire([11, 12])
    assert cache.match([1, 2]) == 2


def test_an_answer_is_found_by_the_next_turn() -> None:
    cache = BlockCache(6)
    assert cache.acquire([1, 2], nameless=2)
    cache.release([1, 2], nameless=2, answer=[3, 4])
    assert cache.match([1, 2, 3, 4, 5]) == 4
    assert cache.held_blocks == 0


def test_a_reset_forgets_what_is_idle() -> None:
    cache = BlockCache(6)
    used(cache, 1, 2)
    assert cache.acquire([7])
    cache.drop_idle()
    assert cache.match([1, 2]) == 0
    assert cache.match([7]) == 1
