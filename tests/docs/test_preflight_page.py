"""docs/preflight.md against the checks: each code and each check has its row, and no other has."""

from __future__ import annotations

import re

from controller.changes.preflight import CHECKS
from tests.docs.generate import ROOT

_TEXT = (ROOT / "docs/preflight.md").read_text(encoding="utf-8")
_REFUSALS, _, _WARNINGS = _TEXT.partition("## Warnings")


def rows(text: str, width: int) -> list[list[str]]:
    """The cells of a page's only table, without its head."""
    found = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert all(len(cells) == width and all(cells) for cells in found)
    return found[1:]


def test_every_code_that_a_check_refuses_with_has_its_row() -> None:
    told = [re.sub(r"`", "", cells[0]) for cells in rows(_REFUSALS, 3)]
    assert sorted(told) == sorted({code for check in CHECKS for code in check.codes})


def test_every_check_has_its_row_of_warnings() -> None:
    assert sorted(cells[0] for cells in rows(_WARNINGS, 2)) == sorted(check.name for check in CHECKS)
