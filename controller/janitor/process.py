"""The janitor as a process, and as one dry look at a directory."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import structlog

from controller.janitor.directory import MountedDirectory
from controller.janitor.janitor import Janitor, Whose
from controller.janitor.mounts import check_mount
from controller.janitor.rounds import Need, Round, Rules
from controller.janitor.throttle import Rates
from db import Store
from health.pulse import HUNG_SECONDS, Pulse
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.l2.cleaning import CleaningLimits, Marks
from tierdeck.l2.janitor_runs import JanitorRun
from tierdeck.settings import Settings

log = structlog.get_logger()

NAME = "janitor"
_BEAT_SECONDS = 10.0
_ANSWER_SECONDS = 60.0
"""A call that takes so long is told in the header."""


def rules_of(settings: Settings) -> Rules:
    """
    Raises:
        UsageError: shares that are none.
    """
    return Rules(
        Marks(settings.janitor_high_ratio, settings.janitor_low_ratio),
        CleaningLimits(
            settings.janitor_grace_seconds,
            settings.janitor_temporary_seconds,
            settings.janitor_files_per_round,
            shares_of(settings.janitor_shares),
        ),
        Rates(settings.janitor_files_per_second, settings.janitor_bytes_per_second),
        is_dry=not settings.janitor_delete,
    )


def pool_of(settings: Settings) -> tuple[Path, Rules]:
    """What is to be cleaned, and how.

    Raises:
        UsageError: no path, or settings that can't be used.
    """
    if settings.janitor_path is None:
        raise UsageError("the janitor has no pool to clean", "Set TIERDECK_JANITOR_PATH to where it is mounted.")
    return settings.janitor_path, rules_of(settings)


def shares_of(text: str) -> dict[str, float]:
    """`a=0.5, b=0.3` by identity.

    Raises:
        UsageError: another form, or no share.
    """
    found: dict[str, float] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        identity, _, number = part.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = 0.0
        if not identity or not 0 < share <= 1:
            raise UsageError(f"TIERDECK_JANITOR_SHARES: {part!r} is no share", "Write it like qwen-7b=0.5,llama=0.3.")
        found[identity.strip("/ ")] = share
    if sum(found.values()) > 1 + 1e-9:
        raise UsageError("TIERDECK_JANITOR_SHARES add up to more than the whole pool", "Shares are of its capacity.")
    return found


def kinds_of(settings: Settings) -> frozenset[str]:
    """File systems that may be cleaned."""
    return frozenset(filter(None, (name.strip() for name in settings.janitor_filesystems.split(","))))


class Process:
    """One janitor of one pool, until it is told to stop."""

    def __init__(self, settings: Settings, store: Store, pulse: Pulse, stop: threading.Event) -> None:
        """
        Raises:
            UsageError: no path, or settings that can't be used.
        """
        (path, rules), kinds = pool_of(settings), kinds_of(settings)
        self._store = store
        self._pulse = pulse
        self._stop = stop
        self._instance = f"{socket.gethostname()}:{os.getpid()}"
        self._started_at = time.time()
        self.asked_at: float | None = None
        """Monotonic seconds when the pool or the store was asked for something last; None: nothing is under way."""
        whose = Whose(
            settings.cluster,
            settings.janitor_pool,
            f"{self._instance}:{uuid4().hex[:8]}",  # two containers may share both name and number
            settings.janitor_look_seconds,
            settings.janitor_sweep_seconds,
        )
        directory = MountedDirectory(path, settings.janitor_capacity_bytes)
        self._janitor = Janitor(whose, rules, store, directory, self._clock, lambda: check_mount(path, kinds))

    def run(self) -> None:
        """Clean until told to stop; then sign off."""
        beats = threading.Thread(target=self._beats, name="beat", daemon=True)
        beats.start()
        while not self._stop.is_set():
            self._stop.wait(self._tick())
        with contextlib.suppress(TierdeckError):
            self._janitor.stop()
        beats.join(timeout=1.0)
        with contextlib.suppress(TierdeckError):
            self._store.sign_off(NAME, self._instance, time.time())

    def _clock(self) -> float:
        """Asked again and again while a walk goes on, so that a pool that hangs shows in `/healthz`."""
        self._pulse.beat(NAME)
        if self.asked_at is not None:
            self.asked_at = time.monotonic()
        return time.time()

    def _tick(self) -> float:
        self.asked_at = time.monotonic()
        try:
            return self._janitor.tick(is_stopping=self._stop.is_set)
        except Exception as error:  # one odd file must not end the loop: told as trouble, and nothing goes meanwhile
            log.exception("janitor_failed")
            try:
                self._janitor.fail(f"a fault of Tierdeck's own, nothing is deleted: {error!r}")
            except Exception:  # what could not be written then can't be now
                log.exception("janitor_could_not_tell")
            return _BEAT_SECONDS
        finally:
            self.asked_at = None
            self.tell_unread(self._janitor.unread_seconds, self._janitor.trouble)

    def tell_unread(self, seconds: float, trouble: str) -> None:
        """A pool that could not be read for minutes fails the health check: a fresh container mounts it anew."""
        self._pulse.tell(NAME, trouble if seconds >= HUNG_SECONDS else "")

    def trouble(self, clock: Callable[[], float] = time.monotonic) -> str:
        """The janitor's, or that a call does not come back."""
        asked_at = self.asked_at
        waited = 0.0 if asked_at is None else clock() - asked_at
        return f"the pool has not answered for {waited:.0f} s" if waited >= _ANSWER_SECONDS else self._janitor.trouble

    def _beats(self) -> None:
        while not self._stop.is_set():
            self._pulse.beat("heartbeat")
            now, trouble = time.time(), self.trouble()
            try:
                self._store.beat(NAME, self._instance, version("tierdeck"), self._started_at, now, trouble=trouble)
            except TierdeckError as error:
                log.warning("beat_failed", reason=error.line())
            except Exception:  # a thread that ends here would show a live janitor as dead
                log.exception("beat_failed")
            self._stop.wait(_BEAT_SECONDS)


def look(path: Path, settings: Settings) -> tuple[JanitorRun, str]:
    """What would go from a directory, without a store; and why a janitor would not touch it, empty: it would.

    Raises:
        TierdeckError: it can't be read.
    """
    rules = rules_of(settings.model_copy(update={"janitor_delete": False}))
    refusal = ""
    try:
        check_mount(path, kinds_of(settings))
    except UsageError as error:
        refusal = error.line()
    if not path.is_dir():
        raise UsageError(f"there is no directory {path}")
    directory = MountedDirectory(path, settings.janitor_capacity_bytes)
    run = JanitorRun(settings.cluster, str(path), "", time.time(), is_dry=True, why="asked for")
    one = Round(run, directory, rules)
    one.walk(time.time, lambda: True)
    one.plan(Need(directory.room()), time.time())
    return one.run, refusal
