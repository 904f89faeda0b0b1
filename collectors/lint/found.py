"""What a file holds for the linter: expressions with their surroundings, and what was passed over."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as a file has it.

    Attributes:
        text: the PromQL.
        before, after: what stands around it in the file's own text, such as `label_values(` and `, pod)`.
        values: what the board's variables stand for at present.
        record: the name under which a recording rule keeps it.
        surely_prometheus: the data source is known to be Prometheus, so that what does not parse is a fault.
    """

    where: str
    text: str
    unit: str = ""
    alert: bool = False
    record: str = ""
    board: bool = False
    words: str = ""
    before: str = ""
    after: str = ""
    values: dict[str, str] = field(default_factory=dict)
    surely_prometheus: bool = True


@dataclass(slots=True)
class Found:
    """Expressions in the order of the file, and the number of queries passed over by reason."""

    expressions: list[Expression] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def mapping(value: object) -> dict[str, object]:
    """The value if it is a mapping, else an empty one: files are not to be trusted with their shape."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[dict[str, object]]:
    """The mappings of a list; nothing where it is none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """The value if it is text or a number, as text."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""
