"""What every rule of the linter promises."""

import pytest

from collectors.lint.linter import faults, findings
from collectors.lint.query import Rule
from collectors.lint.rules import RULES
from collectors.sources import SOURCES
from tests.support.queries import judge, query, selections

each = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def test_every_rule_has_a_code_of_its_own() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)


@each
def test_its_meaning_is_a_sentence(rule: Rule) -> None:
    assert rule.meaning.endswith(".")
    assert "\n" not in rule.meaning


@each
def test_its_example_breaks_this_rule_alone(rule: Rule) -> None:
    example = rule.example
    found = judge(example.text, unit=example.unit, alert=example.alert)
    assert {finding.rule for finding in found} == {rule.code}


@each
def test_the_corrected_example_breaks_no_rule_and_is_stable(rule: Rule) -> None:
    example = rule.example
    right = judge(example.text, unit=example.unit, alert=example.alert)[0].right
    assert right is not None
    again = query(right, unit=example.unit, alert=example.alert)
    assert findings(again) == []
    assert again.say(again.tree) == right


@each
def test_a_correction_keeps_the_labels_that_were_selected(rule: Rule) -> None:
    example = rule.example
    right = judge(example.text, unit=example.unit, alert=example.alert)[0].right
    assert right is not None
    kept, was = selections(right), selections(example.text)
    # the copies go with their label
    assert kept == {one for one in was if one[0] != "server"}


@each
def test_it_says_nothing_of_metrics_that_nobody_knows(rule: Rule) -> None:
    for text in ("up", "sum(rate(a_total[5m])) / sum(rate(b_total[5m]))", "avg(temperature)", "a and on (x) b > 3"):
        assert not [fault for found, fault in faults(query(text, alert=True)) if found is rule]


def test_only_older_names_of_a_family_are_gone_and_each_with_a_release() -> None:
    for source in SOURCES:
        for family in source.families:
            assert set(family.gone) <= set(family.names[1:])
            assert all(version.count(".") == 2 for version in family.gone.values())
