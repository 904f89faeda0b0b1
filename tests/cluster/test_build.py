"""The control plane is built once, and whoever can't have it is told why. The Go of these tests is a fake."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.build import PROGRAMS, built, found
from tests.cluster.go_program import CannotBuildError

_GO = """#!/bin/sh
case "$1" in
env) echo {version} ;;
mod) echo mod >>{calls}; test "$(grep -c mod {calls})" -gt {failures} ;;
build) echo build >>{calls}; while [ $# -gt 1 ]; do shift; done; echo binary >"$1" ;;
esac
"""


class Machine:
    """A machine with nothing but a fake Go and what a shell script needs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._calls = folder / "calls"
        self._monkeypatch = monkeypatch
        monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        self.see()

    def see(self, *folders: Path) -> None:
        """Put these on the PATH, before the system's tools."""
        self._monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"]))

    def go(self, version: str, failures: int = 0) -> Path:
        """A folder with this Go, whose first downloads fail."""
        place = self.folder / version
        place.mkdir()
        script = place / "go"
        script.write_text(_GO.format(version=version, calls=self._calls, failures=failures), "utf-8")
        script.chmod(0o755)
        return place

    def calls(self) -> list[str]:
        """What Go was asked to do."""
        return self._calls.read_text("utf-8").split()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_two_callers_build_it_once_and_a_third_finds_it(machine: Machine) -> None:
    machine.see(machine.go("go1.99.0"))
    assert found() is None
    with ThreadPoolExecutor(2) as two:
        first, second = two.map(lambda _: built(), range(2))
    assert first == second == found() == built()
    assert first.place.read_text("utf-8") == "binary\n"
    assert first.command("etcd") == [str(first.place), "etcd"]
    assert machine.calls() == ["mod", "build"]


def test_a_download_that_fails_is_tried_three_times(machine: Machine) -> None:
    machine.see(machine.go("go1.99.0", failures=2))
    built(pause_seconds=0.0)
    assert machine.calls() == ["mod", "mod", "mod", "build"]
    machine.see(machine.go("go1.99.1", failures=99))
    with pytest.raises(CannotBuildError, match=r"go mod failed 3 times: is Go's module proxy reachable"):
        built(pause_seconds=0.0)
    assert found() is None


def test_a_newer_go_behind_an_old_one_is_taken(machine: Machine) -> None:
    machine.see(machine.go("go1.19.8"), machine.go("go1.99.0"))
    assert found() is None


def test_a_go_that_is_too_old_is_named(machine: Machine) -> None:
    machine.see(machine.go("go1.19.8"))
    with pytest.raises(CannotBuildError, match=r"built by Go 1\.26 or newer, and on the PATH is go1\.19\.8"):
        found()


def test_programs_that_are_there_already_need_no_go(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = machine.folder / "assets"
    assets.mkdir()
    for name in PROGRAMS[:2]:
        (assets / name).touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    with pytest.raises(CannotBuildError, match="has no program kube-controller-manager and no kube-scheduler"):
        built()
    for name in PROGRAMS[2:]:
        (assets / name).touch(mode=0o755)
    assert built().command("etcd") == [str(assets / "etcd")]
