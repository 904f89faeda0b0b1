"""Grafana's variables: exchanged before parsing, in place again afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.lint.parsing import UnjudgedError, UnparsableError
from collectors.lint.variables import holes, parse_with_variables


@pytest.mark.parametrize(
    "text",
    [
        'rate(a{job=~"$job", x="${x:regex}", y=~"[[y]]"}[$__rate_interval])',
        "rate(a[${__range_s}s])",
        "rate(a[[[window]]])",
        "rate(a[$__interval:30s])",
        "max_over_time(a[1h:${step}])",
        "a offset $shift",
        "avg_over_time(a[$__range] offset $shift)",
        "topk($k, a) > $threshold",
        "histogram_quantile($q, sum by (le, $group) (rate(x_bucket{$filter}[5m:$step])))",
        'a{${filters}, b="c"}',
        'a{$label="1"}',
        "a{x=$y}",
        "a{x=~${y:doublequote}}",
        '$metric{a="b"}',
        "vllm:${what}_total",
        "$query",
        "a / $other",
        "sum by (${group:csv}) (a)",
        'a{x=~"(${x:pipe})"}',
        'label_replace(a, "x", "$1-$job", "y", "(.*)")',
        "a == bool $x",
        "a ^ $x",
    ],
)
def test_a_query_with_variables_is_written_as_it_was_read(text: str) -> None:
    tree, variables = parse_with_variables(text, {})
    assert variables.text(tree) == text
    assert not variables.lost


def test_the_same_variable_stands_for_the_same() -> None:
    left, _ = parse_with_variables('a{x="$x"}', {})
    both, variables = parse_with_variables('a{x="$x"} / a{x="$x"}', {})
    assert variables.text(both) == 'a{x="$x"} / a{x="$x"}'
    assert getattr(both, "left", None) == getattr(both, "right", None) == left


def test_a_group_of_a_replacement_is_no_variable() -> None:
    assert [hole.name for hole in holes('label_replace(a, "x", "$1$job", "y", "(.*)")')] == ["job"]


def test_where_a_variable_stands_is_told() -> None:
    found = {hole.name: hole.place for hole in holes('sum by ($a) (rate(x{b="$c", $d}[$e])) # $f')}
    assert found == {"a": "bare", "c": "string", "d": "braces", "e": "range"}


def test_a_function_is_filled_with_its_present_value_and_can_t_be_written_back() -> None:
    tree, variables = parse_with_variables("$agg by (x) (a)", {"agg": "max"})
    assert (variables.text(tree), variables.lost) == ("max by (x) (a)", ["$agg"])


@pytest.mark.parametrize("values", [{}, {"agg": ""}, {"agg": "$__all"}])
def test_a_function_that_nobody_names_is_not_judged(values: dict[str, str]) -> None:
    with pytest.raises(UnjudgedError, match=r"\$agg names a function"):
        parse_with_variables("$agg(a)", values)


def test_many_variables_that_may_be_numbers_are_not_tried_for_ever() -> None:
    with pytest.raises(UnjudgedError):
        parse_with_variables(" + ".join(f"clamp($a{number}, 1, 2)" for number in range(40)), {})


def test_a_refusal_names_the_variable_and_not_its_stand_in() -> None:
    with pytest.raises(UnparsableError) as told:
        parse_with_variables("rate($metric)", {})
    assert "tierdeckvariable" not in str(told.value)


@given(st.text(alphabet="ab $[]{}()\"'\\:#,=/15m_", max_size=40))
def test_any_text_is_a_tree_or_refused(text: str) -> None:
    try:
        tree, variables = parse_with_variables(text, {})
    except (UnparsableError, UnjudgedError):
        return
    again, names = parse_with_variables(variables.text(tree), {})
    assert names.text(again) == variables.text(tree)
