"""Figures as words on a page: an unknown one says so, and the data's age is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.windows import Window
from tierdeck.backfill import Backfill
from tierdeck.figure import Figure
from tierdeck.histogram import Histogram, Quantile
from tierdeck.units import format_count, format_ratio, format_seconds

if TYPE_CHECKING:
    import pandas as pd

BEAT_LATE_SECONDS = 90.0
"""A process whose last heartbeat is older is silent."""
GLYPHS = {"ok": "●", "idle": "○", "warming": "◐", "stale": "◌", "no_engine_metrics": "▲", "down": "✕"}
"""A shape per state, so that a table can be scanned without colours."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """When the newest data came. `fresh` is false where what came is too old to speak of now."""

    words: str
    fresh: bool


def freshness(last_at: float | None, now: float, stale_after_seconds: float) -> Freshness:
    """`as of 14:02:10 UTC, 6 s ago`; says so where nothing came, or not for long."""
    if last_at is None:
        return Freshness("no data yet", fresh=True)
    age = max(0.0, now - last_at)
    words = f"as of {clock(last_at, now)}, {age_words(age)} ago"
    if age > stale_after_seconds:
        return Freshness(f"stale: {words}; nothing came since", fresh=False)
    return Freshness(words, fresh=True)


def backfill_words(known: Sequence[Backfill], now: float) -> Freshness | None:
    """How the past is being filled in: the back-fill that is under way, or that stopped; None: neither."""
    for one in known:
        if one.is_silent(now):
            return Freshness(f"filling in {one.source} stopped at {format_ratio(one.share)}", fresh=False)
        if not one.is_done:
            return Freshness(f"filling in {one.source}: {format_ratio(one.share)}", fresh=True)
    return None


def trouble_words(processes: pd.DataFrame, now: float) -> Freshness | None:
    """What keeps a process that is alive from its work; None: nothing.

    Args:
        processes: as `Store.processes` gives them.
    """
    alive = processes[processes["stopped_at"].isna() & (processes["trouble"] != "")]
    for name, beat_at, trouble in zip(alive["name"], alive["beat_at"], alive["trouble"], strict=True):
        if now - beat_at.timestamp() <= BEAT_LATE_SECONDS:
            return Freshness(f"{name}: {trouble}", fresh=False)
    return None


def clock(at: float, now: float) -> str:
    """`14:02:10 UTC`, with the date where that is not today's."""
    when, today = (datetime.fromtimestamp(instant, UTC) for instant in (at, now))
    return when.strftime("%H:%M:%S UTC" if when.date() == today.date() else "%d %b %Y %H:%M:%S UTC")


def age_words(seconds: float) -> str:
    """A whole number of the largest unit that says enough: `90 s`, `12 min`, `3 h`, `5 d`."""
    for unit, factor, limit in (("s", 1, 100), ("min", 60, 5400), ("h", 3600, 129600)):
        if seconds < limit:
            return f"{seconds / factor:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def bar_question(window: Window, tokens: Figure) -> str:
    """The title of the bar, with the window's tokens in it."""
    words = f"{window.words}'" if window.words.endswith("s") else f"{window.words}'s"
    many = f"{format_count(tokens.value)} " if tokens.value else ""
    return f"Where did the last {words} {many}prompt tokens come from?"


def ratio_words(ratio: Figure) -> str:
    return format_ratio(ratio.value) if ratio.value is not None else short_reason(ratio.reason)


def bounds_words(low: float, high: float) -> str:
    """`16–19 %`; one number where they show the same."""
    least, most = f"{100 * low:.0f}", f"{100 * high:.0f}"
    return f"{least} %" if least == most else f"{least}–{most} %"


def count_words(figure: Figure) -> str:
    return format_count(figure.value) if figure.value is not None else short_reason(figure.reason)


def quantile_words(quantile: Quantile) -> str:
    """`212 ms`, `≥ 60 s`, or why there is none."""
    if quantile.at_least is not None:
        return f"≥ {bound_words(quantile.at_least)}"
    return format_seconds(quantile.value) if quantile.value is not None else short_reason(quantile.reason)


def quantile_bounds(quantile: Quantile) -> str:
    """How sure the quantile is."""
    if quantile.at_least is not None:
        return "beyond the last bound"
    if quantile.low is None or quantile.high is None:
        return quantile.reason
    return f"{bound_words(quantile.low)} to {bound_words(quantile.high)}"


def bound_words(seconds: float) -> str:
    """A bucket's bound as it is exported: `60 s`, not `1 min`."""
    return f"{seconds:g} s" if 1 <= seconds < 3600 else format_seconds(seconds)


def quantile_of(ttft: Histogram | None, reason: str, q: float) -> Quantile:
    return Quantile(reason=reason) if ttft is None else ttft.quantile(q)


def short_reason(reason: str) -> str:
    """The reason in the room that a number has."""
    if "not exported" in reason or "no LMCache source exports" in reason:
        return "not exported"
    if any(words in reason for words in ("no prompt tokens", "no requests", "no observations")):
        return "no traffic"
    return "not known"


def backend_words(backend: str) -> str:
    """What deploys an endpoint; of one that no cluster tells of, that it was declared."""
    return "declared by hand" if backend == "static" else backend


def sentence(text: str) -> str:
    """A reason as it stands alone: a capital first, one full stop last."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
