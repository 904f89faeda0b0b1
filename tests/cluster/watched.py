"""The controller as a process on a real cluster, and what it has written to its store."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from types import TracebackType
from typing import Self

from db import Store
from tests.support.processes import running, wait_until
from tierdeck.deployed import Deployed
from tierdeck.events import EventKind

CLUSTER = "test"
Told = tuple[str, str, str]
"""Endpoint, replica and words of an event."""


class Watched:
    """A controller that can be killed and started again on the same store."""

    def __init__(self, folder: Path, kubeconfig: Path, **environment: str) -> None:
        self.log = folder / "controller.log"
        self._stack = ExitStack()
        self._process: Popen[bytes] | None = None
        url = f"sqlite:///{folder / 'deck.db'}"
        self._environment = {
            "TIERDECK_HOME": str(folder),
            "TIERDECK_DATABASE_URL": url,
            "TIERDECK_CLUSTER": CLUSTER,
            "TIERDECK_KUBECONFIG": str(kubeconfig),
            **environment,
        }
        self.store = self._stack.enter_context(Store.open(url, migrate=True))

    def start(self) -> None:
        """Returns once it has looked at the cluster."""
        began = time.time()
        command = running("controller", log=self.log, **self._environment)
        self._process = self._stack.enter_context(command)
        self.until(lambda: any(one.at > began for one in self.store.sighted(CLUSTER)), "the first look")

    def kill(self) -> None:
        """As a node's power cut does it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def cpu_seconds(self) -> float:
        """CPU time of the process so far. Source: proc(5), fields 14 and 15 of /proc/PID/stat."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self) -> float:
        """Its resident memory."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        (line,) = [one for one in status.splitlines() if one.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024

    def until(self, ready: Callable[[], bool], what: str) -> None:
        wait_until(ready, what, self.log)

    def endpoints(self) -> dict[str, Deployed]:
        """By name."""
        return {one.endpoint: one for one in self.store.deployed(CLUSTER) if not one.is_pool}

    def pools(self) -> dict[str, Deployed]:
        return {one.name: one for one in self.store.deployed(CLUSTER) if one.is_pool}

    def events(self, *kinds: EventKind, endpoint: str | None = None) -> list[Told]:
        """The oldest first."""
        frame = self.store.events(0, time.time() + 60, CLUSTER, endpoint, kinds=kinds or None)
        rows = frame.iloc[::-1].to_dict("records")
        return [(row["endpoint"], row["replica"], row["words"]) for row in rows]

    def wait_for(self, kind: EventKind, count: int = 1, endpoint: str | None = None) -> list[Told]:
        """Events of a kind, as soon as there are so many."""
        self.until(lambda: len(self.events(kind, endpoint=endpoint)) >= count, f"{count} x {kind}")
        return self.events(kind, endpoint=endpoint)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
