"""A PromQL tree as text, with only the parentheses that precedence asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta

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
    Text,
)

_RANKS = (
    ("or",),
    ("and", "unless"),
    ("==", "!=", ">", "<", ">=", "<="),
    ("+", "-"),
    ("*", "/", "%", "atan2"),
    ("unary",),
    ("^",),
)
_PRECEDENCE = {op: rank for rank, operators in enumerate(_RANKS) for op in operators}
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:"


class Printer:
    """Writes trees. The two functions give the text that stands for a duration or a number, or nothing."""

    def __init__(
        self,
        duration: Callable[[timedelta], str | None] = lambda _: None,
        number: Callable[[float], str | None] = lambda _: None,
    ) -> None:
        self._known_duration = duration
        self._known_number = number

    def text(self, node: Expr) -> str:
        """One line of PromQL."""
        match node:
            case Selector():
                return self._selector(node) + self._when(node.at, node.offset)
            case Range(selector, duration):
                when = self._when(selector.at, selector.offset)
                return f"{self._selector(selector)}[{self._duration(duration)}]{when}"
            case Subquery():
                step = "" if node.step is None else self._duration(node.step)
                inner = self._operand(node.expr, tight=True)
                return f"{inner}[{self._duration(node.duration)}:{step}]{self._when(node.at, node.offset)}"
            case Number(value):
                return self._number(value)
            case Text(value):
                return _quoted(value)
            case Negative(expr):
                return f"-{self._child(expr, _PRECEDENCE['unary'] + 1)}"
            case Call(function, arguments):
                return f"{function}({', '.join(self.text(argument) for argument in arguments)})"
            case Aggregate():
                return self._aggregate(node)
            case Binary():
                return self._binary(node)

    def _aggregate(self, node: Aggregate) -> str:
        inner = self.text(node.expr)
        if node.parameter is not None:
            inner = f"{self.text(node.parameter)}, {inner}"
        if node.labels is None:
            return f"{node.op}({inner})"
        return f"{node.op} {'without' if node.without else 'by'} ({', '.join(node.labels)}) ({inner})"

    def _binary(self, node: Binary) -> str:
        rank = _PRECEDENCE[node.op]
        # all operators but ^ group to the left
        left = self._child(node.left, rank + (node.op == "^"))
        right = self._child(node.right, rank + (node.op != "^"))
        clauses = _clauses(node.matching)
        if node.matching.group and not node.matching.include and node.matching.fills == (None, None):
            # a parenthesis that follows would be read as the labels to include
            clauses += "() " if right.startswith("(") else ""
        return f"{left} {node.op} {clauses}{right}"

    def _child(self, node: Expr, least: int) -> str:
        match node:
            case Binary(op):
                rank = _PRECEDENCE[op]
            case Negative():
                rank = _PRECEDENCE["unary"]
            case Number(value) if value < 0:
                rank = _PRECEDENCE["unary"]
            case _:
                rank = len(_RANKS)
        return self.text(node) if rank >= least else f"({self.text(node)})"

    def _operand(self, node: Expr, *, tight: bool) -> str:
        simple = isinstance(node, Selector | Call | Aggregate) and not (isinstance(node, Selector) and node.offset)
        return self.text(node) if simple and tight else f"({self.text(node)})"

    def _selector(self, node: Selector) -> str:
        matchers = [_matcher(matcher) for matcher in node.matchers]
        plain = all(char in _WORD for char in node.name) and not node.name[:1].isdigit()
        if node.name and not plain:
            matchers.insert(0, _quoted(node.name))
        inside = f"{{{', '.join(matchers)}}}" if matchers else ""
        return f"{node.name if plain else ''}{inside}"

    def _when(self, at: str, offset: timedelta | None) -> str:
        parts = [at] if at else []
        if offset is not None:
            parts.append(f"offset {self._duration(offset)}")
        return "".join(f" {part}" for part in parts)

    def _duration(self, duration: timedelta) -> str:
        known = self._known_duration(duration)
        if known is not None:
            return known
        left = round(duration / timedelta(milliseconds=1))
        sign, left, text = "-" if left < 0 else "", abs(left), ""
        for unit, size in _UNITS:
            if left >= size:
                text += f"{left // size}{unit}"
                left %= size
        return f"{sign}{text or '0s'}"

    def _number(self, value: float) -> str:
        known = self._known_number(value)
        if known is not None:
            return known
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Inf" if value > 0 else "-Inf"
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _clauses(matching: Matching) -> str:
    parts = ["bool"] if matching.as_bool else []
    if matching.on is not None:
        parts.append(f"{'on' if matching.on else 'ignoring'} ({', '.join(matching.labels)})")
    if matching.group:
        include = f" ({', '.join(matching.include)})" if matching.include else ""
        parts.append(f"group_{matching.group}{include}")
    for side, fill in zip(("left", "right"), matching.fills, strict=True):
        parts += [f"fill_{side} ({fill!r})"] if fill is not None else []
    return "".join(f"{part} " for part in parts)


def _matcher(matcher: Matcher) -> str:
    return f"{matcher.name}{matcher.op}{_quoted(matcher.value)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped.replace(chr(13), chr(92) + "r")}"'
