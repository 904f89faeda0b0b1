"""What docs/lint.md is made of: prose about `tierdeck lint`, and each rule with its example."""

from __future__ import annotations

from collectors.lint.linter import findings
from collectors.lint.query import Query, Rule
from collectors.lint.variables import parse_with_variables

ABOUT = """`tierdeck lint FILE` reads the queries of a Grafana board or of Prometheus rules and names what is wrong \
with them, each with the query that is right. It needs no store and no network.

```sh
tierdeck lint board.json
tierdeck lint rules.yaml --json
```

## What it reads

- A dashboard of Grafana as JSON, exported or from its API (`{"dashboard": …}`): panels, old rows and new \
ones, library panels that came along in the export, variables (`label_values(…)`, `query_result(…)`) and \
annotations.
- A Prometheus rule file, a `PrometheusRule`, and rules of Grafana's own alerting, as YAML with one document \
or several. Other kinds of document in the same file are left alone.
- A `ConfigMap` or `GrafanaDashboard` that holds one of these.

Queries to other data sources, library panels that are kept elsewhere, and queries that hang on what the \
file does not say are passed over and counted. A chart's template has to be rendered first.

## Grafana's variables

`$job`, `${job:regex}`, `[[job]]` and `$__rate_interval` are no PromQL. Before a query is parsed each is \
exchanged for something that PromQL takes in its place: a word within strings and names, a duration within \
`[…]` and after `offset`, a matcher of its own within `{…}`, elsewhere a word or a number. In the corrected \
query they are what they were. A variable that names a function is filled with its present value, and then \
no corrected query is offered.

## How to read a finding

The corrected query has all faults of the query corrected, not only the one above it, and no rule objects to \
it. Where nobody can say what was meant, none is offered. A range that was missing becomes \
`$__rate_interval` on a board and that of the rest of the query, or `5m`, in rules; the threshold of a guard \
is a proposal.

A rule keeps silent when in doubt. A name that a fallback stands beside (`new or old`) is no fault, nor is a \
counter shown as it is, a condition on traffic in whatever form, or an external hit ratio whose title says \
that it is of what L0 missed or of what the connector was asked for. A factor of 100 counts wherever it \
stands (`100 * a / b`, `a / (b / 100)`, `a / b / 0.01`), and one variable or one set of values in two spellings \
(`$m` and `${m:regex}`, `"a|b"` and `"(b|a)"`) is one condition. Rules that are about cache metrics look only at \
names that are known from vLLM, LMCache and the routers.

`vllm_` in place of `vllm:` is no fault: some set-ups store the names so, and no file says what its Prometheus \
holds. Only both in one calculation are one, since they never meet.

An alert on what the same file records is judged by the recorded expression: against which scale its threshold \
stands, and whether it was recorded upside down. A name that is recorded in several ways is not followed. A ratio \
held against more than 1, as in `> 1.05`, looks for tokens that count twice; per cent are suspected from above 2 on, \
and in `< 1.5`. A figure in per cent that is held against 0.1 up to 1 is told too.

## Rules

`unparsable` is told of a query that Prometheus would refuse, with the parser's message. The others, in the \
order in which they are looked for:"""


def rule_parts(rule: Rule) -> list[str]:
    """A rule's heading, its example, and what the linter makes of that."""
    example = rule.example
    where = [f"on a panel with the unit `{example.unit}`"] if example.unit else []
    where += ["in an alerting rule"] if example.alert else []
    tree, variables = parse_with_variables(example.text, {})
    found = findings(Query("", example.text, tree, variables, unit=example.unit, alert=example.alert))
    return [
        f"### {rule.code}\n\n{rule.meaning}",
        f"{' '.join(('Wrong', *where))}:\n\n```promql\n{example.text}\n```",
        f"Right:\n\n```promql\n{found[0].right}\n```",
    ]
