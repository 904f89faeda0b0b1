"""The running fleet: started in order, waited for on conditions, its router switched, all of it ended."""

from __future__ import annotations

import asyncio
import fcntl
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import structlog

from lab.real import commands
from lab.real.environment import Environment
from lab.real.layout import Layout, lay_out
from lab.real.processes import Child, stop_all
from lab.real.relay import relay
from tierdeck.errors import UsageError
from tierdeck.routing import RoutingStrategy

_LOG = structlog.get_logger()


class Fleet:
    """Two engines with their cache servers, a coordinator and a router."""

    def __init__(self, environment: Environment, layout: Layout, strategy: RoutingStrategy) -> None:
        self.layout = layout
        self.strategy = strategy
        self._environment = environment
        self._children: list[Child] = []
        self._router: Child | None = None
        self._switching = asyncio.Lock()

    @property
    def children(self) -> tuple[Child, ...]:
        """Everything that runs, the router last."""
        return (*self._children, *([self._router] if self._router is not None else []))

    async def start(self) -> None:
        """Start everything; returns when the router answers.

        Raises:
            UnreachableError: a process ended or did not become ready.
        """
        layout = self.layout
        layout.l2.mkdir()
        layout.logs.mkdir()
        coordinator = await self.spawn("coordinator", commands.coordinator(layout))
        caches = [
            await self.spawn(f"cache-{replica.name}", commands.cache_server(layout, replica))
            for replica in layout.replicas
        ]
        addresses = [layout.coordinator + "/healthz", *(replica.cache + "/healthcheck" for replica in layout.replicas)]
        await _all_ready([coordinator, *caches], addresses)
        engines = [
            await self.spawn(f"vllm-{replica.name}", commands.engine(layout, replica)) for replica in layout.replicas
        ]
        await _all_ready(engines, [replica.engine + "/health" for replica in layout.replicas])
        await self._start_router()

    async def switch(self, strategy: RoutingStrategy) -> None:
        """Start the router again with another strategy; requests in between are refused."""
        async with self._switching:
            router, self._router = self._router, None
            if router is not None:
                await router.stop()
            self.strategy = strategy
            await self._start_router()
        _LOG.info("strategy_switched", strategy=str(strategy))

    async def spawn(
        self, name: str, command: list[str], more: Mapping[str, str] | None = None, *, keep: bool = True
    ) -> Child:
        """A program of the fleet's environment; ends with the fleet where it is kept."""
        surroundings = commands.surroundings(more or {})
        program = self._environment.program(command[0])
        child = await Child.start(name, [program, *command[1:]], surroundings, self.layout.logs / f"{name}.log")
        if keep:
            self._children.append(child)
        return child

    async def stop(self) -> None:
        """End every process. What they leave in shared memory goes too."""
        if self._router is not None:
            await self._router.stop()
        for kind in ("vllm-", ""):  # engines first, so that none waits for a cache server that is gone
            await stop_all([child for child in self._children if child.name.startswith(kind)])
        for replica in self.layout.replicas:
            with suppress(FileNotFoundError):
                Path("/dev/shm", f"lmcache_l1_pool_{self.layout.shared_memory(replica)}").unlink()  # noqa: S108

    async def _start_router(self) -> None:
        self._router = await self.spawn("router", commands.router(self.layout, self.strategy), keep=False)
        await self._router.ready(self.layout.router + "/readiness", within=120)


@asynccontextmanager
async def laid_out(folder: Path, model: Path) -> AsyncIterator[Layout]:
    """A layout whose folder is empty and ours alone, and the relays of the engines' events.

    Raises:
        UsageError: the folder holds something else, or a fleet that runs.
    """
    short = Path(tempfile.mkdtemp(prefix="tierdeck-"))
    relays: list[asyncio.Server] = []
    try:
        with _emptied(folder):
            layout = lay_out(folder, model, short)
            for replica in layout.replicas:
                one = await relay(replica.events_port, layout.events_socket(replica))
                relays.append(one)
            yield layout
    finally:
        for one in relays:
            one.close()
        shutil.rmtree(short, ignore_errors=True)


@contextmanager
def _emptied(folder: Path) -> Iterator[None]:
    mark = folder / ".tierdeck-lab"
    if folder.exists() and not mark.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} holds files that are not a fleet's", "Name an empty folder.")
    folder.mkdir(parents=True, exist_ok=True)
    with mark.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"a fleet runs in {folder}", "Stop it, or name another --folder.") from error
        for old in folder.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
        yield


async def _all_ready(children: list[Child], addresses: list[str]) -> None:
    await asyncio.gather(*(child.ready(url) for child, url in zip(children, addresses, strict=True)))
