"""The command line of each process in the fleet. Nothing is started here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from lab.real.cached_model import OFFLINE
from lab.real.layout import (
    BLOCK_TOKENS,
    CHUNK_TOKENS,
    CONTEXT_TOKENS,
    L0_TOKENS,
    L1_BYTES,
    L2_BYTES,
    MODEL,
    POLICIES,
    Layout,
    Replica,
)
from tierdeck.routing import RoutingStrategy

ENVIRONMENT = {
    **OFFLINE,
    "VLLM_NO_USAGE_STATS": "1",
    "LMCACHE_TRACK_USAGE": "false",
    "VLLM_SERVER_DEV_MODE": "1",  # /reset_prefix_cache
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
}
_HOST = "127.0.0.1"
_UNWANTED = ("LMCACHE_", "VLLM_", "PROMETHEUS_", "PYTHON", "VIRTUAL_ENV")


def surroundings(own: Mapping[str, str]) -> dict[str, str]:
    """A program's environment: ours without what would change the engines, the lab's, and its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_UNWANTED)}
    return {**kept, **ENVIRONMENT, **own}


def coordinator(layout: Layout) -> list[str]:
    """LMCache's coordinator, which knows who holds what."""
    return ["lmcache", "coordinator", "--host", _HOST, "--port", str(layout.coordinator_port)]


def cache_server(layout: Layout, replica: Replica) -> list[str]:
    """A replica's LMCache server: L1 of its own, and the L2 directory that all share."""
    l2 = {
        "type": "fs_native",
        "base_path": str(layout.l2),
        "num_workers": 2,
        "max_capacity_gb": L2_BYTES / 2**30,
        "eviction": {"eviction_policy": "LRU", "trigger_watermark": 0.8, "eviction_ratio": 0.2},
        "shared": True,
    }
    options: dict[str, object] = {
        "instance-id": f"cache-{replica.name}",
        "host": _HOST,
        "port": replica.cache_port,
        "http-host": _HOST,
        "http-port": replica.cache_http_port,
        "chunk-size": CHUNK_TOKENS,
        "l1-size-gb": L1_BYTES / 2**30,
        "eviction-policy": "LRU",
        "metrics-sample-rate": 1.0,
        "supported-transfer-mode": "auto",
        "shm-name": layout.shared_memory(replica),
        "coordinator-url": layout.coordinator,
        "coordinator-advertise-ip": _HOST,
        "l2-adapter": json.dumps(l2),
    }
    return ["lmcache", "server", *_flags(options), "--no-l1-use-lazy", "--coordinator-event-reporting"]


def engine(layout: Layout, replica: Replica) -> list[str]:
    """vLLM on the CPU. `--enable-scale-out` lets the router ask how a prompt is split into tokens."""
    transfer = {
        "kv_connector": "LMCacheMPConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"lmcache.mp.host": f"tcp://{_HOST}", "lmcache.mp.port": replica.cache_port},
    }
    events = {
        "enable_kv_cache_events": True,
        "publisher": "zmq",
        "endpoint": f"ipc://{layout.events_socket(replica)}",
    }
    options: dict[str, object] = {
        "served-model-name": MODEL,
        "host": _HOST,
        "port": replica.engine_port,
        "dtype": "bfloat16",
        "block-size": BLOCK_TOKENS,
        "num-gpu-blocks-override": L0_TOKENS // BLOCK_TOKENS,
        "max-model-len": CONTEXT_TOKENS,
        "max-num-seqs": 8,
        "max-num-batched-tokens": CONTEXT_TOKENS,
        "kv-transfer-config": json.dumps(transfer),
        "kv-events-config": json.dumps(events),
    }
    switches = ["--enable-prefix-caching", "--enforce-eager", "--enable-prompt-tokens-details", "--enable-scale-out"]
    return ["vllm", "serve", str(layout.model), *_flags(options), *switches]


def router(layout: Layout, strategy: RoutingStrategy) -> list[str]:
    """vllm-router; its policy can only be chosen when it starts."""
    options: dict[str, object] = {
        "host": _HOST,
        "port": layout.router_port,
        "policy": POLICIES[strategy],
        "prometheus-host": _HOST,
        "prometheus-port": layout.router_metrics_port,
        # by default cache_aware looks at the load only beyond 64 outstanding requests, which two replicas never have
        "balance-abs-threshold": 2,
        "balance-rel-threshold": 1.2,
    }
    command = ["vllm-router", *_flags(options), "--worker-urls", *(replica.engine for replica in layout.replicas)]
    if strategy is RoutingStrategy.KVAWARE:
        for replica in layout.replicas:
            command += ["--kv-event-source", f"{replica.engine}=tcp://{_HOST}:{replica.events_port}"]
        command += _flags({"kv-event-block-size": BLOCK_TOKENS, "kv-event-model": MODEL})
    return command


def _flags(options: dict[str, object]) -> Sequence[str]:
    return [part for name, value in options.items() for part in (f"--{name}", str(value))]
