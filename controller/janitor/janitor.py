"""The process: looks at the pool's room, and begins a round before the pool reaches its high-water mark.

One janitor of a pool at a time, by a lease in the store; without the store nothing is deleted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import structlog

from controller.janitor import metrics
from controller.janitor.owed import Owed
from controller.janitor.rounds import Need, Round, Rules
from controller.janitor.telling import due_words, event_of
from db import Store
from tierdeck.errors import TierdeckError
from tierdeck.l2.janitor_runs import JanitorRun, Outcome
from tierdeck.l2.pool_file import PoolDirectory, PoolRoom
from tierdeck.l2.room import Look, Pace, pace

log = structlog.get_logger()

LEASE_SECONDS = 60.0
_LEASE_AGAIN_SECONDS = 10.0
_SAVE_SECONDS = 30.0
_WATCHED_SECONDS = 600.0
"""The pace is that of so long."""
_LAG_SECONDS = 20.0
"""From a file's end until its room is there, as long as nothing was seen of it."""
_STEP_SECONDS = 0.2
_EVENT_SECONDS = 3600.0
"""Rounds of one outcome are an event once in this time: a busy pool has hundreds a day."""
_PAUSES = {Outcome.DRY: 900.0, Outcome.REFUSED: 300.0}
"""After a round that made no room, the next one comes so much later at the earliest."""
_TROUBLE_PAUSE_SECONDS = 300.0
_WALKS = 10.0
"""Walks that lead to too little take at most one part in so many of the time."""


@dataclass(frozen=True, slots=True)
class Whose:
    """What the janitor is, and of which pool.

    Attributes:
        holder: this process, unlike any other.
        look_seconds: between two looks at the pool's room.
        sweep_seconds: without need, a round comes so often: orphans go, and identities are counted.
    """

    cluster: str
    pool: str
    holder: str
    look_seconds: float = 10.0
    sweep_seconds: float = 6 * 3600.0

    @property
    def lease(self) -> str:
        return f"janitor/{self.cluster}/{self.pool}"


@dataclass(slots=True)
class _Lasts:
    """When what was done last."""

    looked_at: float = float("-inf")
    leased_until: float = float("-inf")
    saved_at: float = float("-inf")
    told: dict[Outcome, float] = field(default_factory=dict)
    walk_seconds: float = 0.0
    round_at: float | None = None
    again_at: float = float("-inf")


