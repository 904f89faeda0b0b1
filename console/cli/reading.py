"""What the reading commands say: documents made from the store."""

from __future__ import annotations

import time

import pandas as pd

from console.cli.deployment import deployment_document, proof_of
from console.deployment import Seen
from console.totals import summarize_endpoint
from db import EndpointAccounts, Store
from tierdeck.account import PoolAccount
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.fleet import Endpoint, Replica
from tierdeck.naming import full_name
from tierdeck.report import Beside, fleet_document, number
from tierdeck.settings import Settings
from tierdeck.units import format_seconds

STATUS_WINDOW_SECONDS = 900.0


def status(settings: Settings) -> dict[str, object]:
    """State, prompt tokens and hit ratio by token of each endpoint over the last 15 minutes."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        accounts = store.accounts(now - STATUS_WINDOW_SECONDS, now, stale_after_seconds=settings.stale_after_seconds)
    rows = []
    for endpoint in accounts:
        part = summarize_endpoint(endpoint, settings.warming)
        summary = part.whole
        ratio = summary.tiers.by_token
        tokens = summary.tiers.prompt_tokens
        row: dict[str, object] = {
            "name": endpoint.endpoint,
            "cluster": endpoint.cluster,
            "state": str(summary.state),
            "prompt_tokens": number(tokens.value),
            "hit_ratio": ratio.value,
            "replicas": len(part.replicas),
            "readable": part.readable,
        }
        reasons = {"prompt_tokens": tokens.reason, "hit_ratio": ratio.reason}
        row["why"] = {key: reason for key, reason in reasons.items() if reason}
        rows.append(row)
    return {"endpoints": rows}


def endpoints(settings: Settings) -> dict[str, object]:
    """The inventory; a size in bytes is null while nothing exports it."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        known = store.known_endpoints()
        accounts = store.accounts(now - STATUS_WINDOW_SECONDS, now, stale_after_seconds=settings.stale_after_seconds)
        pools, deployed = store.pool_now(), store.deployed()
        proofs = {(one.cluster, one.name): store.last_proof(one.cluster, one.name) for one in known}
    by_name = {(one.cluster, one.endpoint): one for one in deployed if not one.is_pool}
    seen = {(account.cluster, account.endpoint): account for account in accounts}
    by_cluster = {pool.key.cluster: pool.account for pool in pools}
    rows = []
    for endpoint in known:
        account = seen.get((endpoint.cluster, endpoint.name))
        own_pools = [pool for pool in pools if pool.key.cluster == endpoint.cluster]
        beside = Seen(by_name.get((endpoint.cluster, endpoint.name)), account, own_pools)
        models = account.models if account is not None else ()
        rows.append(
            {
                "name": endpoint.name,
                "cluster": endpoint.cluster,
                "backend": endpoint.backend,
                "model": endpoint.model or (models[0] if models else ""),
                "replicas": sum(not replica.key.shared for replica in endpoint.replicas),
                "strategy": endpoint.strategy or None,
                "proof": proof_of(endpoint.strategy, proofs[endpoint.cluster, endpoint.name], now),
                "sizes": _sizes(endpoint, account, by_cluster.get(endpoint.cluster)),
                "versions": {replica.key.replica: _versions(replica) for replica in endpoint.replicas},
                **deployment_document(endpoint, beside),
            }
        )
    return {"endpoints": rows}


def _versions(replica: Replica) -> dict[str, str | None]:
    """By component; None for one that has a target, and whose version nobody tells."""
    components = {target.component for target in replica.targets} - {""} | dict(replica.versions).keys()
    return {component: replica.version(component) or None for component in sorted(components)}


def _sizes(endpoint: Endpoint, account: EndpointAccounts | None, pool: PoolAccount | None) -> dict[str, object]:
    """L0 and L1 of one replica (the smallest, where they differ; a shared server's L1 too), and the pool, in bytes."""
    gauges = [replica.gauges for replica in account.replicas] if account is not None else []
    caches = [*gauges, account.shared_gauges] if account is not None else []
    tokens = [gauge.kv_capacity_tokens for gauge in gauges if gauge.kv_capacity_tokens]
    l1 = [gauge.l1_capacity_bytes for gauge in caches if gauge.l1_capacity_bytes]
    per_token = endpoint.kv_bytes_per_token
    return {
        "l0_bytes": number(min(tokens) * per_token) if tokens and per_token else None,
        "l0_tokens": number(min(tokens)) if tokens else None,
        "l1_bytes": number(min(l1)) if l1 else None,
        "l2_bytes": number(pool.capacity_bytes) if pool is not None else None,
    }


def targets(settings: Settings) -> dict[str, object]:
    """Every target, the end of its last scrape and its process's version; instants are ISO 8601 UTC."""
    with Store.open(settings.store_url) as store:
        frame = store.target_status()
    rows = []
    for row in frame.to_dict("records"):
        instants = {key: _instant(row[key]) for key in ("last_attempt_at", "last_success_at")}
        reason = "not scraped yet" if instants["last_attempt_at"] is None else row["reason"]
        rows.append(
            {key: row[key] for key in ("cluster", "endpoint", "replica", "target", "url")}
            | instants
            | {"ok": not reason, "reason": reason}
            | {key: row[key] or None for key in ("version", "stated_version")}
        )
    return {"targets": rows}


def ledger(settings: Settings, typed: str, window_seconds: float) -> dict[str, object]:
    """The document of `explain`, for a live endpoint.

    Raises:
        UsageError: no endpoint of that name, or several; the window is shorter than two scrape intervals.
        TierdeckError: several clusters have one of that name.
    """
    least = 2 * settings.scrape_interval_seconds
    if window_seconds < least:
        raise UsageError(f"a window of {format_seconds(window_seconds)} holds no two scrapes", f"At least {least:g}s.")
    now = time.time()
    with Store.open(settings.store_url) as store:
        name = full_name(typed, [endpoint.name for endpoint in store.endpoints()])
        found = store.accounts(
            now - window_seconds, now, endpoint=name, stale_after_seconds=settings.stale_after_seconds
        )
        pools = store.pool_now()
        clusters = sorted({account.cluster for account in found})
        salts = store.salt_counts(now - window_seconds, now, clusters[0], name)
    if len(found) > 1:
        raise TierdeckError(f"{name!r} exists in several clusters: {', '.join(clusters)}")
    pool = next((pool.account for pool in pools if pool.key.cluster == found[0].cluster), None)
    one = found[0]
    beside = Beside(one.shared, pool, one.notes, salts, one.shared_gauges, one.departed)
    return fleet_document(window_seconds, one.replicas, settings.warming, beside)


def _instant(value: pd.Timestamp) -> str | None:
    return None if pd.isna(value) else value.isoformat()
