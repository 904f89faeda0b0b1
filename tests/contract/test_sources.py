"""What every metric source promises, held against one real exposition of each kind."""

from pathlib import Path

import pytest

from collectors.body import interpret
from collectors.families import spellings
from collectors.source import Source
from collectors.sources import BY_KIND, SOURCES
from tierdeck.fleet import SourceKind
from tierdeck.readings import READINGS, Reading

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sources"

# what the exposition holds, read off the raw text
EXPECTED: dict[SourceKind, dict[Reading, float]] = {
    SourceKind.VLLM: {Reading.KV_CAPACITY_TOKENS: 4096, Reading.RUNNING: 0},
    SourceKind.LMCACHE: {Reading.L1_USED: 3604480},
    SourceKind.LMCACHE_MP: {Reading.L1_USED: 1048576},
    SourceKind.LMCACHE_COORDINATOR: {},
    SourceKind.ROUTER: {Reading.ROUTED_REQUESTS: 12, Reading.ROUTER_WORKERS: 2},
    SourceKind.CURVINE_MASTER: {
        Reading.POOL_CAPACITY: 322122547200,
        Reading.POOL_AVAILABLE: 128756744192,
        Reading.POOL_USED: 193365803008,
        Reading.WORKERS_LIVE: 3,
        Reading.WORKERS_LOST: 0,
    },
    SourceKind.CURVINE_MASTER_API: {
        Reading.POOL_CAPACITY: 322122547200,
        Reading.WORKERS_LIVE: 3,
        Reading.WORKERS_LOST: 0,
    },
    SourceKind.CURVINE_WORKER: {Reading.POOL_CAPACITY: 107374182400, Reading.POOL_USED: 65796046848},
    SourceKind.CURVINE_FUSE: {},
}

SILENT_WHEN_IDLE = (SourceKind.LMCACHE_MP, SourceKind.LMCACHE_COORDINATOR)

each = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.kind)


def text(source: Source) -> str:
    return (FIXTURES / f"{source.kind}.txt").read_text("utf-8")


def test_every_kind_of_target_has_exactly_one_source() -> None:
    assert sorted(source.kind for source in SOURCES) == sorted(SourceKind)
    assert set(BY_KIND) == set(SourceKind)


@each
def test_it_reads_its_own_exposition(source: Source) -> None:
    reading, reason = interpret(source, text(source))
    assert (reading is not None, reason) == (True, "")
    assert reading is not None
    for name, value in EXPECTED[source.kind].items():
        counted = [count for key, count in reading.counters.items() if key.reading is name]
        assert (sum(counted) if counted else reading.gauge(name)) == value, name


@each
def test_it_reads_series_and_values_that_come_apart_as_it_reads_their_page(source: Source) -> None:
    if not source.ends_with_newline:
        return  # JSON, of which a Prometheus knows nothing
    lines = [line for line in text(source).splitlines() if line and not line.startswith("#")]
    values = dict(line.rsplit(" ", 1) for line in lines)
    apart = interpret(source, "\n".join(["", *values, ""]), values)
    assert apart == interpret(source, "\n".join(["", *lines, ""]))


@each
@pytest.mark.parametrize(
    "body", ["", "<html/>", "Error: no", "\x00\x01\x02", "{", "a 1\n", "[]", '{"live_workers": 3}']
)
def test_it_takes_nothing_from_what_is_not_its_exposition(source: Source, body: str) -> None:
    if body == "a 1\n" and source.kind in SILENT_WHEN_IDLE:
        return  # an exposition without their series is what they serve before the first event
    reading, reason = interpret(source, body)
    assert reading is None or not reading.recognised
    assert reason
    assert "\n" not in reason


@each
def test_every_reading_has_a_meaning_and_a_name(source: Source) -> None:
    for family in source.families:
        assert family.reading in READINGS
        assert spellings(family)


def test_an_embedded_lmcache_that_failed_to_start_tells_nothing() -> None:
    reading, reason = interpret(BY_KIND[SourceKind.LMCACHE], (FIXTURES / "degraded-lmcache.txt").read_text("utf-8"))
    assert reading is not None
    assert (reading.recognised, reason) == (False, "answered without lmcache series")


def test_no_source_takes_the_tokens_of_another_kind() -> None:
    for source in SOURCES:
        if source.kind is SourceKind.VLLM:
            continue
        reading = source.read(text(BY_KIND[SourceKind.VLLM]))
        assert reading is None or not reading.counters