class Janitor:
    """One janitor of one pool. `tick` does what is due, and never waits."""

    def __init__(
        self,
        whose: Whose,
        rules: Rules,
        store: Store,
        directory: PoolDirectory,
        clock: Callable[[], float],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            clock: epoch seconds.
            check: raises a TierdeckError where the directory is not to be touched.
        """
        self._whose = whose
        self._rules = rules
        self._store = store
        self._directory = directory
        self._clock = clock
        self._check = check
        self._looks: deque[Look] = deque()
        self._deleted_bytes = 0
        self._owed = Owed()
        self._round: Round | None = None
        self._lasts = _Lasts()
        self._is_stopping: Callable[[], bool] = lambda: False
        self._trouble = ""
        self._refusal = ""
        metrics.IS_DRY.set(rules.is_dry)

    @property
    def trouble(self) -> str:
        """What keeps it from its work; empty: nothing."""
        return self._trouble or self._refusal

    @property
    def pace(self) -> Pace | None:
        """What is written to the pool; None: it was not watched for long enough."""
        return pace(list(self._looks))

    def tick(self, is_stopping: Callable[[], bool] = lambda: False) -> float:
        """Do what is due; seconds until the next tick. A failure is said, and tried again at the next.

        Args:
            is_stopping: asked while a long walk goes on.
        """
        self._is_stopping = is_stopping
        try:
            return self._tick(self._clock())
        except TierdeckError as error:
            self.fail(error.line())
            return self._whose.look_seconds

    def fail(self, words: str) -> None:
        """Something is wrong with this process: delete no more of this round."""
        self._say(words)
        self._give_up(words)

    def stop(self) -> None:
        """Delete no more, and let another one begin.

        Raises:
            TierdeckError: the store can't be told.
        """
        self._give_up("the janitor was stopped")
        self._store.drop_lease(self._whose.lease, self._whose.holder)

    def _tick(self, now: float) -> float:
        if not self._holds(now):
            self._give_up("another janitor has this pool now")
            return self._whose.look_seconds
        current = self._round
        if current is not None and not current.is_settling:
            before = current.run.deleted_bytes
            current.step(now, self._goes_on)
            self._deleted_bytes += current.run.deleted_bytes - before
            metrics.DELETED_BYTES.inc(current.run.deleted_bytes - before)
            self._keep(now)
        if now >= self._lasts.looked_at + self._whose.look_seconds:
            self._look(now)
        elif current is None or current.is_settling:
            return self._lasts.looked_at + self._whose.look_seconds - now
        return _STEP_SECONDS

    def _look(self, now: float) -> None:
        room = self._directory.room()
        self._lasts.looked_at = now
        metrics.USED_RATIO.set(room.used_ratio)
        if self._round is None:  # while files go, how much was written can't be told from use
            self._remember(now, room)
        self._say("")
        written = self.pace
        busy = written.busy if written is not None else 0.0
        if self._lasts.round_at is None:
            self._recall()
        current = self._round
        if current is not None:
            self._owed.remember(current.run)
        owed = self._owed.at(now, room.used_bytes, lambda at: busy * (now - at))
        need = Need(room, owed, busy * self._lead_seconds())
        is_due = need.is_due(self._rules.marks)
        if current is not None:
            current.settle(room, now, self._written_since(current.run.started_at, now), is_due=is_due)
            self._finish(now)
        if self._round is None and is_due and now >= self._lasts.again_at:
            self._begin(now, need, due_words(room, self._rules.marks.high, written))
        elif self._round is None and now >= (self._lasts.round_at or 0.0) + self._whose.sweep_seconds:
            self._begin(now, need, "a look round, which comes without need")

    def _written_since(self, at: float, now: float) -> float:
        """Bytes, about."""
        written = self.pace
        return written.mean * (now - at) if written is not None else 0.0

    def _lead_seconds(self) -> float:
        """From one look until what a round deletes after the next one has taken effect."""
        return self._whose.look_seconds + 1.5 * self._lasts.walk_seconds + _LAG_SECONDS

    def _remember(self, now: float, room: PoolRoom) -> None:
        self._looks.append(Look(now, room.used_bytes, float(self._deleted_bytes)))
        while self._looks[0].at < now - _WATCHED_SECONDS:
            self._looks.popleft()
        written = self.pace
        if written is not None:
            metrics.PACE.set(written.mean)

    def _recall(self) -> None:
        """The last round, also of a process before this one."""
        known = self._store.janitor_runs(self._whose.cluster, self._whose.pool, limit=1)
        self._lasts.round_at = known[0].started_at if known else float("-inf")
        if known:
            self._owed.remember(known[0])

    def _begin(self, now: float, need: Need, why: str) -> None:
        whose = self._whose
        run = JanitorRun(whose.cluster, whose.pool, whose.holder, now, self._rules.is_dry, why=why)
        self._round = current = Round(run, self._directory, self._rules)
        self._lasts.round_at = now
        try:
            self._check()
            current.walk(need, self._clock, self._goes_on)
        except TierdeckError as error:
            current.run = replace(run, outcome=Outcome.REFUSED, ended_at=self._clock(), words=error.line())
        self._lasts.walk_seconds = current.run.seconds_walking
        metrics.FILES.set(current.run.files)
        metrics.WALK_SECONDS.set(current.run.seconds_walking)
        if current.is_over:
            self._finish(self._clock())
        else:  # a row before the first file goes: a killed process leaves it
            current.run = self._store.save_janitor_run(current.run, at=now)
            log.info("cleaning_began", why=why, files=current.run.chosen_files, bytes=current.run.chosen_bytes)

    def _goes_on(self) -> bool:
        """While it walks and deletes, which may take long: nobody else is to begin as well."""
        return not self._is_stopping() and self._holds(self._clock())

    def _keep(self, now: float) -> None:
        current = self._round
        if current is not None and now >= self._lasts.saved_at + _SAVE_SECONDS:
            self._lasts.saved_at = now
            current.run = self._store.save_janitor_run(current.run, at=now)

    def _give_up(self, why: str) -> None:
        current, now = self._round, self._clock()
        if current is None:
            return
        current.stop(now, why)
        try:
            self._finish(now)
        except TierdeckError as error:
            self._say(error.line())
            self._round = None

    def _finish(self, now: float) -> None:
        """Write a round that is over."""
        current = self._round
        if current is None or not current.is_over:
            return
        run = current.run
        is_told = run.outcome is not Outcome.NOTHING and now >= self._lasts.told.get(run.outcome, 0.0) + _EVENT_SECONDS
        self._store.save_janitor_run(run, [event_of(run)] if is_told else [], at=now)
        if is_told:
            self._lasts.told[run.outcome] = now
        self._round = None
        self._owed.remember(run)
        self._refusal = run.words if run.outcome is Outcome.REFUSED else ""
        self._lasts.again_at = now + self._pause(run, has_trouble=current.has_trouble)
        metrics.ROUNDS.labels(run.outcome.value).inc()
        metrics.DELETED_FILES.inc(run.deleted_files)
        log.info("round_ended", outcome=run.outcome.value, words=run.words)

    def _pause(self, run: JanitorRun, *, has_trouble: bool) -> float:
        """Seconds until the next round at the earliest."""
        if run.outcome is Outcome.CLEANED:
            return 0.0
        walks = max(self._whose.look_seconds, _WALKS * self._lasts.walk_seconds)
        return max(_PAUSES.get(run.outcome, walks), _TROUBLE_PAUSE_SECONDS if has_trouble else 0.0)

    def _holds(self, now: float) -> bool:
        """Whether this pool is this process's; asked of the store now and then, which prolongs it."""
        if now >= self._lasts.leased_until - LEASE_SECONDS + _LEASE_AGAIN_SECONDS:
            is_ours = self._store.hold_lease(self._whose.lease, self._whose.holder, now, LEASE_SECONDS)
            self._lasts.leased_until = now + LEASE_SECONDS if is_ours else float("-inf")
            metrics.HOLDS.set(is_ours)
        return now < self._lasts.leased_until

    def _say(self, trouble: str) -> None:
        """Once in the log, and as trouble for as long as it lasts; empty: there is none."""
        if trouble and trouble != self._trouble:
            log.warning("janitor_held_up", reason=trouble)
        self._trouble = trouble
