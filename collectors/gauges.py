"""What a replica's gauges say at one moment, and the reservations that a reading carries with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from collectors.source import Key, TargetReading
from collectors.sources import BY_KIND
from collectors.sources.vllm import COUNTS_BLOCKS, VLLM
from tierdeck.account import Gauges, weighted_usage
from tierdeck.fleet import SourceKind, source_kind
from tierdeck.notes import Note, NoteCode
from tierdeck.readings import Reading

_ENGINE_OWN = (Reading.KV_USAGE, Reading.PROMPT_TOKENS)


def replica_gauges(readings: Mapping[str, TargetReading]) -> Gauges:
    """Sums over engines and targets; KV usage weighted by capacity."""
    engines = [reading for name, reading in readings.items() if source_kind(name) is SourceKind.VLLM]
    usages: list[tuple[float | None, float | None]] = []
    for reading in engines:
        whole = reading.gauges.get(Key(Reading.KV_CAPACITY_TOKENS))  # older engines don't say whose it is
        for engine in sorted(
            {key.engine for key in (*reading.gauges, *reading.counters) if key.reading in _ENGINE_OWN}
        ):
            capacity = reading.gauges.get(Key(Reading.KV_CAPACITY_TOKENS, engine), whole)
            usages.append((reading.gauges.get(Key(Reading.KV_USAGE, engine)), capacity))
    capacities = [capacity for _, capacity in usages]
    used, capacity = _l1(readings)
    usage = weighted_usage(usages).value
    return Gauges(
        kv_usage_ratio=usage,
        kv_capacity_tokens=_total(capacities),
        running=_total(reading.gauge(Reading.RUNNING) for reading in engines),
        waiting=_total(reading.gauge(Reading.WAITING) for reading in engines),
        l1_used_bytes=used,
        l1_capacity_bytes=capacity,
        deferred=_total(reading.gauge(Reading.DEFERRED) for reading in engines),
        kv_usage_untold=usage is None and bool(usages) and all(one is not None for one, _ in usages),
    )


_LEAST_USAGE = 1e-6


def _l1(readings: Mapping[str, TargetReading]) -> tuple[float | None, float | None]:
    """Bytes used and capacity of L1; the capacity is used / usage, known only while something is stored."""
    caches = [reading for reading in readings.values() if reading.gauge(Reading.L1_USED) is not None]
    if not caches:
        return None, None
    used, capacity = 0.0, 0.0
    for reading in caches:
        for key, value in reading.gauges.items():
            if key.reading is Reading.L1_USED:
                used += value
                usage = reading.gauges.get(Key(Reading.L1_USAGE, key.engine, key.part), 0.0)
                capacity += value / usage if usage > _LEAST_USAGE else math.nan
    return used, None if math.isnan(capacity) else round(capacity)


_HEADROOM = 4
"""Prompts differ in length: an open store may hold several times the mean number of chunks."""


def stores_in_flight(caches: Iterable[TargetReading], submitted_chunks: float) -> float | None:
    """Chunks that may still be on their way to L2, at most.

    None of them while no store request is open; else no more than were submitted since the last
    scrape, nor than the open requests can hold.

    Args:
        submitted_chunks: chunks submitted since the last scrape.
    """
    total = None
    for reading in caches:
        requests = reading.counter(Reading.STORE_REQUESTS_SUBMITTED)
        open_requests = max(0.0, requests - reading.counter(Reading.STORE_REQUESTS_COMPLETED))
        chunks = reading.counter(Reading.STORES_SUBMITTED)
        held = math.ceil(_HEADROOM * open_requests * chunks / requests) if requests else 0.0
        total = (total or 0.0) + min(held, submitted_chunks)
    return total


def open_requests(engines: Iterable[TargetReading | None]) -> float | None:
    """Requests running or waiting; None where an engine did not answer or exports neither."""
    total = 0.0
    for reading in engines:
        if reading is None:
            return None
        running, waiting = reading.gauge(Reading.RUNNING), reading.gauge(Reading.WAITING)
        if running is None or waiting is None:
            return None
        total += running + waiting
    return total


def reading_notes(name: str, reading: TargetReading) -> set[Note]:
    """Notes that a body brings by itself: old names, a router's copies, bad lines, changed meanings."""
    notes = set()
    for old in reading.renamed:
        families = (*VLLM.families, *BY_KIND[source_kind(name)].families)
        newest = next(family.names[0] for family in families if family.reading is old)
        gone = next((family.gone[name] for family in families for name in family.gone if name in
                     reading.spelled[old].replace("vllm_", "vllm:")), "")  # fmt: skip
        detail = f"{old} was read as {reading.spelled[old]}; the newest known name is {newest}"
        detail += f" (the former one is gone by {gone})" if gone else ""
        notes.add(Note(NoteCode.RENAMED, detail, name))
    if reading.router_series:
        detail = "a router's copies of engine series were left out"
        notes.add(Note(NoteCode.ROUTER_SERIES_IGNORED, detail, name))
    if reading.unreadable or reading.duplicates:
        detail = "lines that are no samples, or repeat a series, were left out"
        notes.add(Note(NoteCode.UNREADABLE_LINES, detail, name))
    if COUNTS_BLOCKS in reading.flags:
        known = any(key.reading is Reading.PROMPT_TOKENS for key in reading.counters)
        made = "they were multiplied by the block size" if known else "the block size is not exported: withheld"
        notes.add(Note(NoteCode.MEANING_CHANGED, f"prefix cache counters are in blocks in this version; {made}", name))
    return notes


def _total(values: Iterable[float | None]) -> float | None:
    """The sum; None where a part is unknown, or there is none."""
    parts = list(values)
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None
