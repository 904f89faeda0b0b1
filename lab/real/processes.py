"""Programs as children: a process group and a log each, ended in any case."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import aiohttp
import structlog

from tierdeck.errors import UnreachableError

READY_SECONDS = 900.0
"""Two engines that start at once on two busy cores have been seen to take six minutes."""
_STOP_SECONDS = 20.0
_LOG = structlog.get_logger()


class Child:
    """One program that runs."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.log = log
        self.started_at = time.monotonic()
        self._process = process

    @classmethod
    async def start(cls, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Child:
        """Start it in a group of its own, in the log's folder; it ends with us even if we are killed."""
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *command,
                env=dict(environment),
                cwd=log.parent,  # not ours: Python's children look for imports there, and our packages have plain names
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        return cls(name, process, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    def last_words(self) -> str:
        """The last line of its log."""
        lines = self.log.read_text("utf-8", errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "nothing"

    async def wait(self) -> int:
        """Wait until it ends; its exit code."""
        return await self._process.wait()

    async def ready(self, url: str, within: float = READY_SECONDS) -> None:
        """Wait until the address answers 200.

        Raises:
            UnreachableError: it ended, or did not answer in time.
        """
        end = time.monotonic() + within
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            while not await _answers(session, url):
                if self.ended:
                    raise UnreachableError(f"{self.name} ended: {self.last_words()}", f"Log: {self.log}")
                if time.monotonic() > end:
                    raise UnreachableError(f"{self.name} is not ready after {within:.0f} s", f"Log: {self.log}")
                await asyncio.sleep(0.5)
        _LOG.info("process_ready", process=self.name, seconds=round(time.monotonic() - self.started_at, 1))

    async def stop(self) -> None:
        """SIGTERM to the group, and SIGKILL to what is left after a while: the last to go clear shared memory away."""
        self._signal(signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        while self._signal(0) and time.monotonic() < end:
            await asyncio.sleep(0.1)
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def _signal(self, number: int) -> bool:
        """Whether anybody of the group was there to get it."""
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


async def stop_all(children: Sequence[Child]) -> None:
    """All at once."""
    await asyncio.gather(*(child.stop() for child in children))


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


def _end_with_parent() -> None:
    """On Linux: SIGTERM when the parent ends, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
