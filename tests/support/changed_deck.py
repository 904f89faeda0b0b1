"""A deck whose endpoints can be changed, and the command as a person runs it there."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs
from typer.testing import CliRunner

from console.cli.app import app
from controller.changes.memory import MemoryChanger
from controller.changes.runner import Runner
from db import Store
from health.pulse import Pulse
from tests.support.deployed import configuration, deployed, pool
from tierdeck.deployed import Sighting
from tierdeck.errors import TierdeckError
from tierdeck.fleet import Endpoint
from tierdeck.settings import Settings

EAST = "east"
CHAT, RAG, POOL = "inference/chat", "inference/rag", "curvine/main"

ALLOW = """
namespaces: [inference]
kinds: [Deployment]
limits: {l0_share: 0.95, l1: 64GiB}
"""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended; of a `TierdeckError` the line that `main` prints is the end of `said`."""

    code: int
    out: str
    said: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def change(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["change"]
        return found


def tierdeck(*args: str, typed: str = "") -> Done:
    """Run it in this process."""
    done = CliRunner().invoke(app, list(args), input=typed)
    if isinstance(done.exception, TierdeckError):
        return Done(done.exception.exit_code, done.stdout, f"{done.stderr}tierdeck: {done.exception.line()}")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def fill_changeable(url: str, *, is_controller_alive: bool = True) -> None:
    """Two endpoints whose router is at `roundrobin`, and a controller that lives or never did."""
    now = time.time()
    with Store.open(url, migrate=True) as store:
        names = (CHAT, RAG)
        store.declare(EAST, [Endpoint(EAST, name, (), strategy="roundrobin") for name in names], [], "test", "a test")
        seen = [deployed(name, cluster=EAST, configured=configuration("roundrobin"), owners=()) for name in names]
        seen = [*(replace(one, write_rules=()) for one in seen), pool(POOL, EAST)]
        store.sight(Sighting(EAST, now, tuple(seen)), lambda *_: [])
        if is_controller_alive:
            store.beat("controller", "host-1:42", "0.1.0", now - 60, now)


@contextmanager
def working_controller(url: str, folder: Path, **options: object) -> Iterator[MemoryChanger]:
    """What makes changes, with its heartbeat, on a fleet that exists in memory only."""
    allow = folder / "changes.yaml"
    allow.write_text(ALLOW)
    settings = Settings(**{"cluster": EAST, "changes_file": allow, **options})  # type: ignore[arg-type]
    fleet, stop = MemoryChanger(CHAT, RAG, clock=time.time), threading.Event()
    with Store.open(url) as store, capture_logs():  # a command's output is its own
        runner = Runner(settings, store, fleet, "host-1:42")
        threads = [
            threading.Thread(target=runner.run, args=(stop, Pulse()), daemon=True),
            threading.Thread(target=_beat, args=(store, stop), daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            yield fleet
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def _beat(store: Store, stop: threading.Event) -> None:
    while not stop.is_set():
        store.beat("controller", "host-1:42", "0.1.0", time.time(), time.time())
        stop.wait(2.0)
