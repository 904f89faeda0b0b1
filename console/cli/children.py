"""Child processes: started, started again when they end, stopped together; they end with their parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierdeck.errors import UsageError

_STOP_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 30.0
_STEADY_SECONDS = 60.0
_USAGE_ERROR = 2
_NICE = 10


@dataclass(slots=True)
class _Child:
    """One process: how to start it, and how its life has been."""

    name: str
    command: list[str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause_seconds: float = 1.0
    due_at: float = 0.0

    def last_words(self) -> str:
        """The last line that it logged."""
        lines = self.log.read_text("utf-8", errors="replace").strip().splitlines() if self.log.exists() else []
        return lines[-1].removeprefix("tierdeck: ") if lines else f"its log is {self.log}"


class Pipe:
    """Two modules, the first one's output being the second one's input; done once, in the background."""

    def __init__(self, processes: tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]) -> None:
        self.processes = processes

    def ended(self) -> bool | None:
        """None: at work; else whether both ended well."""
        codes = [process.poll() for process in self.processes]
        return None if None in codes else not any(codes)


class Children:
    """The processes of a deck: our own modules, by name."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = dict(environment)
        self._children: list[_Child] = []
        self._pipes: list[Pipe] = []

    def spawn(self, module: str, *args: str) -> None:
        """Start a module and keep it running from now on."""
        name = module.partition(".")[0]
        child = _Child(name, _command(module, *args), self._logs / f"{name}.log")
        child.log.unlink(missing_ok=True)
        self._children.append(child)
        self._launch(child)

    def pipe(self, name: str, producer: tuple[str, ...], consumer: tuple[str, ...]) -> Pipe:
        """Start two modules as one pipe that yields to all other work."""
        with (self._logs / f"{name}.log").open("wb") as log:
            first = self._popen(_command(*producer), stdout=subprocess.PIPE, stderr=log, nice=_NICE)
            second = self._popen(_command(*consumer), stdin=first.stdout, stdout=log, stderr=log, nice=_NICE)
        assert first.stdout is not None, "it was asked for"
        first.stdout.close()
        started = Pipe((first, second))
        self._pipes.append(started)
        return started

    def look_after(self) -> None:
        """Start again what ended.

        Raises:
            UsageError: a child can't use its configuration; it would end each time.
        """
        for child in self._children:
            process = child.process
            if process is None:
                if time.monotonic() >= child.due_at:
                    self._launch(child)
            elif process.poll() is not None:
                if process.returncode == _USAGE_ERROR:
                    raise UsageError(child.last_words())
                if time.monotonic() - child.started_at > _STEADY_SECONDS:
                    child.pause_seconds = 1.0
                pause = child.pause_seconds
                print(
                    f"{child.name} ended ({process.returncode}); starting it again in {pause:.0f} s. Log: {child.log}",
                    flush=True,
                )
                child.process, child.due_at = None, time.monotonic() + pause
                child.pause_seconds = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def end(self) -> None:
        """Stop all of them, the last started first; who does not listen is killed."""
        running = [child.process for child in self._children if child.process is not None]
        running += [process for pipe in self._pipes for process in pipe.processes]
        for process in reversed(running):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        end = time.monotonic() + _STOP_SECONDS
        for process in running:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _launch(self, child: _Child) -> None:
        with child.log.open("ab") as log:
            child.process = self._popen(child.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        child.started_at = time.monotonic()

    def _popen(self, command: list[str], *, nice: int = 0, **streams: Any) -> subprocess.Popen[bytes]:
        def prepare() -> None:
            _die_with_parent()
            if nice:
                os.nice(nice)

        return subprocess.Popen(  # noqa: S603  # our own modules
            command,
            env=self._environment,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509  # no threads here
            **streams,
        )


def _command(module: str, *args: str) -> list[str]:
    return [sys.executable, "-m", module, *args]


def _die_with_parent() -> None:
    """On Linux: end when the parent ends, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
