"""Every case that users of such systems met, as a snapshot: `explain` gives the right value, or says why not."""

from typing import Any

import pytest

from tests.support.cases import IDS, at, document, read_case, reason
from tierdeck.explanation import explanation


@pytest.mark.parametrize("name", IDS)
def test_a_case_has_the_values_that_were_worked_by_hand(name: str) -> None:
    case, told = read_case(name), document(name)
    assert case.title
    assert case.origin
    assert case.working
    for key, value in case.values.items():
        assert close(at(told, key), value), f"{key}: {at(told, key)} is not {value}"
    for part, codes in case.notes.items():
        assert set(codes) <= noted(told, part), f"{part}: {noted(told, part)}"
    for part, codes in case.absent_notes.items():
        assert not set(codes) & noted(told, part), f"{part}: {noted(told, part)}"
    for key, words in case.why.items():
        assert at(told, key) is None
        assert words in reason(told, key)
    text = explanation(told)
    for words in case.text:
        assert words in text


@pytest.mark.parametrize("name", IDS)
def test_no_ratio_of_a_case_leaves_its_range_and_tiers_add_up(name: str) -> None:
    told = document(name)
    for part in (told["fleet"], *told["replicas"].values()):
        ratios = [tier["ratio"] for tier in part["tiers"].values()] + list(part["hit_ratio"].values())
        assert all(0 <= ratio <= 1 for ratio in ratios if ratio is not None)
        parts = [part["tiers"][tier]["tokens"] for tier in ("L0", "L1+L2", "miss", "transfer") if tier in part["tiers"]]
        if None not in parts:
            assert sum(parts) == part["prompt_tokens"]


def noted(told: dict[str, Any], part: str) -> set[str]:
    return {note["code"] for note in at(told, part)["notes"]}


def close(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and set(found) == set(wanted) and all(close(found[k], wanted[k]) for k in wanted)
    if wanted is None or found is None or isinstance(wanted, (str, list, bool)):
        return bool(found == wanted)
    return bool(found == pytest.approx(wanted, rel=1e-12))
