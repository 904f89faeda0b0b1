"""The webhook over HTTPS: `/mutate` for the API server, `/readyz` for the kubelet."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web

from controller.injector.freshness import MOST_WAITING
from controller.injector.review import Reviewer
from tierdeck.errors import TierdeckError, UsageError

ANSWER_SECONDS = 4.0
"""Below the webhook's timeout, so that the API server gets an answer, and the reason with it."""
THREADS = 2 * MOST_WAITING
"""One for each review under way: half of them may wait for an operator, and others are still decided at once."""
_MOST_BYTES = 16 * 2**20
_JSON = "application/json"


def app_of(reviewer: Reviewer, is_ready: Callable[[], bool], answer_seconds: float = ANSWER_SECONDS) -> web.Application:
    """What is served.

    Args:
        answer_seconds: a review that takes longer is answered with the pod as it is.
    """
    threads = ThreadPoolExecutor(THREADS, "review")

    async def mutate(request: web.Request) -> web.Response:
        body = await request.read()
        try:
            deciding = asyncio.get_running_loop().run_in_executor(threads, reviewer.answer, body)
            answer = await asyncio.wait_for(deciding, answer_seconds)
        except TimeoutError:
            answer = reviewer.undecided(body, f"it was not decided within {answer_seconds:g} s")
        except TierdeckError as error:
            return web.Response(status=400, text=f"{error.line()}\n")
        return web.Response(body=answer, content_type=_JSON)

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if is_ready() else web.Response(status=503, text="not ready yet\n")

    async def end(_: web.Application) -> AsyncIterator[None]:
        yield
        threads.shutdown(wait=False, cancel_futures=True)

    app = web.Application(client_max_size=_MOST_BYTES)
    app.cleanup_ctx.append(end)
    app.router.add_post("/mutate", mutate)
    app.router.add_get("/readyz", ready)
    return app


async def serve(app: web.Application, address: str, port: int, context: ssl.SSLContext, stop: asyncio.Event) -> None:
    """Until told to stop; requests under way are answered.

    Raises:
        UsageError: the port can't be had.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=ANSWER_SECONDS + 1)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port, ssl_context=context).start()
    except OSError as error:
        await runner.cleanup()
        hint = "Set TIERDECK_INJECTOR_ADDRESS and TIERDECK_INJECTOR_PORT."
        raise UsageError(f"can't serve the webhook on {address}:{port}: {error.strerror}", hint) from error
    await stop.wait()
    await runner.cleanup()
