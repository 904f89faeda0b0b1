"""A store, a clock that stands still, and a fleet in memory: all that a runner of changes needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from controller.changes.memory import MemoryChanger
from controller.changes.runner import Runner
from controller.changes.seam import NoSeam, Seam
from db import Store
from tests.support.any_changes import CHANGE, CHAT
from tests.support.rounds import T0
from tierdeck.changes.change import Change, Step
from tierdeck.settings import Settings

ALLOW = """
namespaces: [inference]
kinds: [Deployment]
limits: {l0_share: 0.95, l1: 64GiB, l2: 1TiB}
"""


@dataclass
class Clock:
    """Epoch seconds that pass only as they are told to."""

    now: float = T0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bench:
    """One cluster `east` with the endpoint `inference/chat`."""

    store: Store
    folder: Path
    options: dict[str, object] = field(default_factory=dict)
    seam: Seam = field(default_factory=NoSeam)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.allow = self.folder / "changes.yaml"
        self.allow.write_text(ALLOW)
        self.fleet = MemoryChanger(CHAT, "inference/code", clock=self.clock, seam=self.seam)
        self.runner = self.started("a")

    @property
    def settings(self) -> Settings:
        return Settings(**{"cluster": "east", "changes_file": self.allow, **self.options})  # type: ignore[arg-type]

    def started(self, holder: str) -> Runner:
        """A fresh runner, as of a process that has just begun."""
        return Runner(self.settings, self.store, self.fleet, holder, seam=self.seam, clock=self.clock)

    def propose(self, change: Change = CHANGE) -> Change:
        return self.store.propose(change)

    def work(self, runner: Runner | None = None) -> None:
        """All that is due now."""
        while (runner or self.runner).step():
            pass

    def until(self, number: int, is_so: Callable[[Change], bool], runner: Runner | None = None) -> Change:
        """Work and let time pass, a second at a time in the beginning, until the change is so."""
        for index in range(300):
            self.work(runner)
            found = self.now(number)
            if is_so(found):
                return found
            self.clock.now += 1 if index < 120 else 30
        raise AssertionError(f"it never was: {self.now(number)}")

    def now(self, number: int) -> Change:
        found = self.store.change(number)
        assert found is not None
        return found

    def steps(self, number: int) -> list[Step]:
        return self.store.change_steps(number)

    def made(self, change: Change = CHANGE) -> Change:
        """Proposed, approved by bob, and at its end."""
        proposed = self.propose(change)
        self.work()
        self.store.approve_change(proposed.id, "bob", self.clock.now)
        return self.until(proposed.id, lambda one: one.state.is_over)
