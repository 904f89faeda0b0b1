"""A replica's tiers together: tokens by tier, worked by hand. Blocks have 16 tokens, chunks 64 (4 blocks)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierdeck.sizing.blocks import BlockCache
from tierdeck.sizing.chunks import ChunkCache
from tierdeck.sizing.prompt import Geometry, Prompt
from tierdeck.sizing.replica import Lookup, ReplicaCache

SMALL = Geometry(block_tokens=16, chunk_tokens=64, kv_bytes_per_token=1)


def replica(l2: ChunkCache, *, l0: int = 100, l1: int = 6400, promotes: bool = False) -> ReplicaCache:
    return ReplicaCache(SMALL, BlockCache(l0), ChunkCache(l1), l2, promotes=promotes)


def prompt(tokens: int, first: int = 1000) -> Prompt:
    return Prompt(tokens, tuple(range(first, first + tokens // 16)))


def test_another_replica_finds_whole_chunks_in_l2() -> None:
    # 200 tokens: 3 chunks (192) are stored; B loads 192 and computes 8
    l2 = ChunkCache(10**6)
    a, b = replica(l2), replica(l2)
    assert a.serve(prompt(200)) == Lookup(200, requested=192)
    assert b.serve(prompt(200)) == Lookup(200, l2=192, requested=192, found_l2=192)


def test_l0_goes_before_l1_and_lmcache_counts_both() -> None:
    # the same 200 tokens again: L0 has 12 blocks = 192; LMCache finds them too and loads none
    a = replica(ChunkCache(10**6))
    a.serve(prompt(200))
    assert a.look_up(prompt(200)) == Lookup(200, l0=192, requested=192, found_l1=192)


def test_the_last_token_is_always_computed() -> None:
    # 128 tokens, all cached: L0 may serve 7 blocks (112); LMCache the rest less one: 15
    l2 = ChunkCache(10**6)
    a, b = replica(l2), replica(l2)
    a.serve(prompt(128))
    assert a.look_up(prompt(128)) == Lookup(128, l0=112, l1=15, requested=128, found_l1=128)
    assert b.look_up(prompt(128)) == Lookup(128, l2=127, requested=128, found_l2=128)
    assert b.look_up(prompt(128)).miss == 1


def test_l2_goes_on_where_l1_ends() -> None:
    # L1 has room for one chunk; 256 tokens = 4 chunks: 64 from L1, then L2. L0 forgot all.
    a = replica(ChunkCache(10**6), l1=64)
    a.serve(prompt(300))
    a.l0.drop_idle()
    assert a.look_up(prompt(300)) == Lookup(300, l1=64, l2=192, requested=256, found_l1=64, found_l2=192)


def test_hits_in_l2_stay_there_unless_the_policy_keeps_them() -> None:
    for promotes, kept in ((False, 0), (True, 3)):
        l2 = ChunkCache(10**6)
        replica(l2).serve(prompt(200))
        b = replica(l2, promotes=promotes)
        b.serve(prompt(200))
        assert len(b.l1) == kept


def test_another_hash_seed_finds_nothing_of_others() -> None:
    l2 = ChunkCache(10**6)
    a, b = replica(l2), replica(l2)
    b.key_mask = 12345
    a.serve(prompt(200))
    assert b.serve(prompt(200)).external == 0
    b.l0.drop_idle()
    assert b.look_up(prompt(200)).l1 == 192


def test_what_can_not_be_read_is_found_and_computed() -> None:
    l2 = ChunkCache(10**6)
    a, b = replica(l2), replica(l2)
    a.serve(prompt(200))
    b.readable = False
    assert b.look_up(prompt(200)) == Lookup(200, requested=192, found_l2=192, unread=192)


def test_without_a_connector_only_l0_serves() -> None:
    a = replica(ChunkCache(10**6))
    a.serve(prompt(200))
    a.connected = False
    assert a.look_up(prompt(200)) == Lookup(200, l0=192)
    assert a.to_store(prompt(200), Lookup(200)) == ()


def test_sizes_are_whole_blocks_and_chunks() -> None:
    geometry = Geometry(block_tokens=16, chunk_tokens=256, kv_bytes_per_token=57_344)
    assert geometry.block_bytes == 917_504  # 16 × 57,344
    assert geometry.blocks_in(2**30) == 1170  # 1,073,741,824 / 917,504 = 1,170.3
    with pytest.raises(ValueError, match="no block"):
        geometry.blocks_in(1000)
    with pytest.raises(ValueError, match="whole number"):
        Geometry(block_tokens=16, chunk_tokens=100)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 400), st.booleans()), max_size=40))
def test_tokens_add_up_and_stay_within_what_the_ledger_can_know(steps: list[tuple[int, int, bool]]) -> None:
    l2 = ChunkCache(1200)
    replicas = [replica(l2, l0=20, l1=600), replica(l2, l0=12, l1=300, promotes=True)]
    for stream, tokens, second in steps:
        asked = prompt(tokens, stream * 1000)
        found = replicas[second].serve(asked)
        assert min(found.l0, found.l1, found.l2) >= 0
        assert found.miss >= 1
        assert max(0, found.external - found.found_l2) <= found.l1 <= min(found.external, found.found_l1)
        assert found.requested == tokens // 64 * 64
        for cache in (*(each.l1 for each in replicas), l2):
            assert cache.used_bytes <= cache.capacity_bytes
