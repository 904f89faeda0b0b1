"""PromQL read into trees and written back."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.lint.parsing import DEEPEST, UnjudgedError, UnparsableError, parse
from collectors.lint.printing import Printer
from collectors.lint.promql import (
    Aggregate,
    Binary,
    Call,
    Expr,
    Matcher,
    Matching,
    Negative,
    Number,
    Range,
    Selector,
    Subquery,
    put,
    selectors,
    walk,
)
from tests.support.promql_trees import trees
from tests.support.queries import judge

WRITTEN = Printer()
JUDGE = """
import sys
from collectors.lint.parsing import UnjudgedError, parse
try:
    parse(sys.stdin.read())
except UnjudgedError:
    print("not judged")
"""


@pytest.mark.parametrize(
    "text",
    [
        'rate(a{x="1", y=~"b.*"}[5m]) / on (instance) group_left (m) sum by (instance) (rate(b[5m] offset 1h))',
        "a / b * 100 > 5",
        "a / (b * 100)",
        "a - (b - c)",
        "2 ^ 3 ^ 2",
        "(2 ^ 3) ^ 2",
        "-a ^ 2",
        "(-a) ^ 2",
        "-(-a)",
        "a > bool 0 unless b",
        "(a or b) and c",
        "a or b and c",
        "avg_over_time((a / b)[5m:1m])",
        "max_over_time(rate(a[1m])[5m:])",
        "sum_over_time((a offset 1m)[5m:1m])",
        "sum_over_time(a[5m:1m] @ end() offset 1h)",
        "a offset -5m",
        "a @ 1609746000.000",
        '{__name__=~"foo|bar", x="1"}',
        '{"foo.bar"}',
        'a{x="q\\"uo\\\\d\\nte"}',
        "count without () (a)",
        "topk(5, a)",
        "a + on (b) group_left c",
        "a + on (b) group_left () (b + c)",
        "a + on (b) group_left (x) (b + c)",
        "1e-10 + a",
        "Inf",
        'label_replace(a, "x", "$1", "y", "(.*)")',
        "a == bool (b == 1)",
        "a atan2 b",
    ],
)
def test_a_query_is_written_as_it_was_read(text: str) -> None:
    assert WRITTEN.text(parse(text)) == text


@given(trees())
def test_every_tree_is_read_back_as_it_was(tree: Expr) -> None:
    assert parse(WRITTEN.text(tree)) == tree


def test_superfluous_parentheses_comments_and_old_orders_go() -> None:
    assert WRITTEN.text(parse("(sum(a) by (x)) # all\n / ((b))")) == "sum by (x) (a) / b"
    assert WRITTEN.text(parse("rate(a[300s])")) == "rate(a[5m])"
    assert parse('{__name__="a", x="1"}') == Selector("a", (Matcher("x", "=", "1"),))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("sum(rate(a[5m])", "parenthesis"),
        ("rate(a)", "expected type matrix"),
        ("", "no expression"),
        ('a{x="1" or y="2"}', "'or' between the matchers"),
        ('a{x=~"("}', "illegal regex"),
        ("a b", ""),
    ],
)
def test_what_prometheus_refuses_is_told_with_the_parsers_words(text: str, why: str) -> None:
    with pytest.raises(UnparsableError) as told:
        parse(text)
    assert why in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "text",
    ["+".join(["a"] * 50_000), "^".join(["2"] * 999), "(" * 50_000, "abs(" * 600 + "a" + ")" * 600, "-" * 1999 + "a"],
)
def test_a_query_that_could_exhaust_the_stack_is_not_judged(text: str) -> None:
    # in a process of its own: a parser that overflows its stack takes the process with it
    done = subprocess.run([sys.executable, "-c", JUDGE], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "not judged\n"), done.stderr


def test_a_tree_as_deep_as_any_is_walked_changed_and_written() -> None:
    text = " + ".join(["vllm:gpu_cache_usage_perc"] * DEEPEST)
    with pytest.raises(UnjudgedError, match="levels deep"):
        parse(f"{text} + a")
    assert judge(text)[0].right == text.replace("gpu_", "kv_")


def test_strings_count_as_one_token_however_long() -> None:
    assert parse('a{x=~"' + "b|" * 5000 + 'c"}')
    with pytest.raises(UnjudgedError):
        parse("a + " * 1000 + "a")


def test_a_node_is_exchanged_where_it_stands_and_nowhere_else() -> None:
    tree = parse("sum(a) / a")
    below = selectors(tree)[1]
    assert WRITTEN.text(put(tree, below, Selector("b"))) == "sum(a) / b"
    assert put(tree, Selector("a"), Selector("b")) is tree  # equal, but not that node


def test_walking_meets_parents_first_and_parameters_too() -> None:
    tree = parse("topk(scalar(k), rate(a[5m]))")
    names = [type(node).__name__ for node in walk(tree)]
    assert names == ["Aggregate", "Call", "Selector", "Call", "Range", "Selector"]


def test_the_kinds_of_nodes_are_told_apart() -> None:
    assert isinstance(parse("-a"), Negative)
    assert isinstance(parse("-1"), Number)
    assert isinstance(parse("a[5m:1m]"), Subquery)
    assert isinstance(parse("a[5m]"), Range)
    assert isinstance(parse("count(a)"), Aggregate)
    assert isinstance(parse("time()"), Call)
    found = parse("a / ignoring (x) group_right (y) b")
    assert isinstance(found, Binary)
    assert found.matching == Matching(on=False, labels=("x",), group="right", include=("y",))


@given(st.text(max_size=60))
def test_any_text_is_a_tree_or_refused(text: str) -> None:
    try:
        tree = parse(text)
    except (UnparsableError, UnjudgedError):
        return
    assert parse(WRITTEN.text(tree)) == tree or "NaN" in WRITTEN.text(tree)
