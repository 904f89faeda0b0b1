"""The fleet's own API on the loopback: what runs where, and another strategy."""

from __future__ import annotations

import json
from collections.abc import Callable

from aiohttp import web

from lab.real import layout as sizes
from lab.real.fleet import Fleet
from lab.real.load import Load
from tierdeck.errors import TierdeckError
from tierdeck.routing import RoutingStrategy

_FLEET = web.AppKey("fleet", Fleet)


def state(fleet: Fleet, load: Load | None) -> dict[str, object]:
    """Addresses, sizes in tokens, processes, and what the load has sent."""
    layout = fleet.layout
    return {
        "strategy": str(fleet.strategy),
        "model": sizes.MODEL,
        "router": layout.router,
        "router_metrics": layout.router_metrics,
        "coordinator": layout.coordinator,
        "replicas": {replica.name: {"engine": replica.engine, "cache": replica.cache} for replica in layout.replicas},
        "folder": str(layout.folder),
        "l2": str(layout.l2),
        "sizes": {
            "block_tokens": sizes.BLOCK_TOKENS,
            "chunk_tokens": sizes.CHUNK_TOKENS,
            "l0_tokens": sizes.L0_TOKENS,
            "l1_tokens": sizes.L1_TOKENS,
            "l2_tokens": sizes.L2_TOKENS,
        },
        "processes": {child.name: {"pid": child.pid, "ended": child.ended} for child in fleet.children},
        "load": None
        if load is None
        else {
            "requests": load.requests,
            "failures": load.failures,
            "prompt_tokens": load.prompt_tokens,
            "cached_tokens": load.cached_tokens,
        },
    }


def application(fleet: Fleet, load: Load | None, switched: Callable[[], None]) -> web.Application:
    """`GET /admin`, and `POST /admin/strategy` with `{"strategy": …}`.

    Args:
        switched: called after the router is up again.
    """

    async def get(request: web.Request) -> web.Response:
        return web.json_response(state(request.app[_FLEET], load))

    async def strategy(request: web.Request) -> web.Response:
        try:
            document = json.loads(await request.text())
            wanted = RoutingStrategy(str(document["strategy"]))
        except (ValueError, TypeError, KeyError):
            known = ", ".join(RoutingStrategy)
            return web.json_response({"error": f'Say {{"strategy": …}}, one of {known}'}, status=400)
        try:
            await request.app[_FLEET].switch(wanted)
        except TierdeckError as error:
            return web.json_response({"error": error.line()}, status=503)
        switched()
        return web.json_response(state(request.app[_FLEET], load))

    app = web.Application()
    app[_FLEET] = fleet
    app.add_routes([web.get("/admin", get), web.post("/admin/strategy", strategy)])
    return app
