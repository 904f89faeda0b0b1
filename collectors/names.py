"""Which upstream name each reading was found under, and which were tried where none was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.source import Family, TargetReading
from collectors.sources import BY_KIND
from tierdeck.computation import computation
from tierdeck.fleet import SourceKind, source_kind
from tierdeck.readings import Reading

_NOT_FOUND = "under any known name"


def resolved(readings: Mapping[str, TargetReading]) -> dict[str, dict[str, Any]]:
    """`{target: {"read": {reading: name}, "not_found": {reading: [names tried]}}}`.

    Args:
        readings: the last recognised page of each target.
    """
    found = {}
    for target, reading in sorted(readings.items()):
        families = BY_KIND[source_kind(target)].families
        found[target] = {
            "read": {str(family.reading): reading.spelled[family.reading] for family in families
                     if family.reading in reading.spelled},
            "not_found": {str(family.reading): list(family.names) for family in families
                          if family.reading not in reading.spelled},
        }  # fmt: skip
    return found


def with_names(why: Mapping[str, str], readings: Mapping[str, TargetReading]) -> dict[str, str]:
    """Reasons that say which names were tried, for figures that no engine exports."""
    engines = [reading for name, reading in readings.items() if source_kind(name) is SourceKind.VLLM]
    missing = {
        family.reading: family
        for family in BY_KIND[SourceKind.VLLM].families
        if not any(family.reading in reading.spelled for reading in engines)
    }
    return {key: _with_names(key, reason, missing) for key, reason in why.items()}


def _with_names(key: str, reason: str, missing: Mapping[Reading, Family]) -> str:
    families = [missing[reading] for reading in computation(key).readings if reading in missing]
    if _NOT_FOUND not in reason or not families:
        return reason
    tried = ", ".join(_dated(family, name) for family in families for name in family.names)
    return f"{reason} (tried {tried})"


def _dated(family: Family, name: str) -> str:
    return f"{name}, gone by {family.gone[name]}" if name in family.gone else name
