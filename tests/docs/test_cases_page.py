"""The table of cases: every known fault stands in it once, and every directory is linked from its row."""

from __future__ import annotations

import re

from tests.docs.generate import ROOT
from tests.support.cases import IDS

GAPS = {3, 5, 16, 20, 25, 28, 35, 38, 43, 48, 50, 57, 63}
"""Numbers that were never given."""
KNOWN = [f"T{number:02}" for number in range(1, 65) if number not in GAPS]
KNOWN += [f"trap-{number:02}" for number in range(1, 13)]
KNOWN += ["own-01"]
PARTS = ("Probe", "Lint", "Doctor", "Alerting", "Routing proof", "Out of scope")
LINK = re.compile(r"\(\.\./tests/fixtures/cases/([^/]+)/expected\.yaml\)")


def rows() -> dict[str, str]:
    text = (ROOT / "docs/cases.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (T\d+|trap-\d+|own-\d+) \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    assert len(found) == len(dict(found))
    return dict(found)


def test_every_known_fault_has_its_row() -> None:
    assert list(rows()) == KNOWN


def test_every_case_is_linked_from_its_own_row_and_no_other() -> None:
    linked = {name: LINK.findall(held) for name, held in rows().items()}
    assert sorted(case for cases in linked.values() for case in cases) == IDS
    for name, cases in linked.items():
        assert all(case.startswith(f"{name}-") for case in cases)


def test_a_fault_without_a_case_names_the_part_that_holds_it_and_the_reason() -> None:
    for name, held in rows().items():
        if not LINK.search(held):
            part, _, why = held.partition(": ")
            assert part in PARTS, name
            assert why, name
