"""Fills the ledger's past from a Prometheus: the last hour first, then what is before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from collectors.prometheus.addresses import longest_interval
from collectors.prometheus.asking import Asking
from collectors.prometheus.fleet import arrange
from collectors.prometheus.history import Chunk, chunks
from collectors.prometheus.labels import Rule
from collectors.prometheus.pages import fullest_first
from collectors.prometheus.watch import Watch
from db import Store
from tierdeck.account import WarmingLimits
from tierdeck.backfill import Backfill
from tierdeck.rounds import Round


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the past; `far` and `near` in seconds before the first contact."""

    name: str
    far: float
    near: float
    step_seconds: int


_HOUR = 3600.0
_STRETCHES = (
    Stretch("the last hour", _HOUR, 0.0, 60),
    Stretch("the history", float("inf"), _HOUR, 300),
)


@dataclass(frozen=True, slots=True)
class Past:
    """What is to be filled in.

    Attributes:
        source: the server's address, as it is told.
        seconds: how far back.
        present: epoch second of the first contact: from there on the live rounds are.
        cluster: of addresses without a label that names one.
    """

    source: str
    seconds: float
    present: int
    cluster: str
    warming: WarmingLimits


def first_contact(store: Store, source: str, cluster: str) -> int | None:
    """When this server's past was first asked for; None where it never was."""
    name = _name(source, _STRETCHES[0])
    return next((round(one.end_at) for one in store.backfills(cluster) if one.source == name), None)


def fill(past: Past, new_asking: Callable[[], Asking], rules: Sequence[Rule], store: Store) -> Iterator[Backfill]:
    """Account the past into the store; yields its progress after every chunk. It can be cut off and gone on with.

    Raises:
        TierdeckError: the server or the store did not answer; what is done stays.
    """
    for stretch in _STRETCHES:
        progress = _progress(past, stretch, store)
        if progress is None:
            continue
        store.tell_backfill(progress)
        yield progress
        asking = new_asking()
        asking.discover(past.present)
        step = max(stretch.step_seconds, round(longest_interval(asking.catalogue.addresses) or 0.0))
        end = round(progress.end_at)
        start = end - step * -(-round(end - progress.done_at) // step)  # whole steps, so that the end is met
        watch = Watch(float(start), 0.0, asking.help_text, past_step_seconds=step)
        for chunk in chunks(asking, start, end, step):
            fleet = arrange(fullest_first(asking.catalogue.addresses, chunk.seen), rules, past.cluster)
            progress = _write(chunk, watch.feed(chunk.seen, fleet, chunk.moments), progress, store, past.warming)
            yield progress


def _progress(past: Past, stretch: Stretch, store: Store) -> Backfill | None:
    """Where to go on; None for what is done or nothing."""
    name = _name(past.source, stretch)
    start_at, end_at = past.present - min(past.seconds, stretch.far), past.present - stretch.near
    for one in store.backfills(past.cluster):
        if one.source == name and one.end_at == end_at:
            return None if one.is_done else replace(one, told_at=time.time())
    return Backfill(past.cluster, name, start_at, end_at, start_at, time.time()) if start_at < end_at else None


def _name(source: str, stretch: Stretch) -> str:
    """As pages tell it; without the scheme, of which a page would make a link."""
    return f"{stretch.name} of {source.rpartition('://')[2]}"


def _write(chunk: Chunk, rounds: Iterable[Round], progress: Backfill, store: Store, warming: WarmingLimits) -> Backfill:
    """The rounds after what is done already, so that a baseline never replaces what was counted."""
    up_to = chunk.moments[-1]
    store.append([replace(one, is_past=True) for one in rounds if one.at > progress.done_at])
    store.rollup_range(progress.done_at, up_to, warming)
    done_at = min(max(progress.done_at, up_to), progress.end_at)
    done = replace(progress, done_at=done_at, told_at=time.time())
    store.tell_backfill(done)
    return done
