"""Reads from the store what is known around an alert, before and since."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from db import Store
from db.records import EndpointAccounts
from tierdeck.account import PoolAccount, ReplicaAccount
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.cause import RATIO_RULES
from tierdeck.alerts.circumstances import (
    BEFORE_ONSET_SECONDS,
    Circumstances,
    PoolReading,
    Restart,
    Stretch,
    TargetState,
)
from tierdeck.alerts.onset import Counted, onset
from tierdeck.events import Event, EventKind
from tierdeck.fleet import FLEET, POOL, ReplicaKey
from tierdeck.resolution import Resolution

_HOUR, _DAY = 3600.0, 86400.0
_LOOK_BACK_SECONDS = 4500.0
"""For the onset: a drop is told within the hour."""
_MARGIN_SECONDS = 60.0
"""Left out between before and since: the minute in which it happened."""
_DRIFT_SECONDS = 12 * _HOUR
_USUAL_DELAY_SECONDS = {"no_data": 120.0, "pool_filling": 900.0, "pool_full": 180.0}
"""From the beginning of a trouble to the alert, where no ratio tells it."""
_DELAY_SECONDS = 180.0
_MOST_EVENTS = 200


@dataclass(frozen=True, slots=True)
class _Asked:
    """About whom, and up to when."""

    store: Store
    alert: Alert
    now: float
    stale_after_seconds: float

    @property
    def cluster(self) -> str:
        return self.alert.subject.cluster

    @property
    def endpoint(self) -> str | None:
        """None: every endpoint of the cluster, which share a pool."""
        name = self.alert.subject.endpoint
        return None if name in (POOL, "") else name


def circumstances(store: Store, alert: Alert, now: float, stale_after_seconds: float = 45.0) -> Circumstances:
    """Read what `find_causes` needs; some reads over an hour or two of one endpoint.

    Args:
        stale_after_seconds: a replica whose last round is older does not answer; three scrape intervals.
    """
    asked = _Asked(store, alert, now, stale_after_seconds)
    began_at = _onset(asked)
    before, compared_with = _before(asked, began_at)
    # what goes on for long is judged by its last hour
    after = _stretch(asked, max(began_at, now - _HOUR), now)
    since = began_at - BEFORE_ONSET_SECONDS
    subject = alert.subject
    return Circumstances(
        rule=alert.rule,
        endpoint=subject.endpoint,
        onset_at=began_at,
        now=now,
        before=before,
        after=after,
        part=subject.part if alert.rule == "tier_drop" else "",
        compared_with=compared_with,
        events=_events(asked, since),
        restarts=_restarts(asked, since, after),
        pools=_pools(store, asked.cluster, began_at - _HOUR, now),
        targets=_targets(asked),
        declared=_declared(asked),
        strategy=_strategy(asked),
    )


def _onset(asked: _Asked) -> float:
    alert = asked.alert
    begins = alert.pending_at - _USUAL_DELAY_SECONDS.get(alert.rule, _DELAY_SECONDS)
    if alert.rule not in RATIO_RULES | {"ttft_burn"} or asked.endpoint is None:
        return begins
    is_slow = alert.rule == "hit_ratio_drift"
    resolution = Resolution.TEN_MINUTES if is_slow else Resolution.MINUTE
    first = alert.pending_at - (_DRIFT_SECONDS if is_slow else _LOOK_BACK_SECONDS)
    rows = asked.store.endpoint_series(first, asked.now, resolution, asked.cluster, asked.endpoint)
    found = onset(list(_minutes(rows, alert.subject.part)), alert.pending_at)
    return begins if found is None else found


def _minutes(rows: pd.DataFrame, part: str) -> Iterable[Counted]:
    hits = rows[part.lower()] if part in ("L0", "L1", "L2") else rows["l0"] + rows["lower"]
    for at, hit, prompt in zip(rows["at"], hits, rows["prompt_tokens"], strict=True):
        if not math.isnan(hit) and not math.isnan(prompt):
            yield Counted(at.timestamp(), float(hit), float(prompt))


def _before(asked: _Asked, began_at: float) -> tuple[Stretch, str]:
    """The hour before; for what sinks slowly the same hour of the day before, or what it was when it began to sink."""
    if asked.alert.rule == "hit_ratio_drift":
        day = _stretch(asked, asked.now - _DAY - _HOUR, asked.now - _DAY)
        if day.count("prompt_tokens"):
            return day, "the same hour a day before"
    end_at = began_at - _MARGIN_SECONDS
    return _stretch(asked, end_at - _HOUR, end_at), "the hour before"


def _stretch(asked: _Asked, start_at: float, end_at: float) -> Stretch:
    stale = asked.stale_after_seconds
    found = asked.store.accounts(start_at, end_at, asked.cluster, asked.endpoint, stale_after_seconds=stale)
    one = Stretch(start_at, end_at, stored=_stored(found))
    if asked.endpoint is None:
        return replace(one, replicas={f"{each.endpoint}/{name}": account for each in found
                                      for name, account in _replicas(each).items()})  # fmt: skip
    if not found:
        return one
    salts = asked.store.salt_counts(start_at, end_at, asked.cluster, asked.endpoint)
    rows = asked.store.endpoint_series(start_at, end_at, Resolution.MINUTE, asked.cluster, asked.endpoint)
    waiting = rows["waiting"].mean() if len(rows) else math.nan
    return replace(
        one,
        replicas=_replicas(found[0]),
        shared=found[0].shared,
        salts=salts,
        waiting=None if math.isnan(waiting) else float(waiting),
    )


def _replicas(found: EndpointAccounts) -> Mapping[str, ReplicaAccount]:
    """Without copies of an engine that is there already."""
    accounts = [*found.replicas, *found.departed]
    names = {account.name for account in accounts}
    return {account.name: account for account in accounts if account.copy_of not in names}


def _stored(found: Iterable[EndpointAccounts]) -> dict[str, float]:
    stored = {}
    for one in found:
        ledgers = [account.ledger for account in (*one.replicas, *one.departed)]
        known = [ledger.stores_completed for ledger in (*ledgers, one.shared) if ledger is not None]
        told = [value for value in known if value is not None]
        if told:
            stored[one.endpoint] = sum(told)
    return stored


def _events(asked: _Asked, start_at: float) -> tuple[Event, ...]:
    whose = None if asked.endpoint is None else [asked.endpoint, POOL, ""]
    found = [
        Event(
            cluster=row["cluster"],
            endpoint=row["endpoint"],
            replica=row["replica"],
            at=row["at"].timestamp(),
            kind=EventKind(row["kind"]),
            subject=row["subject"],
            words=row["words"],
            key=f"{number}",
            detail=row["detail"],
        )
        for number, row in enumerate(
            _rows(asked.store.events(start_at, asked.now, asked.cluster, whose, limit=_MOST_EVENTS))
        )
    ]
    return tuple(reversed(found))


def _restarts(asked: _Asked, start_at: float, after: Stretch) -> tuple[Restart, ...]:
    """By minute; the last ones may not be rolled up yet, and are known by their ledgers alone."""
    found: list[Restart] = []
    if asked.endpoint is not None:
        rows = asked.store.replica_series(start_at, asked.now, Resolution.MINUTE, asked.cluster, asked.endpoint)
        found = [Restart(row["replica"], row["at"].timestamp()) for row in _rows(rows) if row["restarts"]]
    known = {one.replica for one in found}
    found += [
        Restart(name, after.started_at)
        for name, account in after.replicas.items()
        if account.ledger.restarts and name not in known
    ]
    return tuple(found)


def _pools(store: Store, cluster: str, start_at: float, end_at: float) -> tuple[PoolReading, ...]:
    rows = _rows(store.pool_series(start_at, end_at, Resolution.RAW, cluster))
    return tuple(PoolReading(row["at"].timestamp(), row["pool"], _account(row)) for row in rows)


def _account(row: Mapping[str, Any]) -> PoolAccount:
    """NaN is None again."""
    names = [name for name in PoolAccount.__dataclass_fields__ if name != "reason"]
    numbers = {name: None if math.isnan(row[name]) else float(row[name]) for name in names}
    return PoolAccount(**numbers, reason=row["reason"] or "")


def _targets(asked: _Asked) -> tuple[TargetState, ...]:
    found = []
    for row in _rows(asked.store.target_status(asked.cluster)):
        if asked.endpoint not in (None, row["endpoint"]) and row["endpoint"] != POOL:
            continue
        since = row["last_success_at"]
        name = row["replica"] if asked.endpoint is not None else f"{row['endpoint']}/{row['replica']}"
        since_at = None if pd.isna(since) else since.timestamp()
        found.append(TargetState(name, row["target"], row["reason"] or "", since_at))
    return tuple(found)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _declared(asked: _Asked) -> frozenset[str]:
    keys: list[ReplicaKey] = [
        replica.key
        for endpoint in asked.store.endpoints(asked.cluster)
        if asked.endpoint in (None, endpoint.name)
        for replica in endpoint.replicas
        if replica.key.replica != FLEET
    ]
    return frozenset(key.replica if asked.endpoint is not None else f"{key.endpoint}/{key.replica}" for key in keys)


def _strategy(asked: _Asked) -> str:
    return next((one.strategy for one in asked.store.endpoints(asked.cluster) if one.name == asked.endpoint), "")
