"""Sizes as people type them: one reading of them for command and page."""

from __future__ import annotations

import pytest

from console.size_wish import size_wish
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.errors import UsageError


def test_what_is_typed_becomes_one_wish() -> None:
    assert size_wish(" 0.85 ", "40Gi", "") == Wish(l0=L0Wish(share=0.85), l1_bytes=40 * 2**30)
    assert size_wish("", "", "2Ti", "team-a") == Wish(l2_bytes=2 * 2**40, salt="team-a")


def test_no_l1_is_called_off() -> None:
    assert size_wish("", "0", "").text == "L1 off"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("", " ", ""), "no size is given"),
        (("", "40", ""), "L1 40 is 40 bytes"),
        (("", "", "4096"), "L2 4096 is 4096 bytes"),
        (("", "40Gi", "", "team-a"), "a cache salt has a size of L2 only"),
        (("", "banana", ""), "'banana' is not a size"),
    ],
)
def test_what_is_no_size_is_said(typed: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        size_wish(*typed)
