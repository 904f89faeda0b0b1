"""Faults of the simulated fleet, accounted as collectors do it, read from the store: the right cause comes first."""

from __future__ import annotations

import pytest

from db import Store
from tests.integration.cause_fleet import SCENARIOS, build
from tests.support.stores import Sqlite


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_cause_of_a_fault_is_named_first(sqlite: Sqlite, name: str) -> None:
    scenario = SCENARIOS[name]
    with Store.open(sqlite.migrated()) as store:
        seen, found = build(scenario, store)
    told = [(one.name, one.words, one.evidence) for one in found]
    assert found[0].name == scenario.expected, told
    assert scenario.replica in (found[0].replica, ""), told
    assert scenario.says in found[0].words, told
    for decomposition in (seen.by_replica, seen.by_tier):
        if decomposition is not None:
            assert sum(part.total for part in decomposition.parts) == pytest.approx(decomposition.change, abs=1e-9)
