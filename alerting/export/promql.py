"""PromQL of one metric under whichever name it has, summed to the labels that tell endpoints apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from alerting.export.names import Metric
from tierdeck.errors import UsageError

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_MATCHER = re.compile(r'[a-zA-Z_]\w*\s*(=|!=|=~|!~)\s*"(?:[^"\\\n]|\\.)*"')
_OF_JOBS = ("job", "model_name", "instance", "pod")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which series, and by which labels they are an endpoint's.

    Attributes:
        by: those that a series lacks are no matter: pools have no `model_name`, and many a series no `cluster`.
        match: label matchers that every selector has besides its own.
    """

    by: tuple[str, ...] = ("cluster", "namespace", "job", "model_name")
    match: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for label in self.by:
            if not _LABEL.fullmatch(label) or label in ("le", "__name__"):
                raise UsageError(f"{label!r} can't be grouped by", "Name labels such as namespace,job,model_name.")
        for matcher in self.match:
            if not _MATCHER.fullmatch(matcher):
                raise UsageError(f"{matcher!r} is no label matcher", 'Write it like namespace="inference".')

    @property
    def shared(self) -> tuple[str, ...]:
        """Labels by which an engine and its cache, scraped as different jobs, are of one place."""
        return tuple(label for label in self.by if label not in _OF_JOBS)

    @property
    def without_model(self) -> tuple[str, ...]:
        return tuple(label for label in self.by if label != "model_name")

    def selectors(self, metric: Metric, *more: str, suffix: str = "") -> tuple[str, ...]:
        """One for each spelling, best first."""
        inside = ",".join((*metric.where, *more, *self.match))
        return tuple(f"{name}{{{inside}}}" if inside else name for name in metric.spelled(suffix))


def window(seconds: float) -> str:
    """`900` -> `15m`; as Prometheus writes it.

    Raises:
        ValueError: less than a millisecond.
    """
    if seconds < 0.001:
        raise ValueError(f"{seconds} s is no window")
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds * 1000:.0f}ms"


def either(parts: tuple[str, ...]) -> str:
    """The first that has a series, series by series: two names of one count are never added."""
    return "\n  or ".join(parts)


def summed(inside: str, by: tuple[str, ...], how: str = "sum") -> str:
    over = f" by ({', '.join(by)})" if by else ""
    return f"{how}{over} (\n  {inside}\n)"


def per_second(scope: Scope, metric: Metric, over: str, *, offset: str = "", by: tuple[str, ...] | None = None) -> str:
    """Increase a second of a counter, by endpoint.

    Args:
        over: the range, such as `15m`.
        offset: how long before now the range ends; empty: it ends now.
        by: other labels than the scope's.
    """
    back = f" offset {offset}" if offset else ""
    parts = tuple(f"rate({one}[{over}]{back})" for one in scope.selectors(metric))
    return summed(either(parts), scope.by if by is None else by)


def now(scope: Scope, metric: Metric, by: tuple[str, ...] | None = None) -> str:
    """Sum of a gauge, by endpoint."""
    return summed(either(scope.selectors(metric)), scope.by if by is None else by)


def or_zero(part: str, like: str) -> str:
    """A vector, with 0 where it has nothing and another has something."""
    return f"(\n{indented(part)}\n  or\n{indented(like)} * 0\n)"


def indented(text: str, by: str = "  ") -> str:
    return "\n".join(by + line for line in text.splitlines())
