"""`tierdeck up`: the processes as children on the embedded store; they end when it ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from console.cli.children import Children
from console.cli.past import DAY_SECONDS, Past
from tierdeck.errors import TierdeckError, UnreachableError, UsageError
from tierdeck.settings import DECK_FILE, Settings

_START_SECONDS = 120.0
_DEMO_SCRAPING = ("5", "4")
"""Interval and timeout in seconds."""
_SHORTEST_SECONDS, _LONGEST_SECONDS = 5.0, 300.0
"""Between two questions to a Prometheus, however often it scrapes."""


@dataclass(frozen=True, slots=True)
class Demo:
    """How the simulated fleet runs.

    Attributes:
        speed: how much faster its time passes.
        history_seconds: how far its past is filled in on the first start; 0: not at all.
    """

    speed: float = 1.0
    history_seconds: float = DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Source:
    """Where a deck has its fleet from.

    Attributes:
        config: a file that lists endpoints and targets.
        demo: the simulated fleet, also with nothing else; not together with anything else.
        is_kubernetes: endpoints are found through the Kubernetes API.
    """

    config: Path | None = None
    demo: Demo | None = None
    is_kubernetes: bool = False

    def others(self, settings: Settings) -> list[str]:
        """What is named beside the simulated fleet."""
        named = {
            "--config": self.config is not None,
            "a Prometheus": bool(settings.prometheus_address),
            "--kubernetes": self.is_kubernetes,
        }
        return [name for name, is_named in named.items() if is_named]


class Deck:
    """Everything that `tierdeck up` runs."""

    def __init__(self, settings: Settings, source: Source, *, port: int | None) -> None:
        """
        Raises:
            UsageError: sources that don't go together.
        """
        others = source.others(settings)
        if source.demo is not None and others:
            about = "--demo, --speed and --history are about the simulated fleet"
            raise UsageError(f"{about}: not together with {others[0]}")
        if source.is_kubernetes and settings.prometheus_address:
            raise UsageError(
                "--kubernetes and a Prometheus would find each endpoint twice", "Take one of them (docs/install.md)."
            )
        self._settings = settings
        self._config = source.config or (settings.config_file if source.demo is None else None)
        self._is_kubernetes = source.is_kubernetes
        self._demo = source.demo or (None if others or self._config is not None else Demo())
        self._interval_seconds: float | None = None
        self._port = settings.console_port if port is None else port
        self._stopping = False
        self._lab_port = 0

    def run(self) -> int:
        """Run until SIGTERM or Ctrl-C.

        Raises:
            UsageError: the configuration can't be used; nothing was started.

        Returns:
            The exit code.
        """
        if self._config is not None:  # before anything is made or started
            _run_once(os.environ | {"TIERDECK_CONFIG_FILE": str(self._config.absolute())}, "collectors", "check")
        if self._is_kubernetes:
            context = {"TIERDECK_KUBE_CONTEXT": self._settings.kube_context}
            _tell(_run_once(os.environ | context, "controller", "inventory", "--brief").strip())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        with self._home() as home:
            self._port = free_port(self._settings.console_address, self._port)
            if self._demo is not None:
                self._lab_port = free_port("127.0.0.1", 0)
            if self._settings.prometheus_address:
                self._look_at_prometheus(home)
            children = Children(home / "logs", os.environ | self._environment(home))
            try:
                past = self._start(home, children)
                while not self._stopping:
                    children.look_after()
                    _tell(past.go_on() if past is not None else "")
                    time.sleep(0.2)
            finally:
                children.end()
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

    def _environment(self, home: Path) -> dict[str, str]:
        """What the processes are told."""
        told = self._scraping() | {
            "TIERDECK_HOME": str(home),
            "TIERDECK_CONSOLE_PORT": str(self._port),
            "TIERDECK_CONSOLE_ADDRESS": self._settings.console_address,
        }
        told |= self._lab()
        config = home / "demo.yaml" if self._demo is not None else self._config
        if config is not None:
            told["TIERDECK_CONFIG_FILE"] = str(config.absolute())
        if self._settings.kube_context and self._demo is None:
            told["TIERDECK_KUBE_CONTEXT"] = self._settings.kube_context
        if self._settings.prometheus_address:
            told["TIERDECK_PROMETHEUS_URL"] = self._settings.prometheus_url.get_secret_value()
        return told

    def _lab(self) -> dict[str, str]:
        """Where the demo's fleet is changed."""
        return {"TIERDECK_LAB_URL": f"http://127.0.0.1:{self._lab_port}"} if self._demo is not None else {}

    def _scraping(self) -> dict[str, str]:
        """How often targets are scraped, unless the user says how often: a demo's more often than others'.

        A Prometheus is asked as often as it scrapes.
        """
        names = ("TIERDECK_SCRAPE_INTERVAL_SECONDS", "TIERDECK_SCRAPE_TIMEOUT_SECONDS")
        is_said = any(name in os.environ for name in names)
        if self._demo is not None and not is_said:
            return dict(zip(names, _DEMO_SCRAPING, strict=True))
        if self._interval_seconds is not None and not is_said:
            interval = min(max(self._interval_seconds, _SHORTEST_SECONDS), _LONGEST_SECONDS)
            return dict(zip(names, (f"{interval:g}", f"{min(10.0, interval - 1):g}"), strict=True))
        values = (self._settings.scrape_interval_seconds, self._settings.scrape_timeout_seconds)
        return {name: f"{value:g}" for name, value in zip(names, values, strict=True)}

    def _start(self, home: Path, children: Children) -> Past | None:
        """Start everything; the past of a demo is what is left to do."""
        environment = os.environ | self._environment(home)
        kept = self._scraping() | self._lab()
        (home / DECK_FILE).write_text("".join(f"{name}={value}\n" for name, value in kept.items()))
        _run_once(environment, "db", "upgrade")
        source = self._settings.prometheus_address or ("Kubernetes" if self._is_kubernetes else str(self._config))
        if self._demo is not None:
            config, lab_port = home / "demo.yaml", self._lab_port
            config.unlink(missing_ok=True)
            told = ("--speed", f"{self._demo.speed:g}", "--warm", "--port", str(lab_port), "--config-out", str(config))
            children.spawn("lab", "sim", *told)
            self._wait(children, config.exists, "the simulated fleet")
            source = "a simulated fleet"
        children.spawn("collectors")
        if self._is_kubernetes or self._demo is not None:
            children.spawn("controller")
        children.spawn("alerting")
        children.spawn("console.web")
        address = f"http://{self._settings.console_address}:{self._port}"
        self._wait(children, lambda: _answers(f"{address}/healthz"), "the console")
        if self._stopping:
            return None
        _tell(f"Tierdeck is up on {source}: {address}")
        if self._demo is None:
            return None
        _tell(f"To change or break the fleet: http://127.0.0.1:{lab_port}/admin (docs/lab.md)")
        return Past(self._settings, children, self._demo.history_seconds)

    def _look_at_prometheus(self, home: Path) -> None:
        """Tell what it has, and learn how often it scrapes.

        Raises:
            TierdeckError: it has nothing of ours, or does not answer as it should.
        """
        found = json.loads(_run_once(os.environ | self._environment(home), "collectors", "discover", "--json"))
        _tell(found["told"])
        self._interval_seconds = found["interval_seconds"]

    def _wait(self, children: Children, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _START_SECONDS
        while not self._stopping and not ready():
            children.look_after()
            if time.monotonic() > end:
                raise UnreachableError(
                    f"{what} did not start within {_START_SECONDS:.0f} s", f"Logs: {self._settings.home / 'logs'}"
                )
            time.sleep(0.1)


def _run_once(environment: Mapping[str, str], module: str, *args: str) -> str:
    """What a module's own command prints.

    Raises:
        TierdeckError: what that command said, with its exit code.
    """
    done = subprocess.run(  # noqa: S603  # our own module
        [sys.executable, "-m", module, *args],
        check=False,
        env=environment,
        capture_output=True,
    )
    if done.returncode:
        lines = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        error = TierdeckError(lines[-1].removeprefix("tierdeck: ") if lines else f"{module} {args[0]} failed")
        error.exit_code = done.returncode
        raise error
    return done.stdout.decode("utf-8", errors="replace")


def _tell(line: str) -> None:
    if line:
        print(line, flush=True)


def free_port(address: str, port: int) -> int:
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
