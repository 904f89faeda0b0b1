"""Cycles are looked for again after an answer, however it ended."""

from __future__ import annotations

import gc

import pytest

from collectors.garbage import not_looked_at


def test_nothing_is_looked_at_until_the_answer_is_unpacked() -> None:
    with not_looked_at():
        assert not gc.isenabled()
        with not_looked_at():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_does_not_leave_it_so() -> None:
    with pytest.raises(LookupError), not_looked_at():
        raise LookupError
    assert gc.isenabled()
