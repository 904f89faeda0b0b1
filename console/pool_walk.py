"""Whose chunks lie in a pool, by the janitor's newest walk through it: sizes and last use by identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from console.words import age_words
from tierdeck.l2.janitor_runs import IdentityPart, JanitorRun, Order, Outcome
from tierdeck.units import format_count, format_ratio, format_size

_ROOT = ". (the pool's root)"
_ORDERS = {
    Order.READ: "Last use is the last read, or the last write where that is later.",
    Order.WRITTEN: "Last use is the last write: the mount keeps no time of the last read.",
}
_OUTCOMES = {
    Outcome.RUNNING: "◌ under way, or cut off",
    Outcome.NOTHING: "● nothing had to go",
    Outcome.DRY: "○ dry: nothing was deleted",
    Outcome.CLEANED: "● made room",
    Outcome.SHORT: "▲ made less room than it was to",
    Outcome.REFUSED: "✕ refused",
}


@dataclass(frozen=True, slots=True)
class Walk:
    """What is known of a pool's content.

    Attributes:
        words: sentences about the newest walk, or why there is none.
        identities: a row each, the largest first; rounds: the last ones, the newest first; both may be empty.
    """

    words: tuple[str, ...]
    identities: pd.DataFrame
    rounds: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Absent:
    """A pool of which no janitor told.

    Attributes:
        told_of: the names of the pools of its cluster that janitors told of; one of them may be this pool.
    """

    pool: str
    told_of: Sequence[str]

    @property
    def words(self) -> str:
        if not self.told_of:
            return "not walked: the janitor is off"
        return (
            f"not walked: no janitor has told of a pool of this name, only of {', '.join(self.told_of)}; "
            f"TIERDECK_JANITOR_POOL={self.pool} is what this one's janitor needs"
        )


def walked(runs: Sequence[JanitorRun]) -> JanitorRun | None:
    """The newest round that looked at the pool's content; rounds are given newest first."""
    return next((run for run in runs if run.identities), None)


def walk(runs: Sequence[JanitorRun], now: float, absent: Absent) -> Walk:
    """Of one pool, from its rounds, the newest first.

    Args:
        absent: what is said where there are none.
    """
    if not runs:
        why = "Curvine tells neither the size nor the last use of a directory; only a walk through the pool does "
        return Walk((f"{_capital(absent.words)}.", f"{why}(docs/janitor.md)."), pd.DataFrame(), pd.DataFrame())
    found = walked(runs)
    rounds = pd.DataFrame([_round(run, now) for run in runs])
    if found is None:
        return Walk(
            (f"Nothing of its content is known: {runs[0].words or 'the first walk is under way'}.",),
            pd.DataFrame(),
            rounds,
        )
    largest = sorted(found.identities, key=lambda part: -part.size_bytes)
    rows = pd.DataFrame([_identity(part, found, now) for part in largest])
    when = f"Walked {_ago(found.started_at, now)}: {format_count(found.files)} files, {format_size(found.size_bytes)}."
    return Walk((when, _ORDERS[found.order]), rows, rounds)


def _identity(part: IdentityPart, run: JanitorRun, now: float) -> dict[str, str | float | None]:
    share = 100 * part.size_bytes / run.size_bytes if run.size_bytes else None
    gone = (
        f"{format_size(part.deleted_bytes)} in {format_count(part.deleted_files)} files" if part.deleted_files else "–"
    )
    return {
        "identity": _ROOT if part.identity == "." else part.identity,
        "share": share,
        "size": format_size(part.size_bytes),
        "files": format_count(part.files),
        "last used": "–" if part.last_used_at is None else _ago(part.last_used_at, now),
        "would have gone" if run.is_dry else "went": gone,
    }


def _round(run: JanitorRun, now: float) -> dict[str, str]:
    used = [None if one is None or not run.capacity_bytes else one / run.capacity_bytes
            for one in (run.used_before_bytes, run.used_after_bytes)]  # fmt: skip
    before, after = ("?" if one is None else format_ratio(one) for one in used)
    return {
        "began": _ago(run.started_at, now),
        "outcome": _OUTCOMES[run.outcome],
        "pool used": f"{before} → {after}",
        "went": f"{format_size(run.deleted_bytes)} in {format_count(run.deleted_files)} files"
        if run.deleted_files
        else "–",
        "what came of it": run.words,
    }


def _ago(at: float, now: float) -> str:
    return f"{age_words(max(0.0, now - at))} ago"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
