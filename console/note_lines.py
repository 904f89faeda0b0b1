"""Everything that makes figures less than certain, gathered so that 200 replicas with one reservation are one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from console.totals import EndpointSummary
from tierdeck.notes import MEANINGS, Note, NoteCode

_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class NoteLine:
    """One code of one endpoint; `where` names the replicas, `evidence` is that of the first."""

    code: str
    meaning: str
    where: str
    evidence: str


def note_lines(parts: Sequence[EndpointSummary]) -> tuple[NoteLine, ...]:
    """Lines by endpoint in their order, by code within one."""
    return tuple(line for part in parts for line in _lines(part))


def _lines(part: EndpointSummary) -> Iterator[NoteLine]:
    found: dict[NoteCode, list[tuple[str, Note]]] = {}
    for owner, note in _owned(part):
        found.setdefault(note.code, []).append((owner, note))
    for code, owned in sorted(found.items()):
        owners = sorted({owner for owner, _ in owned} - {""})
        first = next((note for _, note in owned if note.evidence), owned[0][1])
        evidence = ": ".join(filter(None, (first.detail, first.evidence)))
        yield NoteLine(str(code), MEANINGS[code], _where(part.accounts.endpoint, owners), evidence)


def _owned(part: EndpointSummary) -> Iterable[tuple[str, Note]]:
    """Notes with the name of their replica; "" for those of the whole."""
    for note in (*part.whole.notes, *part.accounts.notes):
        yield "", note
    for account, summary in part.replicas:
        for note in summary.notes:
            yield account.name, note


def _where(endpoint: str, owners: Sequence[str]) -> str:
    if not owners:
        return endpoint
    more = len(owners) - _MOST_NAMES
    return f"{endpoint}: {', '.join(owners[:_MOST_NAMES])}" + (f" and {more} more" if more > 0 else "")
