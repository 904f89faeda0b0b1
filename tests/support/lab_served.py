"""The simulated fleet served over HTTP from a thread, so that code that waits for answers can be tried on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from lab.sim.fleet import Fleet
from lab.sim.scale import small
from lab.sim.server import Server, serve

WARM_SECONDS = 300.0


@contextmanager
def served_lab(rate: float = 1.0, warm_seconds: float = WARM_SECONDS) -> Iterator[tuple[Fleet, str]]:
    """The small fleet, warm; and its address.

    Args:
        rate: requests of others a second at `chat`, which has three replicas, and two thirds of that at `rag`.
    """
    fleet = Fleet(small(), 1, time.time() - warm_seconds)
    fleet.catch_up(time.time())
    for name in ("chat", "rag"):
        endpoint = fleet.endpoints[name]
        endpoint.requests_per_second = rate * len(endpoint.replicas) / 3
        fleet.play_usual(name)
    ready, done, addresses = Event(), Event(), list[str]()

    async def work() -> None:
        async with serve(Server(fleet)) as address:
            addresses.append(address)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = Thread(target=lambda: asyncio.run(work()), daemon=True)
    thread.start()
    assert ready.wait(60), "the lab did not start"
    try:
        yield fleet, addresses[0]
    finally:
        done.set()
        thread.join(60)
