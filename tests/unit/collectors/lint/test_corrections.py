"""What holds for every correction, whatever the query."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.lint.linter import findings
from collectors.lint.parsing import parse
from collectors.lint.promql import Expr
from collectors.lint.query import Query
from collectors.lint.variables import Variables, parse_with_variables
from tests.support.promql_trees import trees
from tests.support.queries import selections

UNITS = st.sampled_from(["", "percent", "percentunit"])
TAKES_LABELS = {"router_copies", "gauge_under_rate", "averaged_quantiles", "lmcache_added"}
"""Rules that take conditions away with the series or the label they are about."""


@settings(deadline=None)
@given(trees(), UNITS, st.booleans(), st.booleans(), st.booleans())
def test_a_correction_parses_breaks_no_rule_and_selects_nothing_else(
    tree: Expr, unit: str, alert: bool, board: bool, router: bool
) -> None:
    variables = Variables()
    text = variables.text(tree)
    asked = Query("here", text, tree, variables, unit, alert=alert, board=board, router=router)
    found = findings(asked)
    right = found[0].right if found else None
    if right is None:
        return
    corrected, again = parse_with_variables(right, {})
    assert findings(replace(asked, text=right, tree=corrected, variables=again)) == []
    added = selections(right) - selections(text)
    assert added <= {("server", "=", "")}
    if not TAKES_LABELS & {finding.rule for finding in found}:
        # a router's copies, which the label server selects, may have been left on the way
        assert {one for one in selections(text) if one[0] != "server"} <= selections(right)


@given(trees())
def test_what_the_linter_is_silent_about_is_left_as_it_is(tree: Expr) -> None:
    variables = Variables()
    text = variables.text(tree)
    if not findings(Query("here", text, tree, variables)):
        assert parse(text) == tree
