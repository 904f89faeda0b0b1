"""What a body is: readings, or the reason why it holds none, in words for an operator."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.source import Source, TargetReading
from tierdeck.fleet import SourceKind

_EXCERPT = 80


def interpret(source: Source, text: str, values: Mapping[str, str] | None = None) -> tuple[TargetReading | None, str]:
    """Readings of a body, and why it can't be used; the reason is empty when it can.

    With a reason there may still be a reading, not recognised, that tells what was found instead.

    Args:
        values: as `Source.read` takes them.
    """
    if not text.strip():
        return None, "empty body"
    reading = source.read(text, values)
    if reading is not None and reading.recognised:
        return reading, ""
    start = text.lstrip()[:_EXCERPT]
    if start[:1] == "<":
        return None, "an HTML page instead of metrics"
    if reading is None and start.lower().startswith("error"):
        return None, f"an error instead of metrics: {_one_line(start)}"
    if source.kind is SourceKind.VLLM:
        return reading, "answered without vLLM series"
    return reading, f"answered without {source.kind} series"


def is_cut(text: str) -> bool:
    """The body ends in mid-line: its last sample may be cut short, and a cut number is a wrong one."""
    return bool(text) and not text.endswith("\n")


def complete(text: str) -> str:
    """A saved body whose last line may be cut, made whole: tools often drop a final newline.

    The last line stays only if its value is written like all others of the body (a float where they
    are floats), since `4416.0` cut to `44` would be a number too.
    """
    if not is_cut(text):
        return text
    *lines, last = text.split("\n")
    values = [line.rpartition(" ")[2] for line in lines if line and not line.startswith("#")]
    floats = all(any(mark in value for mark in ".enN") for value in values)
    number = last.rpartition(" ")[2]
    whole = number[-1:].isdigit() and (not floats or any(mark in number for mark in ".enN"))
    return "\n".join([*lines, last, ""] if whole else [*lines, ""])


def _one_line(text: str) -> str:
    return " ".join(text.split())
