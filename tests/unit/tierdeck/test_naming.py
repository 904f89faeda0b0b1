"""Endpoints by short and full names."""

from __future__ import annotations

import pytest

from tierdeck.errors import UsageError
from tierdeck.naming import full_name, short_name

KNOWN = ["inference/chat", "staging/code", "inference/code", "batch"]


def test_a_short_name_is_what_follows_the_namespace() -> None:
    assert (short_name("inference/chat"), short_name("batch")) == ("chat", "batch")


def test_a_name_that_fits_one_endpoint_is_enough() -> None:
    assert full_name("chat", KNOWN) == "inference/chat"
    assert full_name("inference/code", KNOWN) == "inference/code"
    assert full_name("batch", KNOWN) == "batch"


def test_a_full_name_wins_over_the_same_as_a_short_one() -> None:
    assert full_name("batch", [*KNOWN, "other/batch"]) == "batch"


def test_a_name_that_fits_several_names_them() -> None:
    with pytest.raises(UsageError, match="'code' fits 2 endpoints: inference/code, staging/code"):
        full_name("code", KNOWN)


def test_a_name_that_fits_none_names_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="there is no endpoint 'chatt'") as caught:
        full_name("chatt", KNOWN)
    assert "batch, inference/chat" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        full_name("chat", [])
    assert caught.value.hint == "Known: none."
