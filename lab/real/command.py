"""`python -m lab real`: build what is missing, start the fleet, write the deck's configuration, end it all."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import structlog
from aiohttp import web

from lab.deck_config import write_atomically
from lab.real import embedded
from lab.real.admin import application
from lab.real.cached_model import ensure_model
from lab.real.deck import deck_document
from lab.real.environment import Environment, cache_folder, ensure
from lab.real.fleet import Fleet, laid_out
from lab.real.load import Load
from tierdeck.errors import UnreachableError
from tierdeck.routing import RoutingStrategy

_LOG = structlog.get_logger()
_Result = TypeVar("_Result")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The environment and the model are kept in $TIERDECK_CACHE (default: ~/.cache/tierdeck)."
    strategies = [str(strategy) for strategy in RoutingStrategy]
    parser.add_argument("--strategy", choices=strategies, default=strategies[0], help="how the router picks a replica")
    parser.add_argument(
        "--load", action="store_true", help="send conversations through the router, and prompts to the embedded engine"
    )
    parser.add_argument("--embedded", action="store_true", help="also LMCache's embedded engine, standing alone")
    parser.add_argument("--port", type=int, default=0, help="loopback port of /admin; 0 (default): any free one")
    parser.add_argument("--config-out", type=Path, metavar="FILE", help="write the deck's configuration file here")
    parser.add_argument("--folder", type=Path, help="emptied, then for logs and L2 (default: in the cache folder)")
    parser.add_argument("--prepare", action="store_true", help="build what is missing, and start nothing")


def run(options: argparse.Namespace) -> None:
    """Run the fleet until told to stop.

    Raises:
        UsageError: the environment can't be built here.
        UnreachableError: something did not start.
    """
    environment = ensure(_say)
    model = ensure_model(environment, _say)
    if not options.prepare:
        asyncio.run(_run(options, environment, model))


def _say(line: str) -> None:
    sys.stderr.write(f"lab: {line}\n")
    sys.stderr.flush()


async def _run(options: argparse.Namespace, environment: Environment, model: Path) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    folder = (options.folder or cache_folder() / "lab" / "fleet").absolute()
    async with laid_out(folder, model) as layout:
        fleet = Fleet(environment, layout, RoutingStrategy(options.strategy))
        try:
            _say(f"starting two engines, which takes a minute or several; logs: {layout.logs}")
            alone = await _unless(stop, _start(fleet, embedded_too=options.embedded))
            if not stop.is_set():
                await _serve(options, fleet, alone, stop)
        finally:
            await fleet.stop()
    _LOG.info("fleet_stopped")


async def _start(fleet: Fleet, *, embedded_too: bool) -> str | None:
    """Everything; the address of the engine that stands alone, where it is wanted."""
    await fleet.start()
    return await embedded.start(fleet) if embedded_too else None


async def _serve(options: argparse.Namespace, fleet: Fleet, alone: str | None, stop: asyncio.Event) -> None:
    load = Load(fleet.layout.router) if options.load else None

    def tell() -> None:
        if options.config_out is not None:
            metrics = None if alone is None else f"{alone}/metrics"
            write_atomically(options.config_out, deck_document(fleet.layout, fleet.strategy, metrics))

    async with _listening(application(fleet, load, tell), options.port) as address, asyncio.TaskGroup() as group:
        work = [group.create_task(_watch(fleet))]
        if load is not None:
            work.append(group.create_task(load.run()))
        if alone is not None and options.load:
            work.append(group.create_task(embedded.drive(alone)))
        tell()
        sys.stdout.write(f"{address}/admin\n")
        sys.stdout.flush()
        _LOG.info("fleet_started", admin=f"{address}/admin", router=fleet.layout.router, strategy=str(fleet.strategy))
        await stop.wait()
        for task in work:
            task.cancel()


async def _unless(stop: asyncio.Event, work: Coroutine[None, None, _Result]) -> _Result | None:
    """Do it, and leave off when told to stop."""
    task, told = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if task.done():
        return task.result()
    task.cancel()
    await asyncio.wait({task})
    return None


async def _watch(fleet: Fleet) -> None:
    """Tell when a process ends by itself. The rest goes on: that is what one wants to see."""
    told: set[int] = set()
    while True:
        for child in fleet.children:
            if child.ended and child.pid not in told:
                told.add(child.pid)
                _LOG.warning("process_ended", process=child.name, last_words=child.last_words(), log=str(child.log))
        await asyncio.sleep(1)


@asynccontextmanager
async def _listening(app: web.Application, port: int) -> AsyncIterator[str]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        try:
            await site.start()
        except OSError as error:
            raise UnreachableError(f"port {port}: {error.strerror}", "Choose another with --port.") from error
        host, number = runner.addresses[0][:2]
        yield f"http://{host}:{number}"
    finally:
        await runner.cleanup()
