"""The simulated fleet on one loopback port: metrics, completions, and the lab's admin API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from aiohttp import web

from lab.replay import CONTENT_TYPE, HOST, path_of
from lab.sim import admin
from lab.sim.discovery import http_sd
from lab.sim.endpoint import SimEndpoint
from lab.sim.engine import SimReplica
from lab.sim.fault import Address
from lab.sim.fleet import Fleet, NoAnswerError
from lab.sim.openai import complete
from lab.sim.telemetry import version_answer
from tierdeck.errors import UnreachableError
from tierdeck.fleet import FLEET

_STEP_SECONDS = 0.05
_HANG_SECONDS = 120.0
_CURVINE_TYPE = "text/plain; charset=utf-8"


class Server:
    """Serves a fleet whose time follows a wall clock."""

    def __init__(
        self,
        fleet: Fleet,
        clock: Callable[[], float] = time.time,
        on_change: Callable[[Fleet], None] = lambda fleet: None,
    ) -> None:
        """
        Args:
            on_change: told after each change made through the admin API.
        """
        self.fleet = fleet
        self._clock = clock
        self._on_change = on_change

    def advance(self) -> None:
        """Bring the fleet up to now."""
        self.fleet.catch_up(self._clock())

    async def follow(self) -> None:
        """Let the fleet's time pass, until cancelled."""
        while True:
            self.advance()
            await asyncio.sleep(_STEP_SECONDS)

    def application(self) -> web.Application:
        app = web.Application(client_max_size=16 * 2**20)
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/http_sd", self._http_sd),
                *admin.routes(self.fleet, self.advance, self._on_change),
                web.get("/{owner}/{replica}/{source}/metrics", self._metrics),
                web.get("/{owner}/{replica}/{source}/version", self._process_version),
                web.get("/{owner}/_fleet/curvine-master-api/api/workers", self._workers),
                web.get("/{owner}/_fleet/curvine-master-api/api/overview", self._overview),
            ]
        )
        for prefix in ("/{endpoint}", "/{endpoint}/{replica}"):
            app.add_routes(
                [
                    web.post(f"{prefix}/v1/completions", self._completions),
                    web.post(f"{prefix}/v1/chat/completions", self._chat),
                    web.get(f"{prefix}/v1/models", self._models),
                    web.get(f"{prefix}/version", self._version),
                    web.get(f"{prefix}/health", self._health),
                    web.post(f"{prefix}/reset_prefix_cache", self._reset),
                ]
            )
        return app

    # metrics

    async def _index(self, request: web.Request) -> web.Response:
        return web.Response(text="\n".join(path_of(*names) for names in self.fleet.targets()) + "\n")

    async def _http_sd(self, request: web.Request) -> web.Response:
        self.advance()
        return web.json_response(http_sd(self.fleet, request.host))

    async def _metrics(self, request: web.Request) -> web.Response:
        names = request.match_info
        return await self._body(names["owner"], names["replica"], names["source"])

    async def _workers(self, request: web.Request) -> web.Response:
        return await self._body(request.match_info["owner"], FLEET, "curvine-master-api", "application/json")

    async def _overview(self, request: web.Request) -> web.Response:
        try:
            self.fleet.body(request.match_info["owner"], FLEET, "curvine-master")
        except NoAnswerError:
            await asyncio.sleep(_HANG_SECONDS)
        return web.json_response(self.fleet.overview())

    async def _process_version(self, request: web.Request) -> web.Response:
        names = request.match_info
        address = (names["owner"], names["replica"], names["source"])
        return await self._answer(address, self.fleet.version, "application/json")

    async def _body(self, owner: str, replica: str, source: str, content_type: str = "") -> web.Response:
        kind = _CURVINE_TYPE if source.startswith("curvine") else CONTENT_TYPE
        return await self._answer((owner, replica, source), self.fleet.body, content_type or kind)

    async def _answer(
        self, address: Address, render: Callable[[str, str, str], str], content_type: str
    ) -> web.Response:
        """One page; a process that is gone refuses, one that hangs stays silent for long."""
        if delay := self.fleet.delay_seconds(address):
            await asyncio.sleep(delay)
        self.advance()
        try:
            body = render(*address)
        except (KeyError, ValueError, IndexError):
            return web.Response(status=404, text="no such target; / lists them\n")
        except NoAnswerError as error:
            if error.hangs:
                await asyncio.sleep(_HANG_SECONDS)
            return web.Response(status=error.status, text=f"{error}\n")
        return web.Response(body=body.encode(), headers={"Content-Type": content_type})

    # OpenAI

    def _addressed(self, request: web.Request) -> tuple[SimEndpoint, SimReplica | None]:
        """The endpoint and, if named, the replica.

        Raises:
            web.HTTPNotFound: there is none.
            web.HTTPServiceUnavailable: the replica is down.
        """
        self.advance()
        names = request.match_info
        try:
            endpoint = self.fleet.endpoints[names["endpoint"]]
            replica = endpoint.replica(names["replica"]) if "replica" in names else None
        except KeyError as error:
            raise web.HTTPNotFound(text="no such endpoint or replica; /admin lists them\n") from error
        if replica is not None and not replica.up:
            raise web.HTTPServiceUnavailable(text="the replica is starting\n")
        return endpoint, replica

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        return await complete(request, self.fleet, *self._addressed(request), is_chat=False)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await complete(request, self.fleet, *self._addressed(request), is_chat=True)

    async def _models(self, request: web.Request) -> web.Response:
        model = self._addressed(request)[0].spec.model
        return web.json_response({"object": "list", "data": [{"id": model, "object": "model", "owned_by": "vllm"}]})

    async def _version(self, request: web.Request) -> web.Response:
        endpoint, replica = self._addressed(request)
        text = version_answer((replica or endpoint.replicas[0]).form, "vllm")
        return web.Response(text=text, content_type="application/json")

    async def _health(self, request: web.Request) -> web.Response:
        endpoint, replica = self._addressed(request)
        ok = replica is not None or any(each.up for each in endpoint.replicas)
        return web.Response(status=200 if ok else 503)

    async def _reset(self, request: web.Request) -> web.Response:
        endpoint, replica = self._addressed(request)
        for each in [replica] if replica is not None else endpoint.replicas:
            each.drop_l0()
        return web.json_response({"success": True})


@asynccontextmanager
async def serve(server: Server, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback while the context is open; yields the base address.

    Args:
        port: 0 for any free one.

    Raises:
        UnreachableError: the port is taken.
    """
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    follower = asyncio.create_task(server.follow())
    try:
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError as error:
            raise UnreachableError(f"Port {port} can't be used: {error.strerror}", "Choose another --port.") from error
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        follower.cancel()
        with suppress(asyncio.CancelledError):
            await follower
        await runner.cleanup()
