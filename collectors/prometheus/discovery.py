"""What a Prometheus has of ours, before anything is read from it for good."""

from __future__ import annotations

import time
from typing import Any

from collectors.config import read_rules
from collectors.prometheus.absent import nothing_found
from collectors.prometheus.addresses import longest_interval
from collectors.prometheus.asking import Asking
from collectors.prometheus.fleet import arrange
from collectors.prometheus.server import Server
from tierdeck.settings import Settings

_SKEW_SECONDS = 5.0


def discovered(settings: Settings) -> dict[str, Any]:
    """`{"address", "interval_seconds", "clock_ahead_seconds", "endpoints", "pools", "guessed", "not_placed", "notes"}`.

    Raises:
        TierdeckError: it does not answer, or has nothing of vLLM.
    """
    rules = read_rules(settings)
    with Server.of(settings) as server:
        now = server.server_time()
        ahead = now - time.time()
        asking = Asking(server, settings.prometheus_match)
        asking.discover(now)
        fleet = arrange(asking.catalogue.addresses, rules, settings.cluster)
        if not fleet.endpoints:
            raise nothing_found(server, now, asking.match)
    longest = longest_interval(fleet.where)
    return {
        "address": settings.prometheus_address,
        "interval_seconds": round(longest, 1) if longest is not None else None,
        "clock_ahead_seconds": round(ahead, 1) if abs(ahead) > _SKEW_SECONDS else 0,
        "endpoints": [
            {
                "cluster": endpoint.cluster,
                "name": endpoint.name,
                "model": endpoint.model,
                "replicas": [replica.key.replica for replica in endpoint.replicas if not replica.key.shared],
            }
            for endpoint in fleet.endpoints
        ],
        "pools": [pool.key.replica for pool in fleet.pools],
        "guessed": list(fleet.guesses),
        "not_placed": list(fleet.strays),
        "notes": [{"replica": key.replica, "endpoint": key.endpoint, "code": str(note.code), "detail": note.detail}
                  for key, notes in sorted(fleet.notes.items()) for note in sorted(notes)],
    }  # fmt: skip


def told(found: dict[str, Any]) -> str:
    """The same for people."""
    endpoints = found["endpoints"]
    replicas = sum(len(endpoint["replicas"]) for endpoint in endpoints)
    lines = [f"{found['address']} has {replicas} replicas of {len(endpoints)} endpoints:"]
    for endpoint in endpoints:
        model = f" ({endpoint['model']})" if endpoint["model"] else ""
        lines.append(f"  {endpoint['name']}{model}: {', '.join(endpoint['replicas'])}")
    if found["pools"]:
        lines.append(f"  pool: {', '.join(found['pools'])}")
    if found["interval_seconds"] is not None:
        lines.append(f"It scrapes them every {found['interval_seconds']:g} s.")
    lines += [f"Guessed: {sentence} (docs/connect.md says how to set it)." for sentence in found["guessed"]]
    lines += [f"Left out: {sentence}." for sentence in found["not_placed"]]
    lines += sorted({f"Note: {note['detail']} ({note['code']})." for note in found["notes"]})
    if found["clock_ahead_seconds"]:
        lines.append(f"Its clock is {found['clock_ahead_seconds']:g} s ahead of this machine's: mend one of them.")
    return "\n".join(lines)
