"""One program of a control plane as a child of a test: started, held, stopped, and quoted when it fails."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
from pathlib import Path

from tests.support.processes import end_with_us

_END_SECONDS = 3.0  # an API server would wait a minute for its watches
_WORDS = 3000


class Program:
    """A program with its log; it may be started again after it was stopped."""

    def __init__(self, name: str, command: list[str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._command = command
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; who needs it waits for what it does."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=end_with_us,  # noqa: PLW1509 it calls into the C library only
            )

    def stop(self) -> None:
        """End it, also while it is held."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hold(self) -> None:
        """Stop it in its tracks: its port takes connections, and nobody answers."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """End a hold."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def check(self) -> None:
        """Fail with the log's end if it ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise AssertionError(f"{self.name} ended with code {self._process.returncode}\n{self.words()}")

    def words(self) -> str:
        """The end of its log."""
        text = self.log.read_text("utf-8", errors="replace") if self.log.exists() else ""
        return f"--- end of {self.log.name}\n{text[-_WORDS:]}"


def free_port() -> int:
    """A port that nobody has, from below those that outgoing connections get: it is still free after a restart."""
    for _ in range(200):
        port = random.randint(20000, 32000)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port between 20000 and 32000")
