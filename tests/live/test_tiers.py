"""What the ledger says of real engines, token for token: each tier serving, and each tier full."""

from __future__ import annotations

from tests.live.agreement import agree, bounds, tokens
from tests.live.fleet import PREFIX_TOKENS, TAIL_TOKENS, LiveFleet, prefixes, with_tail
from tests.live.window import Window, settle

PROMPT = PREFIX_TOKENS + TAIL_TOKENS
"""552 tokens a request."""
_LOADED, _FOUND_IN_L1 = "vllm:external_prefix_cache_hits_total", "lmcache_mp_lookup_hit_l1_tokens_total"


def test_what_a_computed_comes_to_b_from_l2_and_what_l0_served_is_not_counted_again(
    fleet: LiveFleet, window: Window
) -> None:
    (prefix,) = prefixes(1, seed=1)
    window.ask("a", with_tail(prefix))
    window.ask("a", with_tail(prefix))
    settle(fleet)
    window.ask("b", with_tail(prefix))
    document = window.close()
    agree(window, document)

    # A: 2 x 552 looked up; L0 has the 512 of the prefix the second time, 592 are computed.
    a = document["replicas"]["a"]
    assert tokens(a) == {"L0": 512, "L1": 0, "L2": 0, "L1+L2": 0, "miss": 592}
    # LMCache found these 512 in L1 as well: they are not added to L0's, and nothing of them was left unused.
    assert window.rise("a", "lmcache_mp_lookup_hit_l1_tokens_total") == 512
    assert bounds(a, "L1") == (0, 0)
    assert a["found_not_loaded_tokens"] == 0

    # B: 552 looked up; the 512 of the prefix come from the L2 that A wrote, the 40 of the tail are computed.
    b = document["replicas"]["b"]
    assert tokens(b) == {"L0": 0, "L1": 0, "L2": 512, "L1+L2": 512, "miss": 40}
    assert bounds(b, "L2") == (512, 512)
    assert tokens(document["fleet"]) == {"L0": 512, "L1": 0, "L2": 512, "L1+L2": 512, "miss": 632}


def test_prompts_that_l0_can_not_hold_come_from_l1(window: Window) -> None:
    # 12 x 512 = 6,144 tokens: above L0's 4,096, below the 6,553 at which L1 begins to evict (0.8 x 8,192).
    some = prefixes(12, seed=2)
    window.ask_until("a", some, lambda so_far: so_far.risen("a", _LOADED) >= 8 * PREFIX_TOKENS)
    document = window.close()
    agree(window, document)
    found = tokens(document["replicas"]["a"])
    assert found["L1"] >= 6 * PREFIX_TOKENS
    assert found["L1"] > found["L2"]
    assert found["miss"] >= 12 * PROMPT  # the first time nobody has them


def test_prompts_that_l1_can_not_hold_come_from_l2(window: Window) -> None:
    # 24 x 512 = 12,288 tokens: above L1's 8,192, below the 32,768 at which L2 begins to evict (0.8 x 40,960).
    some = prefixes(24, seed=3)
    window.ask_until(
        "a", some, lambda so_far: so_far.risen("a", _LOADED) - so_far.risen("a", _FOUND_IN_L1) >= 4 * PREFIX_TOKENS
    )
    document = window.close()
    agree(window, document)
    found = tokens(document["replicas"]["a"])
    assert found["L2"] >= 4 * PREFIX_TOKENS
    assert window.rise("a", "lmcache_mp_l1_evicted_chunks_total") > 0


def test_prompts_that_l2_can_not_hold_are_computed_again(fleet: LiveFleet, window: Window) -> None:
    # 100 x 512 = 51,200 tokens: above L2's 40,960. In the same order again, the oldest are gone when their turn comes.
    some = prefixes(100, seed=4)
    for prefix in some:
        window.ask("a", with_tail(prefix))
    settle(fleet)
    for prefix in some[:20]:
        window.ask("a", with_tail(prefix))
    document = window.close()
    agree(window, document)
    found = tokens(document["replicas"]["a"])
    assert window.rise("a", "lmcache_mp_l2_evicted_objects_chunks_total") > 0
    assert found["miss"] > 100 * PROMPT + 20 * TAIL_TOKENS


def test_a_prompt_that_was_just_asked_comes_from_l0(window: Window) -> None:
    (prefix,) = prefixes(1, seed=5)
    for _ in range(4):
        window.ask("b", with_tail(prefix))
    document = window.close()
    agree(window, document)
    # 4 x 552 looked up, 3 x 512 of them in L0
    found = tokens(document["replicas"]["b"])
    assert found == {"L0": 1536, "L1": 0, "L2": 0, "L1+L2": 0, "miss": 672}
