"""Processes that can't begin say why in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(module: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, told = [sys.executable, "-m", module], os.environ | environment
    return subprocess.run(command, env=told, capture_output=True, text=True, timeout=60, check=False)


def test_alerting_refuses_what_it_cant_use_in_one_line(tmp_path: Path) -> None:
    answer = run("alerting", TIERDECK_HOME=str(tmp_path), TIERDECK_ALERTS_FILE=str(tmp_path / "none.yaml"))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "none.yaml: No such file or directory" in answer.stderr
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
