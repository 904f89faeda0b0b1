"""`tierdeck up`: the processes as children on the embedded store; they end when it ends, however it ends."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tierdeck.errors import TierdeckError, UnreachableError, UsageError
from tierdeck.settings import Settings

_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 30.0
_STEADY_SECONDS = 60.0
_DEMO_INTERVAL_SECONDS = "5"
_DEMO_TIMEOUT_SECONDS = "4"
_USAGE_ERROR = 2


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


class Deck:
    """Everything that `tierdeck up` runs."""

    def __init__(self, settings: Settings, *, config: Path | None, demo: bool, port: int | None) -> None:
        if demo and config is not None:
            raise UsageError("--demo and --config exclude each other")
        self._settings = settings
        self._config = config or settings.config_file
        self._demo = demo or self._config is None
        self._port = settings.console_port if port is None else port
        self._stopping = False
        self._children: list[_Child] = []
        self._environment = dict(os.environ)

    def run(self) -> int:
        """Run until SIGTERM or Ctrl-C.

        Returns:
            The exit code.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        with self._home() as home:
            try:
                self._start(home)
                while not self._stopping:
                    self._look_after()
                    time.sleep(0.2)
            finally:
                self._end()
        return 0

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    @contextlib.contextmanager
    def _home(self) -> Iterator[Path]:
        """The home folder, held by a lock so that two decks never share one."""
        home = self._settings.home
        try:
            (home / "logs").mkdir(parents=True, exist_ok=True)
            lock = (home / "up.lock").open("w")
        except OSError as error:
            raise UsageError(
                f"can't use {home}: {error.strerror}", "Set TIERDECK_HOME to a folder of yours."
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(f"a deck is already up on {home}", "Stop it, or set another TIERDECK_HOME.") from error
            yield home

    def _start(self, home: Path) -> None:
        self._port = _free_port(self._settings.console_address, self._port)
        self._environment |= {
            "TIERDECK_HOME": str(home),
            "TIERDECK_CONSOLE_PORT": str(self._port),
            "TIERDECK_CONSOLE_ADDRESS": self._settings.console_address,
        }
        self._run_once(home, "db", "upgrade")
        config = self._config
        if self._demo:
            config = home / "demo.yaml"
            config.unlink(missing_ok=True)
            self._environment.setdefault("TIERDECK_SCRAPE_INTERVAL_SECONDS", _DEMO_INTERVAL_SECONDS)
            self._environment.setdefault("TIERDECK_SCRAPE_TIMEOUT_SECONDS", _DEMO_TIMEOUT_SECONDS)
            self._spawn(home, "lab", "replay", "--demo", "--config-out", str(config))
            self._wait(config.exists, "the demo source")
        assert config is not None, "without a configuration file it is a demo"
        self._environment["TIERDECK_CONFIG_FILE"] = str(config.absolute())
        self._spawn(home, "collectors")
        self._spawn(home, "console.web")
        address = f"http://{self._settings.console_address}:{self._port}"
        self._wait(lambda: _answers(f"{address}/healthz"), "the console")
        if not self._stopping:
            source = "the demo source (recorded expositions)" if self._demo else str(config)
            print(f"Tierdeck is up on {source}: {address}", flush=True)

    def _run_once(self, home: Path, module: str, *args: str) -> None:
        done = subprocess.run(  # noqa: S603  # our own module
            [sys.executable, "-m", module, *args],
            check=False,
            env=self._environment,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        if done.returncode:
            lines = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
            error = TierdeckError(lines[-1].removeprefix("tierdeck: ") if lines else f"{module} {args[0]} failed")
            error.exit_code = done.returncode
            raise error

    def _spawn(self, home: Path, module: str, *args: str) -> None:
        name = module.partition(".")[0]
        child = _Child(name, [sys.executable, "-m", module, *args], home / "logs" / f"{name}.log")
        child.log.unlink(missing_ok=True)
        self._children.append(child)
        self._launch(child)

    def _launch(self, child: _Child) -> None:
        with child.log.open("ab") as log:
            child.process = subprocess.Popen(  # noqa: S603  # our own modules
                child.command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509  # no threads here
            )
        child.started_at = time.monotonic()

    def _look_after(self) -> None:
        """Start again what ended, later and later; wrong configuration ends everything."""
        for child in self._children:
            process = child.process
            if process is None:
                if time.monotonic() >= child.due_at:
                    self._launch(child)
            elif process.poll() is not None and not self._stopping:
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

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _START_SECONDS
        while not self._stopping and not ready():
            self._look_after()
            if time.monotonic() > end:
                raise UnreachableError(
                    f"{what} did not start within {_START_SECONDS:.0f} s", f"Logs: {self._settings.home / 'logs'}"
                )
            time.sleep(0.1)

    def _end(self) -> None:
        running = [child.process for child in self._children if child.process is not None]
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


def _free_port(address: str, port: int) -> int:
    """The port itself if it is free, or a free one for 0.

    Raises:
        UsageError: the port is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise UsageError(f"port {port} on {address}: {error.strerror}", "Choose another with --port.") from error
        return int(probe.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310  # our own http address
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _die_with_parent() -> None:
    """On Linux: end when the parent ends, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
