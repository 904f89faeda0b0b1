"""The registry of faults against the page that lists them, and the tests that hold what is seen of each."""

from __future__ import annotations

import re
from pathlib import Path

from lab.sim.faults import BY_NAME, FAULTS
from tests.integration import (
    test_sim_faults,
    test_sim_faults_counting,
    test_sim_faults_pool,
    test_sim_faults_traffic,
    test_sim_versions,
)

PAGE = Path(__file__).parents[3] / "docs" / "lab.md"
CHECKED = (
    test_sim_faults,
    test_sim_faults_pool,
    test_sim_faults_traffic,
    test_sim_faults_counting,
    test_sim_versions,
)


def test_the_page_lists_every_fault_with_what_one_sees() -> None:
    section = PAGE.read_text("utf-8").partition("## Faults")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.+) \|$", section, re.MULTILINE)
    assert rows == [(fault.name, fault.seen) for fault in FAULTS]


def test_names_are_distinct_and_every_fault_says_what_one_sees() -> None:
    assert len(BY_NAME) == len(FAULTS)
    assert all(fault.seen and not fault.seen.endswith(".") for fault in FAULTS)


def test_what_one_sees_of_every_fault_is_held_by_a_test() -> None:
    assert sorted(name for module in CHECKED for name in module.CHECKS) == sorted(BY_NAME)
