"""What is written is read back as it was."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.codec import add_up, dump_counts, dump_memory, dump_notes, dump_numbers, load, load_notes, load_numbers
from tierdeck.notes import Note, NoteCode

notes = st.frozensets(st.builds(Note, st.sampled_from(NoteCode), st.text(), st.text()), max_size=4)


@given(found=notes)
def test_notes_come_back(found: frozenset[Note]) -> None:
    text = dump_notes(found)
    assert (text is None) == (not found)
    assert load_notes(text or "[]") == found


@given(
    counters=st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)),
    bounds=st.lists(st.floats(allow_nan=False, allow_infinity=False)),
)
def test_an_accountants_memory_comes_back(counters: dict[str, float], bounds: list[float]) -> None:
    memory = {"at": 17.5, "usage": None, "met": True, "meters": {"vllm": {"counters": counters}}}
    assert load(dump_memory({**memory, "bounds": tuple(bounds)})) == {**memory, "bounds": bounds}


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_come_back(numbers: list[float]) -> None:
    assert load_numbers(dump_numbers(numbers)) == tuple(numbers)


def test_whole_numbers_are_written_short() -> None:
    assert dump_numbers([1.0, 0.25, 3.0]) == "[1,0.25,3]"


@pytest.mark.parametrize(
    ("counts", "text"),
    [((0.0, 0.0, 3.0, 0.0, 1.5, 0.0), "[2,3,0,1.5]"), ((0.0,), "[0]"), ((1.0, 0.0), "[0,1]")],
)
def test_counts_are_written_from_the_first_to_the_last_that_is_not_zero(counts: tuple[float, ...], text: str) -> None:
    assert dump_counts(counts) == text
    assert add_up(text, len(counts)) == counts


@given(rows=st.lists(st.tuples(*[st.integers(0, 9).map(float)] * 4), min_size=1))
def test_lists_that_sql_has_joined_add_up(rows: list[tuple[float, ...]]) -> None:
    expected = reduce(lambda a, b: tuple(map(float.__add__, a, b)), rows)
    assert add_up(",".join(map(dump_counts, rows)), 4) == expected
