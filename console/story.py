"""Where a window's tokens came from: what is shown alike of a fleet and of one endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from console.headlines import Headline, headlines
from console.note_lines import NoteLine, note_lines
from console.segments import Segment, Source, hit_bounds, segments
from console.spread import spread
from console.totals import NOTHING_READABLE, EndpointSummary, total
from console.trends import bucket_seconds, complete, fleet_tokens, rates, shares
from console.windows import Window
from console.words import bar_question
from tierdeck.figure import Figure
from tierdeck.resolution import Resolution
from tierdeck.summary import Summary


@dataclass(frozen=True, slots=True)
class Span:
    """A window with its edges in epoch seconds; `last_at`: the newest round, or the window's start."""

    window: Window
    resolution: Resolution
    start_at: float
    end_at: float
    last_at: float

    @property
    def start(self) -> pd.Timestamp:
        return pd.Timestamp(self.start_at, unit="s", tz="UTC")

    @property
    def end(self) -> pd.Timestamp:
        return pd.Timestamp(self.end_at, unit="s", tz="UTC")

    def cut(self, series: pd.DataFrame) -> pd.DataFrame:
        """The complete buckets of a series, coarse rows spread; with `width_seconds` and `covered_seconds`."""
        width = bucket_seconds(series, self.resolution.value)
        return complete(spread(series, width), width, self.start_at, self.last_at)


@dataclass(frozen=True, slots=True)
class Story:
    """Complete, with nothing left to compute.

    Attributes:
        question: the bar's title.
        segments: of the bar; () where `silence` says why there is nothing.
        remarks: sentences about what the bar leaves out or can't tell.
        headlines: () where nothing is readable.
        shares, rates: `at`, `width_seconds`, `prompt_tokens`, one column per `Source`.
        ttft: `at`, `width_seconds`, `ttft_p50`, `ttft_p95` with `_low` and `_high`.
    """

    span: Span
    question: str
    segments: tuple[Segment, ...]
    silence: str
    remarks: tuple[str, ...]
    headlines: tuple[Headline, ...]
    shares: pd.DataFrame
    rates: pd.DataFrame
    ttft: pd.DataFrame
    notes: tuple[NoteLine, ...]


def tell(span: Span, parts: Sequence[EndpointSummary], by_endpoint: pd.DataFrame, whole: pd.DataFrame) -> Story:
    """The story of some endpoints.

    Args:
        by_endpoint: their series, cut.
        whole: the series of their sum, cut.
    """
    summary = total(parts)
    tokens = summary.tiers.prompt_tokens if summary else Figure.unknown(NOTHING_READABLE)
    bar = tuple(segments(piece for part in parts for piece in part.pieces))
    over_time = fleet_tokens(by_endpoint)
    return Story(
        span=span,
        question=bar_question(span.window, tokens),
        segments=bar,
        silence="" if bar else _silence(span, parts, tokens),
        remarks=tuple(_remarks(parts, bar, summary)) if bar else (),
        headlines=headlines(summary, hit_bounds(bar)) if summary else (),
        shares=shares(over_time),
        rates=rates(over_time),
        ttft=whole,
        notes=note_lines(parts),
    )


def _silence(span: Span, parts: Sequence[EndpointSummary], tokens: Figure) -> str:
    """Why there is no bar."""
    if not parts:
        return "There is no endpoint."
    if tokens.value == 0:
        return f"No prompt tokens were looked up in the last {span.window.words}."
    reasons = sorted({f"{part.whole.state}: {part.whole.state.meaning}" for part in parts})
    if tokens.reason == NOTHING_READABLE:
        return f"Not known: {'no replica is readable' if len(parts) == 1 else tokens.reason} ({'; '.join(reasons)})."
    return f"Not known: {tokens.reason}."


def _remarks(parts: Sequence[EndpointSummary], bar: Iterable[Segment], summary: Summary | None) -> Iterable[str]:
    shown = {segment.source: segment for segment in bar}
    unread = [f"{part.accounts.endpoint} ({part.whole.state})" for part in parts if not part.whole.state.readable]
    silent = [
        f"{account.name} ({one.state})"
        for part in parts
        if part.whole.state.readable
        for account, one in part.replicas
        if not one.state.readable
    ]
    for names, words in ((unread, "endpoints are not readable"), (silent, "replicas are not readable")):
        if names:
            yield f"Left out, because these {words}: {_listed(names)}."
    if Source.UNKNOWN in shown and summary is not None:
        reasons = {piece.tiers.lower.reason for part in parts for piece in part.pieces if piece.state.readable} - {""}
        yield f"Where the rest came from is not known: {_listed(sorted(reasons))}."
    if Source.LOWER in shown:
        told = [piece.tiers for part in parts for piece in part.pieces if piece.tiers.lower.value]
        reasons = {tiers.l1.figure.reason for tiers in told} - {""}
        yield f"Where they are hatched together, L1 and L2 are not told apart: {_listed(sorted(reasons))}."
    if shown.keys() & {Source.L1, Source.L2} and any(segment.estimated for segment in shown.values()):
        yield "L1 and L2 are an estimate; the bounds stand beside them."


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
