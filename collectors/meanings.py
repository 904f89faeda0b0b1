"""What vLLM's counters mean by its version: the corrections and notes that a version or its change brings.

Source: the scheduler in vLLM 0.11.1's wheel (vllm/v1/core/sched/scheduler.py), and pages recorded from 0.32.0; what
lies between them was not looked at.
"""

from __future__ import annotations

from collectors.meter import Increase
from collectors.source import TargetReading
from collectors.versions import parse_version
from tierdeck.notes import Note, NoteCode
from tierdeck.readings import Reading

Number = tuple[int, ...]

EXTERNAL_SINCE: Number = (0, 11, 1)
"""From this vLLM on the external counters are always exported, and preempted requests kept out of all lookups."""
EXTERNAL_QUERIES_UNTIL: Number = (0, 11, 1)
"""Up to this vLLM `external_prefix_cache_queries` counts all of a request's tokens."""
EXTERNAL_QUERIES_SINCE: Number = (0, 32)
"""From this vLLM on, at the latest, it counts those that L0 left over."""

_QUERIES = "up to vLLM 0.11.1 external queries count L0's hits too; they divide nothing here"


def always_exports_external(version: str) -> bool:
    """Absent external counters mean that there is no connector; False where the version is unknown."""
    number = parse_version(version)
    return number is not None and number >= EXTERNAL_SINCE


def recounts_preempted(version: str) -> bool:
    """A request that was preempted is looked up, and counted, once more; True where the version is unknown."""
    number = parse_version(version)
    return number is None or number < EXTERNAL_SINCE


def version_notes(version: str, reading: TargetReading) -> set[Note]:
    """What a page's counters mean in this version, where that is not what they mean in the newest."""
    number = parse_version(version)
    if number is None or number > EXTERNAL_QUERIES_UNTIL or Reading.EXTERNAL_QUERIES not in reading.spelled:
        return set()
    return {Note(NoteCode.MEANING_CHANGED, _QUERIES, f"vLLM {version}")}


def change_notes(name: str, increase: Increase, reading: TargetReading, *, had_external: bool) -> set[Note]:
    """That a target's engine has another version than before, and which counter means something else since.

    Args:
        had_external: the engine before exported external queries.
    """
    if increase.versions is None:
        return set()
    before, after = increase.versions
    notes = {Note(NoteCode.RESTARTED, f"an engine of another version answers: vLLM {before} before, now {after}", name)}
    told = f"vLLM {before} before, now {after}"
    first, last = sorted((parse_version(before) or (), parse_version(after) or ()))
    if not first:
        return notes
    in_both = had_external and Reading.EXTERNAL_QUERIES in reading.spelled
    if in_both and first <= EXTERNAL_QUERIES_UNTIL and last >= EXTERNAL_QUERIES_SINCE:
        notes.add(Note(NoteCode.MEANING_CHANGED, _QUERIES, told))
    if first < EXTERNAL_SINCE <= last:
        detail = "before vLLM 0.11.1 preempted requests are looked up, and counted, once more"
        notes.add(Note(NoteCode.MEANING_CHANGED, detail, told))
    return notes


def rebased_note(target: str) -> Note:
    """A target's counter that went on under another name."""
    detail = "a counter goes by another name in the same process; counting starts anew there"
    return Note(NoteCode.MEANING_CHANGED, detail, target)
