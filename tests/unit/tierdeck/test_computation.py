"""The registry of computations: every figure of every document has its entry, and no entry is idle."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cases import IDS, document
from tierdeck.account import PoolAccount
from tierdeck.computation import COMPUTATIONS, computation
from tierdeck.explanation import explanation
from tierdeck.readings import READINGS
from tierdeck.report import pool_document


def figures(part: Any, path: str = "") -> Iterator[str]:
    for key, value in part.items():
        if key in ("why", "notes", "names"):
            continue
        where = f"{path}.{key}" if path else key
        yield where
        if isinstance(value, dict):
            yield from figures(value, where)


def test_every_figure_shown_says_how_it_is_computed_and_every_entry_is_shown() -> None:
    used = set()
    for name in IDS:
        told = document(name)
        for part in (told["fleet"], *told["replicas"].values()):
            for key in figures(part):
                if key not in ("tiers", "hit_ratio", "tier_usage", "ceiling", "worth"):
                    used.add(computation(key).title)
    for key in figures(pool_document(PoolAccount()), "pool"):
        used.add(computation(key).title)
    assert used == {entry.title for entry in COMPUTATIONS.values()}


def test_a_figure_that_nobody_explains_is_an_error() -> None:
    with pytest.raises(KeyError):
        computation("luck")


def test_an_entry_reads_as_one_line_and_as_a_text() -> None:
    entry = computation("tiers.L1.low")
    assert entry is COMPUTATIONS["tiers.L1"]
    assert "[external_hits, l1_found, l2_found, host_hits]" in entry.line()
    assert f"`l1_found` (tokens): {READINGS['l1_found'].text}" in entry.markdown()  # type: ignore[index]
    assert "`unsplit`" in entry.markdown()


@pytest.mark.parametrize("key", COMPUTATIONS)
def test_an_entry_is_one_sentence(key: str) -> None:
    assert not COMPUTATIONS[key].sentence.endswith(".")
    assert ". " not in COMPUTATIONS[key].sentence


def test_the_text_for_people_explains_what_it_shows_and_nothing_else() -> None:
    text = explanation(document("T10-decode-replica"))
    assert "Transferred: tokens from other engines" in text
    assert "Pool:" not in text
    assert "Transferred" not in explanation(document("T13-idle"))
