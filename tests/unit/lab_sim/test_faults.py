"""The registry of faults against the page that lists them."""

from __future__ import annotations

import re
from pathlib import Path

from lab.sim.faults import BY_NAME, FAULTS

PAGE = Path(__file__).parents[3] / "docs" / "lab.md"


def test_the_page_lists_every_fault_with_what_one_sees() -> None:
    rows = re.findall(
        r"^\| `([a-z0-9-]+)` \| (.+) \|$", PAGE.read_text("utf-8").partition("## Faults")[2], re.MULTILINE
    )
    assert rows == [(fault.name, fault.seen) for fault in FAULTS]


def test_names_are_distinct_and_every_fault_says_what_one_sees() -> None:
    assert len(BY_NAME) == len(FAULTS)
    assert all(fault.seen and not fault.seen.endswith(".") for fault in FAULTS)
