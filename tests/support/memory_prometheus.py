"""A Prometheus in memory: scrapes go in, and the few kinds of queries that our code asks are answered.

`tests/integration/test_memory_prometheus.py` holds its answers against a real server's.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import promql_parser

from collectors.exposition import parse_line
from collectors.prometheus.errors import QueryRefusedError
from collectors.prometheus.server import Series

LOOKBACK_SECONDS = 300.0
_STALE = None
Labels = tuple[tuple[str, str], ...]
Vector = dict[Labels, float]


@dataclass
class _Stored:
    """Samples of one series, ascending; None where it ended."""

    instants: list[float] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def put(self, at: float, value: float | None) -> None:
        self.instants.append(at)
        self.values.append(value)

    def at(self, at: float) -> float | None:
        number = bisect_right(self.instants, at) - 1
        return self.values[number] if number >= 0 and at - self.instants[number] < LOOKBACK_SECONDS else None

    def within(self, start: float, end: float) -> list[tuple[float, float]]:
        """Samples of (start, end]."""
        first, last = bisect_right(self.instants, start), bisect_right(self.instants, end)
        pairs = zip(self.instants[first:last], self.values[first:last], strict=True)
        return [(at, value) for at, value in pairs if value is not None]


class MemoryPrometheus:
    """`collectors.prometheus.asking.Answering`. Feed each target in order of time."""

    def __init__(self, helps: Mapping[str, str] | None = None) -> None:
        """
        Args:
            helps: HELP by metric, as targets told it.
        """
        self.queries: list[str] = []
        self._helps = helps or {}
        self._series: dict[str, dict[Labels, _Stored]] = {}
        self._alive: dict[Labels, set[Labels]] = {}

    def scrape(self, target: Mapping[str, str], at: float, page: str | None) -> None:
        """One scrape of a target; a page of None failed."""
        own = _key(target)
        found: dict[Labels, float] = {}
        for series, value in _samples(page or "", target):
            found.setdefault(series, value)  # of two alike the first counts
        for series in self._alive.get(own, set()) - found.keys():
            self._put(series, at, _STALE)
        self._alive[own] = set(found)
        for series, value in found.items():
            self._put(series, at, value)
        self._put(_key({**target, "__name__": "up"}), at, 0.0 if page is None else 1.0)

    def remove(self, target: Mapping[str, str], at: float) -> None:
        """The target is not scraped any more: its series end."""
        for series in {*self._alive.pop(_key(target), set()), _key({**target, "__name__": "up"})}:
            self._put(series, at, _STALE)

    def put(self, labels: Mapping[str, str], at: float, value: float) -> None:
        """One sample, as a rule or a remote writer leaves it."""
        self._put(_key(labels), at, value)

    def samples(self) -> Iterator[tuple[dict[str, str], float, float | None]]:
        """Everything that is stored: labels with `__name__`, instant, value; None where a series ended."""
        for by_labels in self._series.values():
            for labels, stored in by_labels.items():
                for at, value in zip(stored.instants, stored.values, strict=True):
                    yield dict(labels), at, value

    def instant(self, query: str, at: float) -> list[Series]:
        self.queries.append(query)
        expression = _parsed(query)
        if isinstance(expression, promql_parser.MatrixSelector):
            return [
                {"metric": dict(labels), "values": [(one, _text(value)) for one, value in values]}
                for labels, values in self._ranges(expression, at)
            ]
        vector = self._vector(expression, at)
        return [{"metric": dict(labels), "value": (at, _text(value))} for labels, value in vector.items()]

    def over(self, query: str, start: float, end: float, step_seconds: float) -> list[Series]:
        self.queries.append(query)
        expression = _parsed(query)
        found: dict[Labels, list[tuple[float, str]]] = {}
        for number in range(math.floor((end - start) / step_seconds) + 1):
            at = start + number * step_seconds
            for labels, value in self._vector(expression, at).items():
                found.setdefault(labels, []).append((at, _text(value)))
        return [{"metric": dict(labels), "values": values} for labels, values in found.items()]

    def help_text(self, metric: str) -> str:
        return self._helps.get(metric, "")

    def _put(self, labels: Labels, at: float, value: float | None) -> None:
        self._series.setdefault(dict(labels)["__name__"], {}).setdefault(labels, _Stored()).put(at, value)

    def _vector(self, expression: Any, at: float) -> Vector:
        match expression:
            case promql_parser.VectorSelector():
                values = ((labels, stored.at(at)) for labels, stored in self._selected(expression))
                return {labels: value for labels, value in values if value is not None}
            case promql_parser.Call() if expression.func.name == "resets":
                ranges = self._ranges(expression.args[0], at)
                return _unique((_without_name(labels), float(_resets(values))) for labels, values in ranges)
            case promql_parser.BinaryExpr():
                return self._combined(expression, at)
            case promql_parser.AggregateExpr() if str(expression.op) == "group":
                kept = set(expression.modifier.labels if expression.modifier is not None else ())
                inner = self._vector(expression.expr, at)
                return {tuple(item for item in labels if item[0] in kept): 1.0 for labels in inner}
        raise NotImplementedError(f"our code asks nothing like {expression.prettify()}")

    def _combined(self, expression: Any, at: float) -> Vector:
        left = self._vector(expression.lhs, at)
        match str(expression.op):
            case ">":
                return {labels: value for labels, value in left.items() if value > expression.rhs.val}
            case "or":
                known = {_without_name(labels) for labels in left}
                right = self._vector(expression.rhs, at)
                return left | {labels: value for labels, value in right.items() if _without_name(labels) not in known}
            case "unless":
                gone = {_without_name(labels) for labels in self._vector(expression.rhs, at)}
                return {labels: value for labels, value in left.items() if _without_name(labels) not in gone}
        raise NotImplementedError(f"our code asks nothing like {expression.prettify()}")

    def _ranges(self, expression: Any, at: float) -> Iterator[tuple[Labels, list[tuple[float, float]]]]:
        start = at - expression.range.total_seconds()
        for labels, stored in self._selected(expression.vector_selector):
            values = stored.within(start, at)
            if values:
                yield labels, values

    def _selected(self, selector: Any) -> Iterator[tuple[Labels, _Stored]]:
        tests = [(one.name, _test(str(one.op), one.value)) for one in selector.matchers.matchers]
        names = [test for name, test in tests if name == "__name__"]
        rest = [(name, test) for name, test in tests if name != "__name__"]
        for name, by_labels in self._series.items():
            if selector.name in (None, name) and all(test(name) for test in names):
                for labels, stored in by_labels.items():
                    if not rest or all(test(dict(labels).get(label, "")) for label, test in rest):
                        yield labels, stored


def _samples(page: str, target: Mapping[str, str]) -> Iterator[tuple[Labels, float]]:
    """Series as they are stored: a label that the target has goes by `exported_` where the exporter has it too."""
    for line in page.splitlines():
        sample = None if line.startswith("#") else parse_line(line)
        if sample is not None:
            series, value, _ = sample
            own = {f"exported_{label}" if label in target else label: text for label, text in series.labels.items()}
            yield _key({**own, **target, "__name__": series.name}), value


def _key(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted((name, text) for name, text in labels.items() if text))


def _without_name(labels: Labels) -> Labels:
    return tuple(item for item in labels if item[0] != "__name__")


def _unique(entries: Iterable[tuple[Labels, float]]) -> Vector:
    found: Vector = {}
    for labels, value in entries:
        if labels in found:
            raise QueryRefusedError("vector cannot contain metrics with the same labelset")
        found[labels] = value
    return found


def _resets(values: list[tuple[float, float]]) -> int:
    return sum(after < before for (_, before), (_, after) in pairwise(values))


def _text(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e21 else repr(value)


@lru_cache(maxsize=1000)
def _parsed(query: str) -> Any:
    return promql_parser.parse(query)


@lru_cache(maxsize=1000)
def _test(operator: str, value: str) -> Callable[[str], bool]:
    if operator in ("MatchOp.Equal", "MatchOp.NotEqual"):
        return lambda text: (text == value) is (operator == "MatchOp.Equal")
    pattern = re.compile(value)
    return lambda text: (pattern.fullmatch(text) is not None) is (operator == "MatchOp.Re")
