"""Pools, salts, retention, sizes: what stands beside the ledgers, on both databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from db import OTHER_SALTS, PoolNow, Store
from tests.support.rounds import T0, a_round, endpoint, histogram, key
from tests.support.stores import Postgres, Sqlite
from tierdeck.account import Answer, Gauges, PoolAccount, WarmingLimits
from tierdeck.fleet import FLEET, POOL, Replica, ReplicaKey, Role, Target
from tierdeck.ledger import TokenLedger
from tierdeck.resolution import ROLLUPS, Resolution
from tierdeck.rounds import Round, SaltCounts
from tierdeck.summary import summarize_fleet

LIMITS = WarmingLimits()
KEEP = dict.fromkeys(Resolution, 10**9)
MAIN = ReplicaKey("east", POOL, "main")


def pool_round(at: float, used: float | None, who: ReplicaKey = MAIN, reason: str = "") -> Round:
    account = PoolAccount(capacity_bytes=100.0, used_bytes=used, live=3.0, reason=reason)
    return Round(who, at, TokenLedger(at - 15, at), Answer.NO_ENGINE, (), pool=account)


def salted(at: float, salts: Mapping[str, float], endpoint_name: str = "chat") -> Round:
    counts = {salt: SaltCounts(tokens, tokens / 2, tokens / 4) for salt, tokens in salts.items()}
    return a_round(at, key(FLEET, endpoint_name), counts=TokenLedger(at - 15, at), salts=counts)


def rows(store: Store) -> dict[str, int]:
    """Rows by table."""
    frame = store.sizes().iloc[:-1]
    return dict(zip(frame["table"], frame["rows"], strict=True))


def test_a_shared_cache_s_gauges_and_the_replicas_roles_come_with_the_accounts(store: Store) -> None:
    chat = endpoint()
    decode = replace(chat.replicas[1], role=Role.CONSUMER)
    fleet = Replica(key(FLEET), (Target(key(FLEET), "lmcache-mp", "http://cache:8080/metrics"),))
    shared = replace(chat, replicas=(chat.replicas[0], decode, fleet))
    store.declare("east", [shared], [], "test", "test")
    gauges = Gauges(l1_used_bytes=1000.0, l1_capacity_bytes=2000.0)
    covered = TokenLedger(T0, T0 + 15, l1_found=0.0, l2_found=0.0, cache_at_start=True, cache_at_end=True)
    store.append([a_round(T0 + 15, key(name)) for name in ("a", "b")])
    store.append([a_round(T0 + 15, key(FLEET), counts=covered, gauges=gauges)])
    (found,) = store.accounts(T0, T0 + 15, stale_after_seconds=60)
    assert (found.shared_gauges.l1_used_bytes, found.shared_gauges.l1_capacity_bytes) == (1000, 2000)
    assert [one.role for one in found.replicas] == [Role.BOTH, Role.CONSUMER]
    whole = summarize_fleet(found.replicas, LIMITS, found.shared, found.shared_gauges)
    assert (whole.l1_used.value, whole.l1_capacity.value) == (1000, 2000)


def test_the_newest_reading_of_each_pool_is_told(store: Store) -> None:
    assert store.pool_now() == []
    west = ReplicaKey("west", "chat", FLEET)
    store.append([pool_round(T0 + 30, 7.0), pool_round(T0 + 15, 5.0), pool_round(T0 + 15, None, west, "timed out")])
    main = PoolNow(MAIN, T0 + 30, PoolAccount(capacity_bytes=100.0, used_bytes=7.0, live=3.0))
    assert store.pool_now("east") == [main]
    shared = PoolNow(west, T0 + 15, PoolAccount(capacity_bytes=100.0, live=3.0, reason="timed out"))
    assert store.pool_now() == [main, shared]


def test_pools_over_time_keep_the_last_reading_of_a_bucket(store: Store) -> None:
    store.append([pool_round(T0 + seconds, float(seconds)) for seconds in (15, 60, 75)])
    store.rollup(T0 + 120, LIMITS)
    raw = store.pool_series(T0, T0 + 120, Resolution.RAW)
    assert raw["used_bytes"].tolist() == [15.0, 60.0, 75.0]
    assert raw["pool"].tolist() == ["main"] * 3
    assert np.isnan(raw["available_bytes"]).all()
    minute = store.pool_series(T0, T0 + 120, Resolution.MINUTE)
    assert [at.timestamp() - T0 for at in minute["at"]] == [0, 60]
    assert minute["used_bytes"].tolist() == [60.0, 75.0]
    for resolution in (Resolution.TEN_MINUTES, Resolution.HOUR):
        assert store.pool_series(T0, T0 + 120, resolution, "east")["used_bytes"].tolist() == [75.0]
        assert store.pool_series(T0, T0 + 120, resolution, "west").empty


def test_pools_are_no_endpoints(store: Store) -> None:
    store.append([pool_round(T0 + 15, 1.0)])
    store.rollup(T0 + 60, LIMITS)
    for resolution in Resolution:
        assert store.endpoint_series(T0, T0 + 60, resolution).empty
    assert store.accounts(T0, T0 + 60) == []


@pytest.mark.parametrize("seconds", [600, 7200])
def test_lookups_by_salt_are_added_up(store: Store, seconds: float) -> None:
    store.append([salted(T0 + 15 * n, {"": 8.0, "acme": 16.0}) for n in range(1, 41)])
    store.append([salted(T0 + 15, {"other": 1.0}, "code")])
    store.rollup(T0 + 7200, LIMITS)
    # 40 rounds
    assert list(store.salt_counts(T0, T0 + seconds, "east", "chat").items()) == [
        ("acme", SaltCounts(640.0, 320.0, 160.0)),
        ("", SaltCounts(320.0, 160.0, 80.0)),
    ]
    assert store.salt_counts(T0, T0 + seconds, "west", "chat") == {}


def test_salts_beyond_the_limit_are_folded_per_endpoint(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    with Store.open(url, max_cache_salts=2) as store:
        store.append([salted(T0 + 15, {"a": 1.0, "b": 2.0, "c": 4.0, "d": 8.0}), salted(T0 + 15, {"z": 1.0}, "code")])
        store.append([salted(T0 + 30, {"d": 16.0, "e": 32.0, "a": 64.0})])
    with Store.open(url, max_cache_salts=2) as store:
        store.append([salted(T0 + 45, {"f": 128.0, "b": 256.0})])
        found = {salt: one.lookup_tokens for salt, one in store.salt_counts(T0, T0 + 60, "east", "chat").items()}
        # (other): 4 + 8, then 16 + 32, then 128
        assert found == {"b": 258.0, OTHER_SALTS: 188.0, "a": 65.0}
        assert list(store.salt_counts(T0, T0 + 60, "east", "code")) == ["z"]


def test_rows_past_their_retention_go_and_nothing_else(store: Store) -> None:
    store.declare("east", [endpoint()], [], "config", "ann")
    one, two = (a_round(T0 + at, ttft=histogram(1, 0, 0, 0, 0), salts={"": SaltCounts(1.0)}) for at in (15, 7200))
    store.append([one, two, pool_round(T0 + 15, 1.0), pool_round(T0 + 7200, 1.0)])
    store.rollup(T0 + 7200, LIMITS)
    store.beat("collectors", "old", "0", T0, T0)
    before = rows(store)
    deleted = store.prune(T0 + 7200, KEEP | {Resolution.RAW: 3600, Resolution.MINUTE: 3600})
    after = rows(store)
    gone = {name: before[name] - after[name] for name in before if before[name] != after[name]}
    assert gone.pop("processes") == 1
    # the rows of 15 seconds: ledger (with the pool's own), histogram, salt, pool, endpoint
    assert gone == {
        "ledger_raw": 2, "histograms_raw": 1, "salts_raw": 1, "pools_raw": 1,
        "ledger_1m": 1, "histograms_1m": 1, "salts_1m": 1, "pools_1m": 1, "endpoints_1m": 1,
    }  # fmt: skip
    assert deleted == sum(gone.values())
    assert store.prune(T0 + 7200, KEEP) == 0


def test_a_long_history_is_pruned_completely(store: Store) -> None:
    store.append([a_round(T0 + 60.0 * n) for n in range(600)])
    assert store.prune(T0 + 10**6, KEEP | {Resolution.RAW: 1}) == 600
    assert store.last_at() is None


def test_what_has_no_rows_left_is_forgotten_and_comes_back(store: Store) -> None:
    store.declare("east", [endpoint()], [], "config", "ann")
    store.append([a_round(T0 + 15, salts={"acme": SaltCounts(1.0)}, ttft=histogram(1, 0, 0, 0, 0))])
    store.prune(T0 + 10**6, dict.fromkeys(Resolution, 1))
    sizes = rows(store)
    assert (sizes["series"], sizes["salts"], sizes["memories"], sizes["scrapes"]) == (0, 0, 0, 0)
    assert (sizes["endpoints"], sizes["targets"], sizes["audit"]) == (1, 2, 1)
    store.append([a_round(T0 + 30, salts={"acme": SaltCounts(2.0)})])  # its ids are not those that it remembers
    store.rollup(T0 + 30, LIMITS)
    assert store.accounts(T0, T0 + 60)[0].replicas[0].ledger.prompt_tokens == 1000.0
    assert store.salt_counts(T0, T0 + 60, "east", "chat") == {"acme": SaltCounts(2.0)}


def test_sizes_tell_rows_and_bytes(store: Store) -> None:
    store.append([a_round(T0 + 15)])
    frame = store.sizes().set_index("table")
    assert frame.loc["ledger_raw", "rows"] == 1
    assert frame.index[-1] == "(all)"
    assert frame["bytes"]["(all)"] > 0
    assert {f"endpoints_{one.suffix}" for one in ROLLUPS} < set(frame.index)
