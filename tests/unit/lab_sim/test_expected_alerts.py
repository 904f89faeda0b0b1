"""What is expected of each fault and change, against the registries of faults, changes, rules and causes."""

from __future__ import annotations

import pytest

from lab.sim.admin import routes
from lab.sim.expected_alerts import OF_CHANGES, OF_FAULTS, Expected, Quiet, Raises
from lab.sim.faults import FAULTS
from lab.sim.fleet import Fleet
from lab.sim.scale import small
from tests.unit.lab_sim.scraping import BEGAN_AT
from tierdeck.alerts.causes import CAUSES
from tierdeck.alerts.rules import RULES

CAUSES_BY_NAME = {cause.name: cause for cause in CAUSES}
EXPECTED: dict[str, Expected] = {**OF_FAULTS, **OF_CHANGES}


def test_every_fault_is_decided_in_the_order_of_the_registry() -> None:
    assert [*OF_FAULTS] == [fault.name for fault in FAULTS]


def test_every_change_of_the_admin_api_is_decided() -> None:
    posts = [one for one in routes(Fleet(small(), 1, BEGAN_AT), lambda: None, lambda _: None) if one.method == "POST"]
    changes = {one.path.removeprefix("/admin/") for one in posts} - {"faults"}
    assert {name.replace(",", " ").split()[0] for name in OF_CHANGES} == changes


@pytest.mark.parametrize("name", EXPECTED)
def test_a_rule_is_one_of_ours_and_looks_for_the_cause(name: str) -> None:
    one = EXPECTED[name]
    if isinstance(one, Raises):
        assert one.rule in RULES
        assert one.rule.name in CAUSES_BY_NAME[one.cause].rules
    assert not (one.why if isinstance(one, Quiet) else one.where).endswith(".")


def test_whoever_is_quiet_has_a_reason() -> None:
    assert all(one.why for one in EXPECTED.values() if isinstance(one, Quiet))
