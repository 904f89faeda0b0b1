"""A server of targets that misbehave, one path each, on a free loopback port."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from aiohttp import web

from tests.support.expositions import vllm

GOOD = vllm(1000, 600, 400, 0, requests=10)
BAD_BODIES = {
    "html": b"<html><body>Sign in</body></html>",
    "empty": b"",
    "binary": bytes(range(256)) * 64,
    "fuse-error": b"Error: can't read metrics",
    "invalid-utf8": b'\xff\xfe{x="\xff"} 1\n',
    "python-only": b"process_start_time_seconds 1.0\n",
    "nan": b"vllm:prefix_cache_queries_total NaN\nvllm:prefix_cache_hits_total +Inf\n",
}


async def _fixed(request: web.Request) -> web.Response:
    return web.Response(body=BAD_BODIES[request.match_info["name"]])


async def _good(request: web.Request) -> web.Response:
    return web.Response(text=GOOD)


async def _error(request: web.Request) -> web.Response:
    return web.Response(status=500, text=GOOD)


async def _moved(request: web.Request) -> web.Response:
    raise web.HTTPFound("/good")


async def _silent(request: web.Request) -> web.Response:
    await asyncio.sleep(3600)
    return web.Response()


async def _drip(request: web.Request) -> web.StreamResponse:
    """Answers for ever, a line at a time."""
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while True:
            await response.write(b"# more\n")
            await asyncio.sleep(0.05)
    return response


async def _flood(request: web.Request) -> web.StreamResponse:
    """100 MB of one body."""
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        for _ in range(100):
            await response.write(b"# " + b"x" * (2**20 - 3) + b"\n")
    return response


async def _cut(request: web.Request) -> web.StreamResponse:
    """Promises more than it sends."""
    response = web.StreamResponse(headers={"Content-Length": "100000"})
    await response.prepare(request)
    await response.write(GOOD.encode())
    assert request.transport is not None
    request.transport.close()
    return response


async def _mid_line(request: web.Request) -> web.Response:
    return web.Response(text=GOOD.rstrip("\n")[:-2])


async def _huge_label(request: web.Request) -> web.Response:
    return web.Response(text=f'vllm:prompt_tokens_total{{x="{"y" * 2**20}"}} 5\n{GOOD}')


@contextlib.asynccontextmanager
async def hostile_server() -> AsyncIterator[str]:
    """Yields the server's address."""
    app = web.Application()
    app.router.add_get("/body/{name}", _fixed)
    for handler in (_good, _error, _moved, _silent, _drip, _flood, _cut, _mid_line, _huge_label):
        app.router.add_get(f"/{handler.__name__.strip('_')}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][0] and f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
