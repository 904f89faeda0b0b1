"""Children of the tests do not outlive them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.support.processes import wait_until


def test_a_child_ends_when_the_test_run_is_killed() -> None:
    program = """
import subprocess, time
from tests.support.processes import end_with_us
print(subprocess.Popen(["sleep", "600"], preexec_fn=end_with_us).pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        child = Path("/proc", run.stdout.readline().decode().strip())
        assert child.exists()
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: _ended(child), "the child's end")


def _ended(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
