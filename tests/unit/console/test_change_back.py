"""What a revert goes back to, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.change_back import wish_back
from tests.support.any_changes import CHANGE
from tierdeck.changes.wish import L0Wish, Wish

GIB = 2**30
RESIZE = replace(CHANGE, id=7, wish=Wish(l0=L0Wish(share=0.8), l1_bytes=60 * GIB))


def test_a_switch_goes_back_to_the_strategy_before() -> None:
    assert wish_back(CHANGE) == Wish(strategy="session")
    assert wish_back(replace(CHANGE, id=7, was={})) == Wish(strategy="as before change 7")


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("--gpu-memory-utilization 0.9", L0Wish(share=0.9)),
        ("61 GiB (--gpu-memory-utilization 0.9)", L0Wish(share=0.9)),
        ("--kv-cache-memory-bytes 12884901888", L0Wish(size_bytes=12 * GIB)),
        ("24 GiB (--kv-cache-memory-bytes 12884901888 × 2 ranks)", L0Wish(size_bytes=12 * GIB)),
        ("--num-gpu-blocks-override 4096", L0Wish(blocks=4096)),
    ],
)
def test_l0_goes_back_to_what_was_written(words: str, size: L0Wish) -> None:
    was = {"strategy": "session", "L0": words, "L1": "40 GiB (20 GiB × 2 ranks)", "L2": "500 GiB"}
    assert wish_back(replace(RESIZE, was=was)) == Wish(l0=size, l1_bytes=40 * GIB)  # L2 was not asked for


def test_a_tier_that_was_off_goes_off() -> None:
    assert wish_back(replace(RESIZE, was={"L1": "off"})) == Wish(l1_bytes=0)


def test_what_is_not_known_is_left_out_and_never_made_up() -> None:
    assert wish_back(replace(RESIZE, was={"L0": "--gpu-memory-utilization half", "L1": "40Gi × 2"})) == Wish(
        strategy="as before change 7"
    )
