"""An engine's counters served by prometheus_client, which a Prometheus of the time asks for OpenMetrics.

Upstream: prometheus_client's OpenMetrics exposition writes `vllm_…` where its text format writes `vllm:…`.
Run as a module: prints its address, counts 100 looked-up tokens and 40 hits a tenth of a second.
"""

from __future__ import annotations

import sys
import time

from prometheus_client import Counter, Gauge, start_http_server

LOOKED_UP, HITS = 100, 40


def main() -> None:
    counters = {
        name: Counter(f"vllm:{name}", "as in vLLM", ["model_name", "engine"]).labels("m", "0")
        for name in ("prefix_cache_queries", "prefix_cache_hits", "external_prefix_cache_hits")
    }
    Gauge("vllm:num_requests_running", "as in vLLM", ["model_name", "engine"]).labels("m", "0").set(1)
    server, _ = start_http_server(0, "127.0.0.1")
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    while True:
        counters["prefix_cache_queries"].inc(LOOKED_UP)
        counters["prefix_cache_hits"].inc(HITS)
        time.sleep(0.1)  # the pace of its traffic


if __name__ == "__main__":
    main()
