"""The store's face: every read and write that processes and console make, each one short transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from sqlalchemy.exc import IntegrityError

from db.accounts import Window, read_accounts
from db.alert_store import AlertStore
from db.append import needs, read_memories, write_rounds
from db.backfills import read_backfills, write_backfill
from db.backup import back_up
from db.change_store import ChangeStore
from db.cluster_store import ClusterStore
from db.database import Database, parse_url
from db.declarations import Declaration, declare, read_others
from db.dimensions import Dimensions
from db.endpoint_series import read_endpoint_series
from db.inventory import Whose, read_endpoints, read_pools, read_told
from db.janitor_store import JanitorStore
from db.pool_store import PoolStore
from db.prune import Kept, prune
from db.query import Query
from db.records import EndpointAccounts
from db.replica_series import read_replica_series
from db.rollup import Rollup
from db.salt_reads import read_salt_counts
from db.status import (
    BEAT,
    SIGN_OFF,
    read_audit,
    read_last_at,
    read_processes,
    read_sizes,
    read_target_status,
    sign_off_name,
)
from db.upgrade import check_version, upgrade
from tierdeck.account import WarmingLimits
from tierdeck.backfill import Backfill
from tierdeck.fleet import Endpoint, Replica, ReplicaKey
from tierdeck.resolution import Resolution
from tierdeck.rounds import Round, SaltCounts

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")


class Store(ClusterStore, AlertStore, PoolStore, JanitorStore, ChangeStore):
    """One open store; safe to share among threads. Use as a context manager, or `close()` it."""

    def __init__(self, database: Database, dimensions: Dimensions) -> None:
        self._database = database
        self._ids = dimensions

    @classmethod
    def open(cls, url: str, *, migrate: bool = False, max_cache_salts: int = 50) -> Self:
        """Open the store at a SQLAlchemy URL (`sqlite:///path` or `postgresql://…`).

        Args:
            migrate: bring an empty or older store up to date first.
            max_cache_salts: salts kept apart per endpoint; further ones are folded into `(other)`.

        Raises:
            UsageError: not such a URL.
            StoreVersionError: the schema is older (without `migrate`) or newer than this code's.
            UnreachableError: the server does not answer, or there is no such file.
        """
        database = Database(parse_url(url))
        try:
            if migrate:
                upgrade(database)
            else:
                check_version(database)
        except BaseException:
            database.close()
            raise
        return cls(database, Dimensions(max_cache_salts))

    def close(self) -> None:
        """Give every connection back."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def declare(
        self, cluster: str, endpoints: Sequence[Endpoint], pools: Sequence[Replica], origin: str, actor: str
    ) -> bool:
        """Make this origin's inventory of the cluster exactly this; True when that changed anything.

        What the replicas of an endpoint share is declared as its replica `_fleet`, a pool as a
        replica with the key `(cluster, "_pool", name)`. A change leaves one audit row.

        Raises:
            UsageError: another origin has declared one of the endpoints or pools.
        """
        new = Declaration(cluster, endpoints, pools, origin, actor)
        return self._twice(lambda: self._declare(new))

    def declared_by_others(self, cluster: str, origin: str) -> dict[tuple[str, ...], str]:
        """Names that `origin` can't declare there: whose they are by `(endpoint,)` or `("_pool", pool)`."""
        with self._database.read() as connection:
            return read_others(connection, cluster, origin)

    def endpoints(self, cluster: str | None = None) -> list[Endpoint]:
        """The inventory as declared, with replicas and targets, in its order; shared targets as replica `_fleet`."""
        with self._database.read() as connection:
            return read_endpoints(connection, Whose(cluster))

    def known_endpoints(self, cluster: str | None = None) -> list[Endpoint]:
        """The same, with versions as the processes told them; as declared only where they don't."""
        with self._database.read() as connection:
            declared, told = read_endpoints(connection, Whose(cluster)), read_told(connection, cluster)
        return [replace(one, replicas=tuple(each.told(told.get(each.key, {})) for each in one.replicas))
                for one in declared]  # fmt: skip

    def pools(self, cluster: str | None = None) -> list[Replica]:
        """The pools of the inventory."""
        with self._database.read() as connection:
            return read_pools(connection, cluster)

    def append(self, rounds: Sequence[Round]) -> None:
        """Write rounds, all or none; the same round again replaces itself."""
        if not rounds:
            return
        self._twice(lambda: self._append(rounds))

    def memories(self, cluster: str) -> dict[ReplicaKey, Mapping[str, object]]:
        """The accountant's state after each replica's newest round."""
        with self._database.read() as connection:
            return read_memories(connection, cluster)

    def beat(self, name: str, instance: str, version: str, started_at: float, at: float, *, trouble: str = "") -> None:
        """A process says that it is alive, and what keeps it from its work, if anything does."""
        with self._database.write() as connection:
            BEAT.run(connection, [(name, instance, version, started_at, at, trouble)])

    def sign_off(self, name: str, instance: str, at: float) -> None:
        """A process says that it ends as it was told to."""
        with self._database.write() as connection:
            SIGN_OFF.run(connection, [(sign_off_name(name, instance), at)])

    def processes(self) -> pd.DataFrame:
        """Columns name, instance, version, started_at, beat_at, trouble ("": none), stopped_at (NaT: it has not
        signed off since its last beat); the newest beat first.
        """
        with self._database.read() as connection:
            return read_processes(connection)

    def rollup(self, now: float, limits: WarmingLimits) -> None:
        """Roll up what is new since the last call, late rows of the last 10 minutes included; idempotent."""
        self._twice(lambda: Rollup(self._database, self._ids, limits).up_to(now))

    def rollup_range(self, start_at: float, end_at: float, limits: WarmingLimits) -> None:
        """Roll up the rounds of (start_at, end_at] after a back-fill; idempotent."""
        self._twice(lambda: Rollup(self._database, self._ids, limits).over(start_at, end_at))

    def tell_backfill(self, one: Backfill) -> None:
        """Note how far a back-fill has come; roll its rows up first."""
        with self._database.write() as connection:
            write_backfill(connection, one)

    def backfills(self, cluster: str | None = None) -> list[Backfill]:
        """Every back-fill's progress; the one told last comes first."""
        with self._database.read() as connection:
            return read_backfills(connection, cluster)

    def prune(
        self,
        now: float,
        retention_seconds: Mapping[Resolution, int],
        *,
        event_seconds: int | None = None,
        alert_seconds: int | None = None,
    ) -> int:
        """Delete time-series rows, events and alerts past their retention, in small batches; rows deleted.

        Args:
            event_seconds: how long events are kept, the janitor's rounds, and what probes told; None: for ever.
            alert_seconds: how long alerts that are over are kept with what was said of them, and silences that
                ended; None: for ever.
        """
        return prune(self._database, now, Kept(retention_seconds, event_seconds, alert_seconds))

    def accounts(
        self,
        start_at: float,
        end_at: float,
        cluster: str | None = None,
        endpoint: str | None = None,
        *,
        stale_after_seconds: float = 45.0,
    ) -> list[EndpointAccounts]:
        """Every endpoint of the inventory with its replicas' rounds in (start_at, end_at] merged.

        Args:
            stale_after_seconds: a replica whose last round is older at `end_at` answers NOTHING;
                three scrape intervals.
        """
        window = Window(start_at, end_at, stale_after_seconds)
        with self._database.read() as connection:
            return read_accounts(connection, window, cluster, endpoint)

    def endpoint_series(
        self,
        start_at: float,
        end_at: float,
        resolution: Resolution,
        cluster: str | None = None,
        endpoint: str | None = None,
        *,
        total: bool = False,
    ) -> pd.DataFrame:
        """Endpoints over time: one row per bucket and endpoint; no row where nothing was scraped.

        Columns: at (UTC, start of the bucket), cluster, endpoint, prompt_tokens, l0, l1, l1_low,
        l1_high, l2, l2_low, l2_high, lower, miss, transfer, requests, hit_ratio [0, 1], running,
        waiting, kv_usage_ratio [0, 1], covers (by how many bucket widths to divide tokens for a
        rate; above 1 where a round told of the time before its bucket too), replicas, readable,
        ttft_p50, ttft_p50_low, ttft_p50_high, ttft_p95, ttft_p95_low, ttft_p95_high (seconds; where
        the quantile fell into +Inf: NaN, the last bound, inf). NaN: unknown. The last bucket may
        still be growing. RAW is summed on the fly, at about 0.2 ms per replica and bucket: for
        large fleets ask for minutes.

        Args:
            total: sum the endpoints to one series (cluster and endpoint are ""): endpoints without
                a readable replica are left out, a figure that another can't tell is NaN.
        """
        query = Query(start_at, end_at, resolution, cluster, endpoint)
        with self._database.read() as connection:
            return read_endpoint_series(connection, query, total=total)

    def replica_series(
        self, start_at: float, end_at: float, resolution: Resolution, cluster: str, endpoint: str
    ) -> pd.DataFrame:
        """Replicas of an endpoint over time: at (UTC), replica, prompt_tokens, hit_ratio, l0, lower, miss, requests,
        restarts. NaN: unknown.
        """
        with self._database.read() as connection:
            return read_replica_series(connection, Query(start_at, end_at, resolution, cluster, endpoint))

    def target_status(self, cluster: str | None = None) -> pd.DataFrame:
        """Every declared target with its last scrape; NaT and NaN where it was never scraped.

        Columns: cluster, endpoint, replica, target, kind, url, last_attempt_at, last_success_at
        (UTC), answered, reason, duration_seconds, body_bytes, consecutive_failures, version (as its
        process told it), stated_version (as declared); empty where unknown.
        """
        with self._database.read() as connection:
            return read_target_status(connection, cluster)

    def audit(self, limit: int = 200) -> pd.DataFrame:
        """The newest entries first: at (UTC), actor, action, subject, detail (JSON text)."""
        with self._database.read() as connection:
            return read_audit(connection, limit)

    def last_at(self, cluster: str | None = None) -> float | None:
        """Epoch seconds of the newest round; None: none yet."""
        with self._database.read() as connection:
            return read_last_at(connection, cluster)

    def salt_counts(self, start_at: float, end_at: float, cluster: str, endpoint: str) -> dict[str, SaltCounts]:
        """LMCache lookups by cache salt, most lookups first; empty where only the empty salt is in use."""
        with self._database.read() as connection:
            return read_salt_counts(connection, start_at, end_at, cluster, endpoint)

    def sizes(self) -> pd.DataFrame:
        """Columns table, rows, bytes; the last row, `(all)`, is the whole store. NaN: the database can't tell."""
        with self._database.read() as connection:
            return read_sizes(connection)

    def backup(self, path: Path, *, force: bool = False) -> None:
        """Copy the store to a file while others go on writing.

        Raises:
            UsageError: the file is there already, and `force` is not set.
            UnreachableError: PostgreSQL's pg_dump is missing or fails.
        """
        back_up(self._database, path, force=force)

    def _twice(self, act: Callable[[], Result]) -> Result:
        """Once more where another process has pruned what is remembered here, or declared the same just now."""
        try:
            return act()
        except IntegrityError:
            self._ids.forget()
            return act()

    def _declare(self, new: Declaration) -> bool:
        with self._database.write() as connection:
            return declare(connection, new)

    def _append(self, rounds: Sequence[Round]) -> None:
        self._ids.prepare(self._database, needs(rounds))
        with self._database.write() as connection:
            write_rounds(connection, rounds, self._ids)
