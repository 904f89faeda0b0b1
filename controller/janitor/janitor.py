"""The process: looks at the pool's room, and begins a round before the pool reaches its high-water mark.

One janitor of a pool at a time, by a lease in the store; without the store nothing is deleted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import structlog

from controller.janitor import metrics
from controller.janitor.leases import LEASE_SECONDS, Leases
from controller.janitor.owed import Owed
from controller.janitor.rounds import Need, Round, Rules
from controller.janitor.telling import behind_words, due_words, event_of, futile_words
from db import Store
from tierdeck.errors import TierdeckError, UnreachableError
from tierdeck.l2.janitor_runs import JanitorRun, Outcome
from tierdeck.l2.pool_file import PoolDirectory, PoolRoom
from tierdeck.l2.room import Look, Pace, pace

log = structlog.get_logger()

__all__ = ["LEASE_SECONDS", "Janitor", "Whose"]

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
_AVOIDED_SECONDS = 3600.0
"""What could not be deleted is not tried again for so long."""
_MOST_AVOIDED = 10_000
_RECOUNT_SECONDS = 60.0
"""Between walks that only look for what is owed, at first; each that finds nothing doubles it."""
_MOST_RECOUNT_SECONDS = 900.0
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
    saved_at: float = float("-inf")
    told: dict[Outcome, float] = field(default_factory=dict)
    walk_seconds: float = 0.0
    round_at: float | None = None
    again_at: float = float("-inf")
    recount_at: float = float("-inf")
    recount_seconds: float = _RECOUNT_SECONDS
    avoided_until: float = float("-inf")
    read_failed_at: float | None = None


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
        self._owed = Owed()
        self._round: Round | None = None
        self._lasts = _Lasts()
        self._is_stopping: Callable[[], bool] = lambda: False
        self._trouble = ""
        self._refusal = ""
        self._blocked = ""
        self._undeleted = ""
        self._avoided: set[str] = set()
        self._leases = Leases(store, whose.holder, whose.lease)
        metrics.IS_DRY.set(rules.is_dry)

    @property
    def trouble(self) -> str:
        """What keeps it from its work; empty: nothing."""
        return self._trouble or self._blocked or self._refusal or self._undeleted

    @property
    def unread_seconds(self) -> float:
        """For how long the pool could not be read; 0: it was, the last time."""
        failed_at = self._lasts.read_failed_at
        return 0.0 if failed_at is None else self._clock() - failed_at

    @property
    def owed_bytes(self) -> float:
        """What it deleted, and is not known to be free."""
        return self._owed.size_bytes

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
        self._leases.drop()

    def _tick(self, now: float) -> float:
        if not self._leases.hold(now):
            self._lose()
            return self._whose.look_seconds
        current = self._round
        if current is not None and not current.is_settling:
            before = current.run.deleted_bytes
            try:
                current.step(now, self._goes_on)
            finally:
                self._owed.deleted(now, current.run.deleted_bytes - before)
            metrics.DELETED_BYTES.inc(current.run.deleted_bytes - before)
            self._keep(now)
        if now >= self._lasts.looked_at + self._whose.look_seconds:
            self._look(now)
        elif current is None or current.is_settling:
            return self._lasts.looked_at + self._whose.look_seconds - now
        return _STEP_SECONDS

    def _look(self, now: float) -> None:
        self._lasts.looked_at = now
        if not self._may_touch(now):
            return
        room = self._read()
        if self._lasts.round_at is None:
            self._recall(now)
        self._owed.looked(now, room.used_bytes)
        metrics.USED_RATIO.set(room.used_ratio)
        if self._round is None:  # while files go, how much was written can't be told from use
            self._remember(now)
        need = self._need(room)
        is_due, may_be_due = need.is_due(self._rules.marks), Need(room, 0.0, need.ahead_bytes).is_due(self._rules.marks)
        current = self._round
        is_behind = current is not None and current.is_behind(need)
        self._say(behind_words() if is_behind else futile_words(need.owed_bytes) if self._owed.is_futile else "")
        if current is not None:
            current.settle(need, now, self._written_since(current.run.started_at, now), is_due=is_due)
            self._finish(now)
        if self._round is not None or now < self._lasts.again_at:
            return
        if is_due or (may_be_due and now >= self._lasts.recount_at):
            self._begin(now, due_words(room, self._rules.marks.high, self.pace))
        elif now >= (self._lasts.round_at or 0.0) + self._whose.sweep_seconds:
            self._begin(now, "a look round, which comes without need")

    def _may_touch(self, now: float) -> bool:
        """Whether the directory is the one that is to be cleaned, and nobody else cleans it under another name."""
        try:
            self._check()
            place = self._directory.place()
        except UnreachableError:
            self._unread(now)
            raise
        except TierdeckError as error:
            self._block(now, error.line())
            return False
        self._blocked = ""
        self._leases.put(place)
        if self._leases.hold(now):
            return True
        self._lose()
        return False

    def _block(self, now: float, words: str) -> None:
        """Nothing is touched until the check passes again; a row when it begins."""
        self._give_up(words)
        self._say("")
        metrics.USED_RATIO.set(float("nan"))
        if words != self._blocked:
            self._blocked = words
            run = JanitorRun(self._whose.cluster, self._whose.pool, self._whose.holder, now, self._rules.is_dry)
            run = replace(run, outcome=Outcome.REFUSED, ended_at=now, words=words)
            self._store.save_janitor_run(run, [event_of(run)], at=now)
            metrics.ROUNDS.labels(run.outcome.value).inc()

    def _read(self) -> PoolRoom:
        try:
            room = self._directory.room()
        except UnreachableError:
            self._unread(self._clock())
            raise
        self._lasts.read_failed_at = None
        return room

    def _unread(self, now: float) -> None:
        if self._lasts.read_failed_at is None:
            self._lasts.read_failed_at = now
        metrics.USED_RATIO.set(float("nan"))

    def _need(self, room: PoolRoom) -> Need:
        """No more is reckoned with for half a minute than was surely written in the last ten."""
        written = self.pace
        if written is None:
            return Need(room, self._owed.size_bytes)
        most = self._looks[-1].used_bytes - self._looks[0].used_bytes
        return Need(room, self._owed.size_bytes, min(most, written.busy * self._lead_seconds()))

    def _written_since(self, at: float, now: float) -> float:
        """Bytes, about."""
        written = self.pace
        return written.mean * (now - at) if written is not None else 0.0

    def _lead_seconds(self) -> float:
        """From one look until what a round deletes after the next one, and one that settles, has taken effect."""
        return self._whose.look_seconds + self._rules.settle_seconds + 1.5 * self._lasts.walk_seconds + _LAG_SECONDS

    def _remember(self, now: float) -> None:
        """What was surely written: what is owed is not, or a late pool would look like a busy one."""
        self._looks.append(Look(now, self._owed.written_bytes))
        while self._looks[0].at < now - _WATCHED_SECONDS:
            self._looks.popleft()
        written = self.pace
        if written is not None:
            metrics.PACE.set(written.mean)

    def _recall(self, now: float) -> None:
        """The last round, also of a process before this one."""
        known = self._store.janitor_runs(self._whose.cluster, self._whose.pool, limit=50)
        self._lasts.round_at = known[0].started_at if known else float("-inf")
        self._looks.clear()
        last = next((run for run in known if run.seen_bytes or run.deleted_bytes), None)
        self._owed = Owed() if last is None else Owed.recalled(last, now)

    def _begin(self, now: float, why: str) -> None:
        whose, began_bytes = self._whose, self._owed.written_bytes
        if now >= self._lasts.avoided_until:
            self._avoided.clear()
        run = JanitorRun(whose.cluster, whose.pool, whose.holder, now, self._rules.is_dry, why=why)
        self._round = current = Round(run, self._directory, self._rules, self._avoided)
        self._lasts.round_at = now
        try:
            current.walk(self._clock, self._goes_on)
            if not current.is_over:
                self._plan(current, began_bytes)
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

    def _plan(self, current: Round, began_bytes: float) -> None:
        """By the pool's room as it is after the walk, and what the walk tells of what was written."""
        room = self._read()
        now = self._clock()
        self._owed.looked(now, room.used_bytes)
        if self._owed.walked(current.run.seen_bytes, began_bytes):
            self._looks.clear()  # what a round that was cut off had not deleted after all was not written
        owed = self._owed
        current.plan(self._need(room), now, futile_words(owed.size_bytes) if owed.is_futile else "")

    def _goes_on(self) -> bool:
        """While it walks and deletes, which may take long: nobody else is to begin as well."""
        return not self._is_stopping() and self._leases.hold(self._clock())

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
        finally:
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
        self._note(current, now)
        self._refusal = run.words if run.outcome is Outcome.REFUSED else ""
        self._lasts.again_at = now + self._pause(run, has_trouble=bool(current.trouble))
        metrics.ROUNDS.labels(run.outcome.value).inc()
        metrics.DELETED_FILES.inc(run.deleted_files)
        log.info("round_ended", outcome=run.outcome.value, words=run.words)

    def _note(self, current: Round, now: float) -> None:
        """What a round that is over means for the next ones."""
        lasts = self._lasts
        if current.failed:
            self._avoided |= set(sorted(current.failed)[: max(0, _MOST_AVOIDED - len(self._avoided))])
            lasts.avoided_until = now + _AVOIDED_SECONDS
            self._undeleted = f"{len(self._avoided):,} files or directories can't be deleted: {current.trouble}"
        elif not self._avoided:
            self._undeleted = ""
        if current.run.deleted_bytes or not self._owed.size_bytes:
            lasts.recount_at, lasts.recount_seconds = float("-inf"), _RECOUNT_SECONDS
        else:
            lasts.recount_at = now + lasts.recount_seconds
            lasts.recount_seconds = min(_MOST_RECOUNT_SECONDS, 2 * lasts.recount_seconds)

    def _pause(self, run: JanitorRun, *, has_trouble: bool) -> float:
        """Seconds until the next round at the earliest."""
        if run.outcome is Outcome.CLEANED:
            return 0.0
        walks = max(self._whose.look_seconds, _WALKS * self._lasts.walk_seconds)
        is_stuck = has_trouble and not run.deleted_files
        return max(_PAUSES.get(run.outcome, walks), _TROUBLE_PAUSE_SECONDS if is_stuck else 0.0)

    def _lose(self) -> None:
        """Another one has it: what that one deletes is recalled when this one's turn comes."""
        self._give_up("another janitor has this pool now")
        self._say(self._leases.lost_words())
        self._lasts.round_at = None

    def _say(self, trouble: str) -> None:
        """Once in the log, and as trouble for as long as it lasts; empty: there is none."""
        if trouble and trouble != self._trouble:
            log.warning("janitor_held_up", reason=trouble)
        self._trouble = trouble
