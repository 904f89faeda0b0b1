"""Serves growing expositions on keep-alive loopback from a process of its own."""

from __future__ import annotations

import asyncio
import itertools
import re
import signal
import sys

from aiohttp import web

from tests.bench.parsing import CAPTURE

LAPS = 8


def bodies(name: str) -> list[bytes]:
    """The capture, and the same with all whole numbers raised, a step further each time."""
    text = CAPTURE.with_name(name).read_text("utf-8")

    def raised(step: int) -> str:
        return re.sub(r" (\d+)\.0$", lambda match: f" {int(match[1]) + step}.0", text, flags=re.MULTILINE)

    return [raised(step).encode() for step in range(LAPS)]


async def main() -> None:
    pages = {name: bodies(f"{name}.txt") for name in ("vllm", "lmcache-mp")}
    turns: dict[str, itertools.count[int]] = {}

    async def page(request: web.Request) -> web.Response:
        turn = next(turns.setdefault(request.path, itertools.count()))
        return web.Response(body=pages[request.match_info["name"]][turn % LAPS], content_type="text/plain")

    app = web.Application()
    app.router.add_get("/{replica}/{name}/metrics", page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"http://127.0.0.1:{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
