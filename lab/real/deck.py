"""The Tierdeck configuration file (docs/config.md) that points a deck at the real fleet."""

from __future__ import annotations

from lab.real.environment import CACHE, ENGINE, locked_version
from lab.real.layout import MODEL, Layout
from lab.real.model import KV_BYTES_PER_TOKEN
from tierdeck.routing import RoutingStrategy

ENDPOINT = "real"
EMBEDDED = "embedded"


def deck_document(layout: Layout, strategy: RoutingStrategy, embedded: str | None = None) -> dict[str, object]:
    """The endpoint as it is now; LMCache's engine standing alone is an endpoint of its own, without vLLM."""
    versions = {"vllm": locked_version(ENGINE), "lmcache": locked_version(CACHE)}
    endpoints: list[dict[str, object]] = [
        {
            "name": ENDPOINT,
            "model": MODEL,
            "strategy": str(strategy),
            "kv_bytes_per_token": KV_BYTES_PER_TOKEN,
            "replicas": [
                {
                    "name": replica.name,
                    "versions": dict(versions),
                    "targets": {"vllm": f"{replica.engine}/metrics", "lmcache-mp": f"{replica.cache}/metrics"},
                }
                for replica in layout.replicas
            ],
            "shared": {
                "router": f"{layout.router_metrics}/metrics",
                "lmcache-coordinator": f"{layout.coordinator}/metrics",
            },
        }
    ]
    if embedded is not None:
        alone = {"name": "c", "versions": {"lmcache": versions["lmcache"]}, "targets": {"lmcache": embedded}}
        endpoints.append({"name": EMBEDDED, "kv_bytes_per_token": KV_BYTES_PER_TOKEN, "replicas": [alone]})
    return {"endpoints": endpoints}
