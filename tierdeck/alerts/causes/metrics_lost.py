"""Figures are missing, not hits: pages that don't answer, counters that vanished, stand still or were renamed."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.account import Answer
from tierdeck.alerts.cause import LIKELY, POSSIBLE, RATIO_RULES, RECORDED, Finding, listed, of_points
from tierdeck.alerts.circumstances import Circumstances, Stretch
from tierdeck.notes import Note, NoteCode

_CODES = (NoteCode.NOT_WIRED, NoteCode.SERIES_MISSING, NoteCode.MEANING_CHANGED, NoteCode.EXTERNAL_MISMATCH)
_SILENT = {
    Answer.NO_SERIES: "answers without vLLM's series",
    Answer.NO_ENGINE: "does not answer for vLLM, and for its cache it does",
    Answer.NOTHING: "does not answer",
}


class MetricsLost:
    """The hit ratio is that of the replicas that are still read."""

    name = "metrics_lost"
    rules = RATIO_RULES | {"no_data", "ttft_burn"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        silent = {
            name: seen.answer(name)
            for name in seen.served_before - seen.gone
            if seen.answer(name) is not Answer.ENGINE or not _tells(seen.after, name)
        }
        noted = {name: notes for name in seen.serving - silent.keys() if (notes := _new_notes(seen, name))}
        if silent:
            yield self._silent(seen, silent)
        if noted:
            yield self._noted(seen, noted)

    def _silent(self, seen: Circumstances, silent: dict[str, Answer]) -> Finding:
        lost = min(silent.values(), key=list(Answer).index)
        said = _SILENT.get(lost, "tells no hit ratio")
        whole = seen.by_replica
        points = sum(part.mix for part in whole.parts) if whole is not None else None
        many = f"{len(silent)} of {len(seen.served_before)} replicas"
        words = f"{of_points(seen, points)}{many} can't be read: {listed(silent)} {said}"
        if lost is Answer.NOTHING:
            words += "; whether they serve can't be told from here"
        certainty = POSSIBLE if lost is Answer.NOTHING and seen.rule != "no_data" else RECORDED
        evidence = [f"{one.replica} {one.target}: {one.reason}" for one in seen.targets
                    if one.replica in silent and one.reason]  # fmt: skip
        evidence += [f"{name}: {why}" for name in sorted(silent) if (why := _why_untold(seen.after, name))]
        only = next(iter(silent)) if len(silent) == 1 else ""
        return Finding(certainty, words, "; ".join(evidence[:5]) or said, points, only, seen.onset_at)

    def _noted(self, seen: Circumstances, noted: dict[str, tuple[Note, ...]]) -> Finding:
        whole = seen.by_replica
        points = sum(whole.part(name).total for name in noted) if whole is not None else None
        first = next(iter(sorted(noted)))
        note = noted[first][0]
        words = f"{of_points(seen, points)}counters of {listed(noted)} tell something else than before: {note.detail}"
        evidence = "; ".join(f"{name}: {one.code}, {one.evidence}" for name in sorted(noted) for one in noted[name])
        is_sure = any(one.code is NoteCode.NOT_WIRED for notes in noted.values() for one in notes)
        only = first if len(noted) == 1 else ""
        return Finding(RECORDED if is_sure else LIKELY, words, evidence, points, only, seen.onset_at)


def _tells(side: Stretch, name: str) -> bool:
    """A hit ratio, or that there was no traffic."""
    tiers = side.tiers(name)
    return tiers is not None and (tiers.by_token.known or _is_idle(side, name))


def _is_idle(side: Stretch, name: str) -> bool:
    ledger = side.replicas[name].ledger
    return ledger.prompt_tokens == 0 and not ledger.processed_tokens


def _why_untold(side: Stretch, name: str) -> str:
    tiers = side.tiers(name)
    if tiers is None or tiers.by_token.known:
        return ""
    return next((note.detail for note in tiers.notes if note.code in _CODES), tiers.by_token.reason)


def _new_notes(seen: Circumstances, name: str) -> tuple[Note, ...]:
    """Codes that were not there before. A restart's own consequences are a restart's."""
    sides = [tiers.notes if (tiers := side.tiers(name)) is not None else () for side in (seen.before, seen.after)]
    known = {note.code for note in sides[0]}
    return tuple(note for note in sides[1] if note.code in _CODES and note.code not in known)
