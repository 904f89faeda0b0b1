"""`python -m lab real` as a child of the test run: started, asked, ended, and seen to leave nothing behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.processes import end_with_us

START_SECONDS = 1800.0
"""Building the environment and starting everything, on two cores that do other things too."""
STOP_SECONDS = 120.0
PREFIX_TOKENS, TAIL_TOKENS = 512, 40
_VOCABULARY = range(300, 2000)


@dataclass(frozen=True, slots=True)
class Usage:
    """What an engine says of one request, in tokens."""

    prompt: int
    cached: int


@dataclass(frozen=True, slots=True)
class LiveFleet:
    """The running fleet as seen through its own API."""

    admin: str
    config: Path

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = _request(self.admin)
        return found

    def switch(self, strategy: str) -> None:
        _request(self.admin + "/strategy", {"strategy": strategy})

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """Of vLLM and LMCache, by replica."""
        return {replica["name"]: replica["versions"] for replica in self._replicas()}

    @property
    def targets(self) -> dict[str, dict[str, str]]:
        """Metrics addresses by replica and kind, from the deck's configuration file."""
        return {replica["name"]: replica["targets"] for replica in self._replicas()}

    def _replicas(self) -> list[dict[str, Any]]:
        endpoints = yaml.safe_load(self.config.read_text())["endpoints"]
        found: list[dict[str, Any]] = endpoints[0]["replicas"]
        return found

    def counter(self, replica: str, name: str) -> float:
        """A counter of a replica's engine, summed over its series."""
        lines = text_of(self.targets[replica]["vllm"]).splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + "{"))

    def ask(self, replica: str, prompt: Sequence[int] | str, **headers: str) -> Usage:
        """One completion of one token from a replica, or from the router."""
        state = self.state()
        base = state["router"] if replica == "router" else state["replicas"][replica]["engine"]
        body = {"model": state["model"], "prompt": prompt, "max_tokens": 1, "temperature": 0}
        usage = _request(base + "/v1/completions", body, headers)["usage"]
        return Usage(usage["prompt_tokens"], (usage["prompt_tokens_details"] or {}).get("cached_tokens") or 0)


def prefixes(count: int, seed: int) -> list[list[int]]:
    """Prefixes of 512 tokens that nothing else in the run begins with."""
    dice = random.Random(seed)
    return [dice.choices(_VOCABULARY, k=PREFIX_TOKENS) for _ in range(count)]


def with_tail(prefix: Sequence[int]) -> list[int]:
    """The prefix and 40 tokens that were never seen."""
    return [*prefix, *random.SystemRandom().choices(_VOCABULARY, k=TAIL_TOKENS)]


def text_of(url: str) -> str:
    """A body as scraped."""
    with urllib.request.urlopen(url, timeout=60) as response:
        body: bytes = response.read()
    return body.decode()


@contextmanager
def running_fleet(folder: Path) -> Iterator[LiveFleet]:
    """The fleet with all its processes; when it ends none of them may be left."""
    config, log = folder / "deck.yaml", folder / "log.txt"
    options = ["--embedded", "--config-out", str(config), "--folder", str(folder / "fleet")]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab", "real", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            preexec_fn=end_with_us,  # noqa: PLW1509  # no thread of ours runs by then
        )
    groups: set[int] = set()
    before = _shared_memory()
    try:
        fleet = LiveFleet(_address(process, log), config)
        groups = {one["pid"] for one in fleet.state()["processes"].values()}
        yield fleet
        groups |= {one["pid"] for one in fleet.state()["processes"].values()}
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        process.kill()
        process.communicate()
    assert process.returncode == 0, log.read_text()[-2000:]
    assert not [group for group in groups if _alive(group)]
    assert not _shared_memory() - before


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """What it prints first; by then everything is ready."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if line := process.stdout.readline():
            return line.decode().strip()
        time.sleep(0.5)
    raise AssertionError(f"the fleet did not start\n{log.read_text()[-3000:]}")


def _shared_memory() -> set[str]:
    """What vLLM and LMCache make there."""
    return {path.name for path in Path("/dev/shm").iterdir() if path.name.startswith(("psm_", "lmcache_"))}


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _request(url: str, body: object = None, headers: dict[str, str] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.load(response)
