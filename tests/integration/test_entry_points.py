"""Processes that have nothing to do, or nothing to do it with, say so in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(module: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, told = [sys.executable, "-m", module], os.environ | environment
    return subprocess.run(command, env=told, capture_output=True, text=True, timeout=60, check=False)


def test_a_process_without_work_says_so_in_one_line() -> None:
    answer = run("alerting")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr.startswith("alerting: nothing to do yet")
    assert len(answer.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, "the kubeconfig can't be used: "),
        ({"TIERDECK_KUBECONFIG": "no-such-file"}, "there is no kubeconfig no-such-file"),
    ],
)
def test_a_controller_without_a_cluster_says_what_to_set(tmp_path: Path, told: dict[str, str], words: str) -> None:
    nowhere = {"HOME": str(tmp_path), "KUBECONFIG": "", "TIERDECK_HOME": str(tmp_path)}
    answer = run("controller", **nowhere, **told)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"tierdeck: {words}")
    assert "Set TIERDECK_KUBECONFIG" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
