"""A file's faults as a document, and as text for people."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from collectors.lint.documents import read_file
from collectors.lint.found import Expression
from collectors.lint.linter import Finding, findings
from collectors.lint.parsing import UnjudgedError, UnparsableError, parse
from collectors.lint.promql import Expr, levels, selectors
from collectors.lint.query import DEEPEST_RECORDED, Query
from collectors.lint.rules import UNPARSABLE
from collectors.lint.upstream import ROUTER_ONLY
from collectors.lint.variables import parse_with_variables


@dataclass(frozen=True, slots=True)
class Report:
    """What the linter has to say about a file.

    Attributes:
        queries: that were judged.
        skipped: queries that were not, by reason.
    """

    file: str
    queries: int
    skipped: Counter[str]
    findings: list[Finding]

    def document(self) -> dict[str, object]:
        """The document of docs/cli.md, "lint"."""
        return {
            "file": self.file,
            "queries": self.queries,
            "skipped": self.skipped.total(),
            "skipped_by_reason": dict(self.skipped),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def text(self) -> str:
        """For people: by query, with the corrected one below its faults."""
        lines = [self._headline()]
        last: tuple[str, str] | None = None
        for number, finding in enumerate(self.findings):
            if (finding.where, finding.expression) != last:
                last = (finding.where, finding.expression)
                lines += ["", finding.where, f"    {' '.join(finding.expression.split())}"]
            lines.append(f"  {finding.rule}: {finding.says}")
            following = self.findings[number + 1 : number + 2]
            if finding.right and not any((one.where, one.expression) == last for one in following):
                lines += ["  right:", f"    {finding.right}"]
        return "\n".join(_printable(line) for line in lines)

    def _headline(self) -> str:
        faulty = len({(finding.where, finding.expression) for finding in self.findings})
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(self.skipped.items()))
        passed = f"; passed over: {reasons}" if reasons else ""
        if not self.findings:
            return f"{self.file}: no fault found in {_count(self.queries, 'query', 'queries')}{passed}"
        faults = _count(len(self.findings), "fault", "faults")
        return f"{self.file}: {faults} in {faulty} of {_count(self.queries, 'query', 'queries')}{passed}"


def lint(path: Path) -> Report:
    """Judge every query of a file.

    Raises:
        UsageError: the file can't be used.
    """
    found = read_file(path)
    report = Report(str(path), 0, Counter(found.skipped), [])
    queries: list[Query | Finding] = []
    for expression in found.expressions:
        try:
            queries.append(_query(expression))
        except UnjudgedError as reason:
            report.skipped[str(reason)] += 1
        except UnparsableError as error:
            if expression.surely_prometheus:
                whole = expression.before + expression.text + expression.after
                queries.append(Finding(UNPARSABLE, expression.where, whole, f"{error}.", None))
            else:
                report.skipped["not PromQL"] += 1
    recorded = _recorded(found.expressions)
    trees = [query.tree for query in queries if isinstance(query, Query)]
    router = any(selector.name in ROUTER_ONLY for tree in trees for selector in selectors(tree))
    told: list[Finding] = []
    for query in queries:
        told += [query] if isinstance(query, Finding) else findings(replace(query, router=router, recorded=recorded))
    return replace(report, queries=len(queries), findings=told)


def _recorded(expressions: Iterable[Expression]) -> dict[str, Expr]:
    """What recording rules make, by name; nothing of a name that stands for several things, nor of deep trees."""
    trees: dict[str, list[Expr]] = {}
    for expression in expressions:
        if expression.record:
            with contextlib.suppress(UnparsableError, UnjudgedError):
                trees.setdefault(expression.record, []).append(parse(expression.text))
    return {
        name: made[0]
        for name, made in trees.items()
        if levels(made[0]) <= DEEPEST_RECORDED and all(one == made[0] for one in made)
    }


def _query(expression: Expression) -> Query:
    tree, variables = parse_with_variables(expression.text, expression.values)
    return Query(
        expression.where,
        expression.text,
        tree,
        variables,
        unit=expression.unit,
        alert=expression.alert,
        board=expression.board,
        words=expression.words,
        before=expression.before,
        after=expression.after,
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _printable(line: str) -> str:
    """A line without anything that moves a terminal's cursor."""
    return "".join(char if char.isprintable() else " " for char in line)
