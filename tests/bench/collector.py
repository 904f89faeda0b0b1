"""One collector process on keep-alive loopback: targets per second of its CPU time, account and store included.

The peer fetches the same pages on the same kind of connection and only parses them, with
prometheus_client.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from collectors.fetch import Fetcher
from collectors.replica_task import ReplicaTask
from collectors.writer import Writer
from db import Store
from tests.bench import Measure, measure
from tierdeck.account import WarmingLimits
from tierdeck.fleet import Endpoint, Replica, ReplicaKey, Target
from tierdeck.settings import Settings

REPLICAS = 100
ROUNDS = 6
PEER_REPLICAS = 20
TARGETS = ("vllm", "lmcache-mp")


def run() -> list[Measure]:
    with served() as address, tempfile.TemporaryDirectory() as folder:
        ours = asyncio.run(_ours(address, Path(folder)))
        theirs = asyncio.run(_theirs(address))
    peer = ("aiohttp + prometheus_client.parser, nothing stored", theirs)
    return [
        measure("scrape, account and store", ours, "targets per CPU second", at_least=300),
        measure("the same beside its peer", ours, "targets per CPU second", peer=peer),
    ]


@contextlib.contextmanager
def served() -> Iterator[str]:
    server = subprocess.Popen([sys.executable, "-m", "tests.bench.targets_server"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(10)


async def _ours(address: str, folder: Path) -> float:
    """Median over rounds, each of all replicas at once; roll-ups run as often as in production."""
    settings = Settings()
    replicas = [_replica(address, number) for number in range(REPLICAS)]
    with Store.open(f"sqlite:///{folder / 'bench.db'}", migrate=True) as store:
        store.declare("c", [Endpoint("c", "e", tuple(replicas))], [], origin="bench", actor="bench")
        writer, rates = Writer(store), []
        async with Fetcher(settings) as fetcher:
            tasks = [ReplicaTask(replica, fetcher, writer.put, 15.0) for replica in replicas]
            for number in range(ROUNDS):
                started = time.process_time()
                for part in await asyncio.gather(*(task.round() for task in tasks)):
                    writer.put(part)
                writer.flush()
                store.rollup(time.time(), WarmingLimits())
                spent = time.process_time() - started
                if number:  # the first opens connections and learns the series
                    rates.append(len(TARGETS) * REPLICAS / spent)
        return statistics.median(rates)


async def _theirs(address: str) -> float:
    rates = []
    async with Fetcher(Settings()) as fetcher:
        urls = [f"{address}/r{number}/{name}/metrics" for number in range(PEER_REPLICAS) for name in TARGETS]
        for number in range(4):
            started = time.process_time()
            for fetched in await asyncio.gather(*(fetcher.fetch(url) for url in urls)):
                list(text_string_to_metric_families(fetched.text))
            if number:
                rates.append(len(urls) / (time.process_time() - started))
    return statistics.median(rates)


def _replica(address: str, number: int) -> Replica:
    key = ReplicaKey("c", "e", f"r{number}")
    return Replica(key, tuple(Target(key, name, f"{address}/r{number}/{name}/metrics") for name in TARGETS))
