"""Children that end in any case, and what is said when one ends too early."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import aiohttp.web
import pytest

from lab.real.processes import Child, stop_all
from tierdeck.errors import UnreachableError

PATIENCE_SECONDS = 60.0


async def shell(script: str, log: Path) -> Child:
    return await Child.start("one", ["sh", "-c", script], os.environ, log)


def gone(pid: int) -> bool:
    """No such process, or one that only waits to be noticed."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not gone(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


async def test_stopping_ends_the_whole_group(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = await shell(f"sleep 600 & echo $! > {note}; sleep 600", tmp_path / "log")
    while not note.exists() or not note.read_text().strip():
        await asyncio.sleep(0.01)
    await stop_all([child])
    assert child.ended
    wait_until_gone(int(note.read_text()))
    await child.stop()  # again does no harm


async def test_an_early_end_is_told_with_its_last_words(tmp_path: Path) -> None:
    child = await shell("echo first; echo 'no such model' >&2; exit 3", tmp_path / "log")
    with pytest.raises(UnreachableError, match="one ended: no such model") as caught:
        await child.ready("http://127.0.0.1:9/")
    assert str(tmp_path / "log") in caught.value.hint


async def test_a_child_that_never_answers_is_given_up(tmp_path: Path) -> None:
    child = await shell("sleep 600", tmp_path / "log")
    with pytest.raises(UnreachableError, match="not ready after 1 s"):
        await child.ready("http://127.0.0.1:9/", within=1)
    await child.stop()


async def test_ready_is_when_the_address_answers_200(tmp_path: Path) -> None:
    answers = iter([503, 503, 200])

    async def health(_: aiohttp.web.Request) -> aiohttp.web.Response:
        return aiohttp.web.Response(status=next(answers))

    app = aiohttp.web.Application()
    app.router.add_get("/health", health)
    runner = aiohttp.web.AppRunner(app)
    await runner.setup()
    await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
    child = await shell("sleep 600", tmp_path / "log")
    await child.ready(f"http://127.0.0.1:{runner.addresses[0][1]}/health")
    assert next(answers, None) is None
    await child.stop()
    await runner.cleanup()


def test_children_end_when_the_lab_is_killed(tmp_path: Path) -> None:
    program = f"""
import asyncio, os
from pathlib import Path
from lab.real.processes import Child

async def main():
    child = await Child.start("one", ["sleep", "600"], os.environ, Path({str(tmp_path / "log")!r}))
    print(child.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as lab:
        assert lab.stdout is not None
        pid = int(lab.stdout.readline())
        assert not gone(pid)
        lab.send_signal(signal.SIGKILL)
    wait_until_gone(pid)
