"""Our own processes as children of a test: started on free ports, waited for on conditions, always ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

PATIENCE_SECONDS = 240.0


@contextlib.contextmanager
def running(module: str, *args: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m module args` with its output in `log`; killed at the end if it still runs."""
    with running_program([sys.executable, "-m", module, *args], log, {**os.environ, **environment}) as process:
        yield process


@contextlib.contextmanager
def running_program(
    command: Sequence[str], log: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Any program likewise; `environment` is all that it has."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def end_with_us() -> None:
    """For `preexec_fn`: on Linux the child is told to end when the test run ends, even when that is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def wait_until(ready: Callable[[], bool], what: str, log: Path | None = None) -> None:
    """Poll a condition; fails with the log's end when it does not come true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not ready():
        if time.monotonic() > end:
            words = log.read_text("utf-8", errors="replace")[-2000:] if log is not None and log.exists() else ""
            raise AssertionError(f"waited {PATIENCE_SECONDS:.0f} s for {what}\n{words}")
        time.sleep(0.1)
