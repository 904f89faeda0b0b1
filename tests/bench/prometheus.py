"""Reading a fleet from a real Prometheus: a round of 1,000 replicas, and a day of 50 behind it.

The peer of the round is the least that could be done with the same answers: the same queries, only decoded.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collectors.exposition import parse_line
from collectors.prometheus.selectors import KINDS, STARTED
from tests.bench import Measure, measure
from tests.bench.parsing import CAPTURE
from tests.support.prometheus import load_openmetrics_file, running_prometheus

REPLICAS, HOUR = 1000, 3600
DAY_REPLICAS, DAY = 50, 86_400
INTERVAL = 60
_PORTS = {"vllm": 8000, "lmcache-mp": 8080}


def run() -> list[Measure]:
    end = int(time.time()) // INTERVAL * INTERVAL
    round_, day = _measured("round", REPLICAS, HOUR, end), _measured("backfill", DAY_REPLICAS, DAY, end)
    peer = ("the same queries, only decoded", round_["peer_cpu_seconds"])
    return [
        measure(f"{REPLICAS:,} replicas from Prometheus: a round", round_["cpu_seconds"], "CPU s", at_most=3),
        measure("the same beside its peer", round_["cpu_seconds"], "CPU s", peer=peer),
        measure("rolling that round up", round_["rollup_cpu_seconds"], "CPU s"),
        measure("queries of that round", round_["queries"], "queries", at_most=12),
        measure("memory of that process", round_["memory_mib"], "MiB", at_most=500),
        measure(f"{DAY_REPLICAS} replicas from Prometheus: back-fill of 24 h", day["seconds"], "s", at_most=60),
        measure("memory of that process", day["memory_mib"], "MiB", at_most=500),
    ]


def _measured(what: str, replicas: int, seconds: int, end: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.om"
        with samples.open("w", encoding="utf-8") as file:
            for line in openmetrics(replicas, range(end - seconds, end + 1, INTERVAL)):
                file.write(line)
        load_openmetrics_file(samples, Path(folder) / "data")
        samples.unlink()
        with running_prometheus(Path(folder)) as server:
            command = [sys.executable, "-m", "tests.bench._prometheus_reader", what, server.url, str(end), folder]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def openmetrics(replicas: int, moments: range) -> Iterator[str]:
    """What scrapes of as many pods would have left: only the families that are read, counters growing."""
    for source, port in _PORTS.items():
        for name, labels, value in _series(source):
            for number in range(replicas):
                pod = f"chat-7c9f8b6d54-{number:05d}"
                target = {
                    "cluster": "prod",
                    "container": source,
                    "endpoint": "http",
                    "instance": f"10.{number // 250}.{number % 250}.7:{port}",
                    "job": f"inference/{source}",
                    "namespace": "inference",
                    "pod": pod,
                    "service": "chat",
                }
                inside = ",".join(f'{key}="{text}"' for key, text in {**labels, **target}.items())
                grows = name not in (STARTED,) and value == int(value)
                for step, at in enumerate(moments):
                    yield f"{name}{{{inside}}} {value * (1 + step) if grows else value} {at}\n"
    yield "# EOF\n"


def _series(source: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for line in CAPTURE.with_name(f"{source}.txt").read_text("utf-8").splitlines():
        sample = None if line.startswith("#") else parse_line(line)
        if sample is not None and (sample[0].name in KINDS or sample[0].name == STARTED):
            yield sample[0].name, dict(sample[0].labels), sample[1]
