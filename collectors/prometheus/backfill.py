"""Fills the ledger's past from a Prometheus: the last hour first, then what is before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import structlog

from collectors.prometheus.asking import Asking
from collectors.prometheus.fleet import arrange
from collectors.prometheus.history import Chunk, chunks
from collectors.prometheus.labels import Rule
from collectors.prometheus.watch import Watch
from db import Store
from tierdeck.account import WarmingLimits
from tierdeck.backfill import Backfill

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the past; `far` and `near` in seconds before the first contact."""

    name: str
    far: float
    near: float
    step_seconds: int


_HOUR = 3600.0
_STRETCHES = (
    Stretch("last hour", _HOUR, 0.0, 60),
    Stretch("history", float("inf"), _HOUR, 300),
)


@dataclass(frozen=True, slots=True)
class Past:
    """What is to be filled in.

    Attributes:
        source: the server's address, as it is told.
        seconds: how far back.
        present: epoch seconds of the first contact: from there on the live rounds are.
    """

    source: str
    seconds: float
    present: float
    cluster: str
    warming: WarmingLimits


def first_contact(store: Store, source: str, cluster: str) -> float | None:
    """When this server's past was first asked for; None where it never was."""
    name = _name(source, _STRETCHES[0])
    return next((one.end_at for one in store.backfills(cluster) if one.source == name), None)


def fill(
    past: Past, new_asking: Callable[[], Asking], rules: Sequence[Rule], store: Store
) -> Iterator[Backfill]:
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
        step = max(stretch.step_seconds, _longest_interval(asking))
        end, begin = round(progress.end_at), progress.done_at
        start = end - step * -(-round(end - begin) // step)  # whole steps, so that the end is met
        watch = Watch(float(start), 0.0, asking.help_text, past_step_seconds=step)
        for chunk in chunks(asking, start, end, step):
            progress = _account(chunk, watch, asking, rules, past, store, progress)
            yield progress


def _progress(past: Past, stretch: Stretch, store: Store) -> Backfill | None:
    """Where to go on; None for what is done or nothing."""
    name = _name(past.source, stretch)
    for one in store.backfills(past.cluster):
        if one.source == name and one.end_at == past.present - stretch.near:
            return None if one.is_done else replace(one, told_at=time.time())
    start_at, end_at = past.present - min(past.seconds, stretch.far), past.present - stretch.near
    if start_at >= end_at:
        return None
    return Backfill(past.cluster, name, start_at, end_at, start_at, time.time())


def _name(source: str, stretch: Stretch) -> str:
    return f"{stretch.name} of {source}"


def _longest_interval(asking: Asking) -> int:
    known = [address.interval_seconds for address in asking.catalogue.addresses if address.interval_seconds]
    return round(max(known, default=0.0))


def _account(
    chunk: Chunk, watch: Watch, asking: Asking, rules: Sequence[Rule], past: Past, store: Store, progress: Backfill
) -> Backfill:
    fleet = arrange(asking.catalogue.addresses, rules, past.cluster)
    rounds = [
        replace(one, is_past=True)
        for one in watch.feed(chunk.seen, fleet, chunk.moments)
        if one.at > progress.done_at
    ]
    up_to = chunk.moments[-1]
    store.append(rounds)
    store.rollup_range(progress.done_at, up_to, past.warming)
    done = replace(progress, done_at=max(progress.done_at, min(up_to, progress.end_at)), told_at=time.time())
    store.tell_backfill(done)
    return done
