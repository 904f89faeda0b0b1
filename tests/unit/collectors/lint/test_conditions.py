"""Matchers that ask for the same in other words."""

import itertools
import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.lint.conditions import conditions
from collectors.lint.promql import Matcher
from collectors.lint.variables import Variables
from tests.support.queries import judge

HITS = "sum(rate(vllm:prefix_cache_hits_total{{{}}}[5m]))"
RATIO = HITS + " / sum(rate(vllm:prefix_cache_queries_total{{{}}}[5m]))"
SAME = (
    ('m=~"$m"', 'm=~"${m}"'),
    ('m=~"$m"', 'm=~"[[m]]"'),
    ('m=~"$m"', 'm=~"${m:regex}"'),
    ('m=~"$m"', 'm=~"[[m:pipe]]"'),
    ('m=~"$m"', 'm=~"(${m:pipe})"'),
    ('m=~"$m"', 'm=~"^$m$"'),
    ('m="$m"', 'm=~"$m"'),
    ('m=~"$m-.*"', 'm=~"${m}-.*"'),
    ("$filters", "${filters}"),
    ('$label="x"', '${label}="x"'),
    ("m=$m", 'm="${m}"'),
    ('m=~"a|b"', 'm=~"(a|b)"'),
    ('m=~"a|b"', 'm=~"b|a|b"'),
    ('m=~"a|b"', 'm=~"(?:a)|^b$"'),
    ('m=~"a|b|c"', 'm=~"(a|(b|c))"'),
    ('m=~"a"', 'm="a"'),
    ('m=~"a\\\\.b"', 'm="a.b"'),
    ('m!~"a|b"', 'm!="b", m!="a"'),
    ('m!="a"', 'm!~"(a)"'),
    ('m!=""', 'm=~".+"'),
    ('m=~"(.*)"', ""),
    ('m=~"^.*$"', ""),
    ('m=~"a|.*"', ""),
)
DIFFERENT = (
    ('m=~"$m"', 'm=~"$n"'),
    ('m=~"$m"', 'm=~"${m.text}"'),
    ('m=~"$m"', 'm=~"$m.*"'),
    ('m=~"$m"', ""),
    ('m=~"a|b"', 'm=~"a"'),
    ('m=~"a.b"', 'm="a.b"'),
    ('m=~"(a|b)c"', 'm=~"a|bc"'),
    ('m=~"(a)|(b)c"', 'm=~"a|bc"'),
    ('m=~"(?i:a)"', 'm=~"a"'),
    ('m=~"a[|]b"', 'm=~"a|b"'),
    ('m=~"[]|]a"', 'm=~"[]]a"'),
    ('m=~"a\\\\|b"', 'm=~"a|b"'),
    ('m=~"a\\\\d"', 'm="ad"'),
    ('m=~"a\\\\$"', 'm="a"'),
    ('m!="a"', 'm="a"'),
    ('m=~".+"', ""),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_condition_in_two_spellings_selects_the_same_on_both_sides(one: str, other: str) -> None:
    assert judge(RATIO.format(one, other), board=True) == []
    assert judge(RATIO.format(other, one), board=True) == []


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_selects_something_else_is_still_told(one: str, other: str) -> None:
    assert {found.rule for found in judge(RATIO.format(one, other), board=True)} == {"one_sided_selector"}


def test_only_the_condition_that_is_missing_is_put_on_the_other_side() -> None:
    found = judge(RATIO.format('m=~"$m", pod="a"', 'm=~"${m}"'), board=True)
    assert [one.right for one in found] == [RATIO.format('m=~"$m", pod="a"', 'm=~"${m}", pod="a"')]
    assert 'only the dividend selects pod="a":' in found[0].says.lower()


@pytest.mark.parametrize(("one", "other"), [("$g", "${g}"), ("$g", "[[g]]"), ("le, $g", "${g:csv}, le")])
def test_one_variable_in_two_spellings_is_one_label(one: str, other: str) -> None:
    hits, lookups = "rate(vllm:prefix_cache_hits_total[5m])", "rate(vllm:prefix_cache_queries_total[5m])"
    assert judge(f"sum by ({one}) ({hits}) / sum by ({other}) ({lookups})", board=True) == []
    found = judge(f"sum by ({one}) ({hits}) / sum by (other) ({lookups})", board=True)
    assert {fault.rule for fault in found} == {"no_match"}


WORDS = ["", *map("".join, itertools.product("ab|", repeat=1)), *map("".join, itertools.product("ab|(", repeat=2))]


@given(st.text(alphabet="ab|()[]^$.*\\\\?:", max_size=9))
def test_what_is_compared_matches_what_the_regular_expression_matches(regex: str) -> None:
    asked = conditions(Matcher("x", "=~", regex), Variables())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(regex)
    except (re.error, OverflowError):
        return
    for word in WORDS:
        meets = all(word == one.value if one.op == "=" else re.fullmatch(one.value, word) is not None for one in asked)
        assert meets == (compiled.fullmatch(word) is not None)


def test_a_regular_expression_of_any_depth_is_compared() -> None:
    deep = "(" * 5000 + "a" + ")" * 5000
    assert conditions(Matcher("x", "=~", deep), Variables()) == conditions(Matcher("x", "=~", deep), Variables())
