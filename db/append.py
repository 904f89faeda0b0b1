"""Rounds into rows: ledgers, histograms, salts, pools, the accountant's memories and the last scrapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlalchemy import Connection, Integer, case, func, literal_column, select

from db.codec import dump_counts, dump_memory, load
from db.dimensions import Dimensions, Needs, SaltKey, SeriesKey
from db.ledger_rows import ledger_row
from db.schema import HISTOGRAMS, LEDGERS, POOL_FIELDS, POOLS, SALTS, memories, mounts, scrapes
from db.upsert import Upsert, incoming
from tierdeck.account import PoolAccount
from tierdeck.fleet import ReplicaKey
from tierdeck.histogram import Histogram
from tierdeck.l2.mounts import MountReading
from tierdeck.resolution import Resolution
from tierdeck.rounds import Round, SaltCounts, Scrape

TTFT = "ttft"
"""The one metric in the histogram tables so far."""

Row = tuple[object, ...]

_ONE = literal_column("1", Integer)  # no parameter: a row's values are the only ones
_scrape = incoming(scrapes)
_UPSERT_SCRAPES = Upsert(
    scrapes,
    merged={
        "last_success_at": func.coalesce(_scrape.c.last_success_at, scrapes.c.last_success_at),
        "consecutive_failures": _scrape.c.consecutive_failures * (scrapes.c.consecutive_failures + _ONE),
    },
    where=_scrape.c.last_attempt_at > scrapes.c.last_attempt_at,
)
_UPSERT_MEMORIES = Upsert(memories, where=incoming(memories).c.at >= memories.c.at)
_mount = incoming(mounts)
_UPSERT_MOUNTS = Upsert(
    mounts,
    merged={"moved_at": case((_mount.c.requests == mounts.c.requests, mounts.c.moved_at), else_=_mount.c.moved_at)},
    where=_mount.c.at > mounts.c.at,
)
_UPSERT_LEDGERS = Upsert(LEDGERS[Resolution.RAW])
_UPSERT_HISTOGRAMS = Upsert(HISTOGRAMS[Resolution.RAW])
_UPSERT_SALTS = Upsert(SALTS[Resolution.RAW])
_UPSERT_POOLS = Upsert(POOLS[Resolution.RAW])


def series_key(one: Round) -> SeriesKey:
    return SeriesKey(one.key.cluster, one.key.endpoint, one.key.replica)


def needs(rounds: Sequence[Round]) -> Needs:
    """What the rows of these rounds refer to."""
    return Needs(
        series={series_key(one) for one in rounds},
        models={one.model for one in rounds if one.model},
        layouts={one.ttft.bounds for one in rounds if one.ttft is not None},
        salts={SaltKey(one.key.cluster, one.key.endpoint, salt) for one in rounds for salt in one.salts},
    )


def write_rounds(connection: Connection, rounds: Sequence[Round], ids: Dimensions) -> None:
    """All rows of these rounds; their dimensions have ids already."""
    owned = [(ids.series_id(series_key(one)), one) for one in rounds]
    _UPSERT_LEDGERS.run(connection, [_ledger(series_id, one, ids) for series_id, one in owned])
    _UPSERT_HISTOGRAMS.run(connection, list(_histograms(owned, ids)))
    _UPSERT_SALTS.run(connection, list(_salts(owned, ids)))
    pools = [pool_row(series_id, one.at, one.pool) for series_id, one in owned if one.pool is not None]
    _UPSERT_POOLS.run(connection, pools)
    present = sorted((one for one in rounds if not one.is_past), key=lambda one: one.at)
    newest = {one.key: one for one in present}
    _UPSERT_MEMORIES.run(connection, [_memory(one) for one in newest.values()])
    _UPSERT_SCRAPES.run(connection, [_scrape_row(scrape) for one in present for scrape in one.scrapes])
    _UPSERT_MOUNTS.run(connection, [_mount_row(one.key, mount) for one in present for mount in one.mounts])


def histogram_row(series_id: int, at: float, ttft: Histogram, layout_id: int) -> Row | None:
    """None without observations: the ledger's row says that the histogram is exported, and its layout."""
    if not (any(ttft.counts) or ttft.sum or ttft.layouts_differ):
        return None
    return (series_id, TTFT, at, layout_id, dump_counts(ttft.counts), ttft.sum, ttft.layouts_differ)


def pool_row(series_id: int, at: float, pool: PoolAccount) -> Row:
    return (series_id, at, *(getattr(pool, name) for name in POOL_FIELDS), pool.reason)


def read_memories(connection: Connection, cluster: str) -> dict[ReplicaKey, Mapping[str, object]]:
    """The accountant's state of every replica of the cluster."""
    rows = connection.execute(select(memories).where(memories.c.cluster == cluster))
    return {ReplicaKey(row.cluster, row.endpoint, row.replica): load(row.memory) for row in rows}


def _ledger(series_id: int, one: Round, ids: Dimensions) -> Row:
    layout_id = ids.layout_id(one.ttft.bounds) if one.ttft is not None else None
    told = (one.answer.value, ids.model_id(one.model), layout_id)
    return ledger_row((series_id, one.at), one.ledger, one.gauges, told)


def _histograms(owned: Iterable[tuple[int, Round]], ids: Dimensions) -> Iterator[Row]:
    for series_id, one in owned:
        if one.ttft is not None:
            row = histogram_row(series_id, one.at, one.ttft, ids.layout_id(one.ttft.bounds))
            if row is not None:
                yield row


def _salts(owned: Iterable[tuple[int, Round]], ids: Dimensions) -> Iterator[Row]:
    """Salts beyond the limit are added up under `(other)`."""
    for series_id, one in owned:
        found: dict[int, SaltCounts] = {}
        for salt, counts in one.salts.items():
            number = ids.salt_id(SaltKey(one.key.cluster, one.key.endpoint, salt))
            found[number] = found[number] + counts if number in found else counts
        for number, counts in found.items():
            yield (series_id, number, one.at, counts.lookup_tokens, counts.l1_found, counts.l2_found)


def _memory(one: Round) -> Row:
    return (one.key.cluster, one.key.endpoint, one.key.replica, one.at, dump_memory(one.memory))


def _mount_row(key: ReplicaKey, mount: MountReading) -> Row:
    told = (mount.active, mount.queued, mount.progress_at, mount.requests)
    return (key.cluster, key.endpoint, key.replica, mount.target, mount.at, *told, mount.at)


def _scrape_row(scrape: Scrape) -> Row:
    key, failed = scrape.target.key, not scrape.ok
    return (
        key.cluster,
        key.endpoint,
        key.replica,
        scrape.target.name,
        scrape.at,
        None if failed else scrape.at,
        scrape.answered,
        scrape.reason,
        scrape.duration_seconds,
        scrape.body_bytes,
        int(failed),
        scrape.version or None,
    )
