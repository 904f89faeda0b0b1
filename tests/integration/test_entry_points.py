"""Processes that this version has nothing for say so, and end well."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["controller", "alerting"])
def test_a_process_without_work_says_so_in_one_line(module: str) -> None:
    answer = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0
    assert answer.stdout == ""
    assert answer.stderr.startswith(f"{module}: nothing to do yet")
    assert len(answer.stderr.splitlines()) == 1
