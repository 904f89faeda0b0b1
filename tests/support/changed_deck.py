"""A deck whose endpoints can be changed, and the command as a person runs it there."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from console.cli.app import app
from db import Store
from tests.support.deployed import configuration, deployed
from tierdeck.deployed import Sighting
from tierdeck.errors import TierdeckError
from tierdeck.fleet import Endpoint

EAST = "east"
CHAT, RAG = "inference/chat", "inference/rag"


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
        store.sight(Sighting(EAST, now, tuple(seen)), lambda *_: [])
        if is_controller_alive:
            store.beat("controller", "host-1:42", "0.1.0", now - 60, now)
