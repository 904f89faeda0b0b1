"""Small expositions and snapshot directories for tests: only the series that a test is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.explain import explain
from collectors.snapshot import read_snapshot
from tierdeck.account import WarmingLimits

START = 1_000_000.0
Bodies = Mapping[str, str]


def vllm(
    queries: float | None = None,
    hits: float | None = None,
    ext_queries: float | None = None,
    ext_hits: float | None = None,
    *,
    start: float | None = START,
    engine: str = "0",
    requests: float | None = None,
    more: Mapping[str, float] | None = None,
) -> str:
    """One engine's page with vLLM 0.32's names; `more` maps further series texts to values."""
    labels = f'{{engine="{engine}",model_name="m"}}'
    named = {
        f"vllm:prefix_cache_queries_total{labels}": queries,
        f"vllm:prefix_cache_hits_total{labels}": hits,
        f"vllm:external_prefix_cache_queries_total{labels}": ext_queries,
        f"vllm:external_prefix_cache_hits_total{labels}": ext_hits,
        f'vllm:request_success_total{{engine="{engine}",finished_reason="stop",model_name="m"}}': requests,
        f"vllm:num_requests_running{labels}": 0.0,
        "process_start_time_seconds": start,
        **(more or {}),
    }
    return series(named)


def lmcache_mp(
    l1: float | None = None,
    l2: float | None = None,
    *,
    start: float | None = START,
    more: Mapping[str, float] | None = None,
) -> str:
    """A multi-process server's page; a hit counter of None has not been incremented yet."""
    labels = '{cache_salt="",model_name="m"}'
    requested = None if l1 is None and l2 is None else (l1 or 0) + (l2 or 0)
    return series(
        {
            "process_start_time_seconds": start,
            f"lmcache_mp_lookup_requested_tokens_total{labels}": requested,
            f"lmcache_mp_lookup_hit_l1_tokens_total{labels}": l1,
            f"lmcache_mp_lookup_hit_l2_tokens_total{labels}": l2,
            **(more or {}),
        }
    )


def series(named: Mapping[str, float | None]) -> str:
    return "".join(f"{text} {value}\n" for text, value in named.items() if value is not None)


def ttft(cumulative: Mapping[str, float], engine: str = "0", total: float = 0.0) -> dict[str, float]:
    """Series of a TTFT histogram, from cumulative counts by bound; the last bound must be +Inf."""
    labels = f'engine="{engine}",model_name="m"'
    name = "vllm:time_to_first_token_seconds"
    buckets = {f'{name}_bucket{{{labels},le="{bound}"}}': count for bound, count in cumulative.items()}
    return {**buckets, f"{name}_count{{{labels}}}": list(cumulative.values())[-1], f"{name}_sum{{{labels}}}": total}


def write_snapshot(
    folder: Path, replicas: Mapping[str, Mapping[int, Bodies]], facts: Mapping[str, object] | None = None
) -> Path:
    for replica, moments in replicas.items():
        for seconds, bodies in moments.items():
            home = folder / replica / str(seconds)
            home.mkdir(parents=True)
            for source, body in bodies.items():
                (home / f"{source}.txt").write_text(body, "utf-8")
    if facts is not None:
        (folder / "fleet.json").write_text(json.dumps(facts), "utf-8")
    return folder


def explained(
    folder: Path, replicas: Mapping[str, Mapping[int, Bodies]], facts: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """The document of `explain` for bodies by replica, second and source."""
    return explain(read_snapshot(write_snapshot(folder, replicas, facts)), WarmingLimits())


def codes(part: Mapping[str, Any]) -> list[str]:
    return [note["code"] for note in part["notes"]]


def tokens(part: Mapping[str, Any]) -> dict[str, float | None]:
    return {tier: figures["tokens"] for tier, figures in part["tiers"].items()}


def window(
    tmp_path: Path, first: str, last: str, facts: dict[str, Any] | None = None, **caches: tuple[str, str]
) -> Any:
    """Replica A's part for two pages of vLLM and, by source, two pages of each cache."""
    bodies: dict[int, dict[str, str]] = {0: {"vllm": first}, 60: {"vllm": last}}
    for name, pages in caches.items():
        bodies[0][name.replace("_", "-")], bodies[60][name.replace("_", "-")] = pages
    return explained(tmp_path, {"A": bodies}, facts)["replicas"]["A"]


def bounds(part: Any, tier: str) -> tuple[float | None, float | None, float | None]:
    figures = part["tiers"][tier]
    return figures["low"], figures["tokens"], figures["high"]
