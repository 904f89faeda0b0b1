"""The ASGI application: the views, `/healthz` and `/metrics` on one port, warm before the first visitor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from console import measures
from tierdeck.errors import TierdeckError

_log = structlog.get_logger()
_SCRIPT = Path(__file__).parent / "script.py"


def create_app() -> st.App:
    """The application; one per process."""
    routes = [Route("/healthz", _healthz), Route("/metrics", _metrics)]
    return st.App(_SCRIPT, routes=routes, lifespan=_lifespan, on_script_error=_failed)


@asynccontextmanager
async def _lifespan(app: st.App) -> AsyncIterator[None]:
    """What the first visitor would wait for is done before the port opens."""
    started = time.perf_counter()
    from console.web.warm import warm  # noqa: PLC0415  # only now: Streamlit's caches bind to the running runtime

    await asyncio.to_thread(warm)
    _log.info("console_warmed", seconds=round(time.perf_counter() - started, 2))
    yield


async def _healthz(request: Request) -> Response:
    """200 only while the store answers."""
    from console import queries  # noqa: PLC0415  # as above

    try:
        last_at = await asyncio.to_thread(queries.store_answers)
    except TierdeckError as error:
        measures.STORE_UP.set(0)
        return JSONResponse({"status": "store unreachable", "error": error.line()}, status_code=503)
    measures.STORE_UP.set(1)
    return JSONResponse({"status": "ok", "last_at": last_at})


async def _metrics(request: Request) -> Response:
    return Response(measures.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _failed(error: Exception) -> bool:
    """A bug in a view: logged whole, told in a sentence."""
    _log.error("view_failed", exc_info=error)
    st.warning("This view could not be drawn; the console's log says why.")
    return True
