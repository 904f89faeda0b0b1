"""An HTTP server that plays snapshot directories as live targets, one moment every few seconds."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from urllib.parse import quote

from aiohttp import web

from lab.snapshot import Snapshot
from lab.tape import Tape
from tierdeck.errors import UnreachableError, UsageError

HOST = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Replay:
    """Snapshots on a common clock. The clock starts at the first moment of the first lap."""

    def __init__(
        self, snapshots: Sequence[Snapshot], step_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the snapshots in.

        Raises:
            UsageError: two snapshots of one name, whose addresses would be the same.
        """
        names = [snapshot.name for snapshot in snapshots]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"Two directories are called {name}", "Rename one: the name is part of the address.")
        if step_seconds <= 0:
            raise UsageError("The step must be above 0 seconds")
        self.snapshots = tuple(snapshots)
        self._step_seconds = step_seconds
        self._clock = clock
        self._started = clock()
        self._moments = {snapshot.name: len(snapshot.moments) for snapshot in snapshots}
        self._tapes = {
            (snapshot.name, owner, source): Tape(bodies)
            for snapshot in snapshots
            for (owner, source), bodies in snapshot.bodies.items()
        }

    @property
    def addresses(self) -> tuple[tuple[str, str, str], ...]:
        """(snapshot, replica or `_fleet`, source) of every target."""
        return tuple(sorted(self._tapes))

    def rewind(self) -> None:
        """Begin again with the first moment of the first lap."""
        self._started = self._clock()

    def position(self, snapshot: str) -> tuple[int, int]:
        """(lap, moment) that a snapshot stands at now."""
        return divmod(int((self._clock() - self._started) / self._step_seconds), self._moments[snapshot])

    def answer(self, snapshot: str, owner: str, source: str) -> bytes | None:
        """The body of a target now; None where the recording lacks it at this moment.

        Raises:
            KeyError: no such target.
        """
        tape = self._tapes[snapshot, owner, source]
        return tape.body(*self.position(snapshot))


_REPLAY = web.AppKey("replay", Replay)


def path_of(snapshot: str, owner: str, source: str) -> str:
    return "/".join(("", *(quote(part, safe="") for part in (snapshot, owner, source)), "metrics"))


@asynccontextmanager
async def serve(replay: Replay, port: int = 0) -> AsyncIterator[str]:
    """Serve a replay on loopback while the context is open; yields the base address.

    Args:
        port: 0 for any free one.

    Raises:
        UnreachableError: the port is taken.
    """
    app = web.Application()
    app.add_routes([web.get("/", _index), web.get("/{snapshot}/{owner}/{source}/metrics", _metrics)])
    app[_REPLAY] = replay
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError as error:
            raise UnreachableError(f"Port {port} can't be used: {error.strerror}", "Choose another --port.") from error
        replay.rewind()
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _metrics(request: web.Request) -> web.Response:
    names = request.match_info
    try:
        body = request.app[_REPLAY].answer(names["snapshot"], names["owner"], names["source"])
    except KeyError:
        return web.Response(status=404, text="no such target; / lists them\n")
    if body is None:
        return web.Response(status=503, text="the recording has no scrape of this target at this moment\n")
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})


async def _index(request: web.Request) -> web.Response:
    paths = (path_of(*names) for names in request.app[_REPLAY].addresses)
    return web.Response(text="\n".join(paths) + "\n")
