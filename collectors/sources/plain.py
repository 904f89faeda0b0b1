"""A source that is nothing but its table of families."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collectors.families import FamilyReader
from collectors.source import Family, TargetReading
from tierdeck.fleet import SourceKind

_EXPOSITION = re.compile(r"^(# (HELP|TYPE) \w|[a-zA-Z_:][\w:]*(\{[^\n]*\})? [-+]?[\dNI])", re.MULTILINE)


class TableSource:
    """An exposition that a table of families describes wholly."""

    path = "/metrics"
    ends_with_newline = True

    def __init__(
        self,
        kind: SourceKind,
        families: tuple[Family, ...],
        *,
        engine_label: str = "",
        router_label: str = "",
        silent_when_idle: bool = False,
    ) -> None:
        """
        Args:
            silent_when_idle: a process that did nothing yet exports none of the families.
        """
        self.kind = kind
        self._silent_when_idle = silent_when_idle
        self.families = families
        self._reader = FamilyReader(families, engine_label, router_label)

    def read(self, text: str, values: Mapping[str, str] | None = None) -> TargetReading | None:
        reading = self._reader.read(text, values)
        if self._silent_when_idle and (reading is not None or values or _EXPOSITION.search(text)):
            reading = reading or TargetReading()
            reading.recognised = True
        return reading
