"""A thousand simulated replicas that serve all their pages every 15 seconds, on one core.

What is measured is the process's own CPU time: traffic simulated, pages rendered, and answered over
keep-alive loopback by the lab's server, for one interval. The client is another process.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

from lab.sim.fleet import Fleet
from lab.sim.scale import large
from lab.sim.server import Server, serve
from tests.bench import Measure, measure

INTERVAL_SECONDS = 15.0
BEGAN_AT = 1_800_000_000.0
_CLIENT = """
import asyncio, sys, aiohttp
async def main(address, count):
    limit = aiohttp.TCPConnector(limit=16)
    async with aiohttp.ClientSession(connector=limit) as session:
        async with session.get(address + "/") as answer:
            paths = [path for path in (await answer.text()).split() if "/curvine/" not in path][:count]
        async def fetch(path):
            async with session.get(address + path) as answer:
                assert answer.status == 200
                return len(await answer.read())
        print(len(paths), sum(await asyncio.gather(*map(fetch, paths))))
asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def run() -> list[Measure]:
    fleet = Fleet(large(), 1, BEGAN_AT)
    replicas = sum(len(endpoint.replicas) for endpoint in fleet.endpoints.values())
    fleet.advance(60.0)
    started = time.process_time()
    fleet.advance(INTERVAL_SECONDS)
    simulated = time.process_time() - started
    pages, spent = asyncio.run(_served(fleet))
    return [
        measure(
            f"{replicas:,} replicas, {pages:,} pages served", spent, "CPU s per interval", at_most=INTERVAL_SECONDS
        ),
        measure(f"{replicas:,} replicas, traffic of 15 s simulated", simulated, "CPU s", at_most=INTERVAL_SECONDS),
        measure("both together", spent + simulated, "CPU s per interval", at_most=INTERVAL_SECONDS),
    ]


async def _served(fleet: Fleet) -> tuple[int, float]:
    """(pages, CPU seconds of this process) of one scrape of everything."""
    server = Server(fleet, clock=lambda: BEGAN_AT + fleet.timeline.now)
    async with serve(server) as address:
        started = time.process_time()
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _CLIENT, address, "1000000", stdout=subprocess.PIPE
        )
        output, _ = await client.communicate()
        return int(output.split()[0]), time.process_time() - started
