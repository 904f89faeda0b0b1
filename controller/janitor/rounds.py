"""One round: every file is looked at, a plan is made, and what it names goes, at its pace, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from controller.janitor.owed import outstanding, with_owed
from controller.janitor.telling import foreign_words, result_words
from controller.janitor.throttle import Rates, Throttle
from tierdeck.errors import TierdeckError
from tierdeck.l2.cleaning import CleaningLimits, Marks, Plan, Survey
from tierdeck.l2.janitor_runs import JanitorRun, Outcome
from tierdeck.l2.pool_file import Deletion, PoolDirectory, PoolFile, PoolRoom

_FILES_BETWEEN = 2000
"""After so many files the process says that it is alive."""
_MOST_FAILURES = 3
_SETTLED_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Need:
    """Why room has to be made.

    Attributes:
        room: as the pool tells it.
        owed_bytes: of it free soon, since it was deleted already.
        ahead_bytes: written until what is deleted has become room.
    """

    room: PoolRoom
    owed_bytes: float = 0.0
    ahead_bytes: float = 0.0

    def is_due(self, marks: Marks) -> bool:
        """Cleaning has to begin."""
        return marks.is_reached(with_owed(self.room, self.owed_bytes), self.ahead_bytes)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a janitor is told.

    Attributes:
        settle_seconds: after the last file until the pool's own count of what it holds is taken as final.
    """

    marks: Marks = field(default_factory=Marks)
    limits: CleaningLimits = field(default_factory=CleaningLimits)
    rates: Rates = field(default_factory=Rates)
    is_dry: bool = True
    settle_seconds: float = 120.0


class Round:
    """A round from its walk to its result; `run` is what can be said of it so far."""

    def __init__(self, run: JanitorRun, directory: PoolDirectory, rules: Rules) -> None:
        self.run = run
        self._directory = directory
        self._rules = rules
        self._plan = Plan((), (), 0, is_enough=True)
        self._survey = Survey(rules.limits, run.started_at)
        self._left: list[PoolFile] = []
        self._gone: list[PoolFile] = []
        self._gone_bytes = 0
        self._throttle: Throttle | None = None
        self._failures = 0
        self._trouble = ""
        self._settles_at: float | None = None

    @property
    def is_over(self) -> bool:
        return self.run.ended_at is not None

    @property
    def is_settling(self) -> bool:
        """Nothing is left to delete, and the pool's use may still fall."""
        return self._settles_at is not None and not self.is_over

    @property
    def has_trouble(self) -> bool:
        """Something could not be deleted."""
        return bool(self._trouble)

    def walk(self, need: Need, clock: Callable[[], float], go_on: Callable[[], bool]) -> None:
        """Look at every file and plan; over afterwards where nothing is to be deleted.

        Args:
            go_on: asked again and again; False: the round is to end.

        Raises:
            TierdeckError: the directory can't be read; nothing was deleted.
        """
        began_at = clock()
        for number, file in enumerate(self._directory.files()):
            self._survey.add(file)
            if number % _FILES_BETWEEN == _FILES_BETWEEN - 1 and not go_on():
                self._end(Outcome.SHORT, clock(), "It was told to stop before it had seen every file.")
                return
        survey, now = self._survey, clock()
        self._plan = survey.plan(with_owed(need.room, need.owed_bytes), self._rules.marks, need.ahead_bytes)
        orphaned = sum(file.size_bytes for file in self._plan.temporary)
        self.run = replace(
            self.run,
            order=survey.order,
            capacity_bytes=need.room.capacity_bytes,
            used_before_bytes=need.room.used_bytes,
            files=survey.files,
            size_bytes=survey.size_bytes,
            chosen_files=len(self._plan.files),
            chosen_bytes=self._plan.size_bytes - orphaned,
            temporary_files=len(self._plan.temporary),
            temporary_bytes=orphaned,
            seconds_walking=max(0.0, now - began_at),
            identities=survey.parts(()),
        )
        self._begin(now)

    def _begin(self, now: float) -> None:
        plan, chosen = self._plan, (*self._plan.temporary, *self._plan.files)
        if self._survey.foreign:
            self._end(Outcome.REFUSED, now, foreign_words(self._survey.foreign, self._survey.named_foreign))
        elif not chosen:
            outcome = Outcome.NOTHING if plan.is_enough else Outcome.SHORT
            self._end(outcome, now, result_words(replace(self.run, outcome=outcome), plan))
        elif self._rules.is_dry:
            self._gone = list(chosen)
            self._end(Outcome.DRY, now, result_words(replace(self.run, outcome=Outcome.DRY), plan))
        else:
            self._left = list(reversed(chosen))
            self._throttle = Throttle(self._rules.rates, now)

    def step(self, now: float, go_on: Callable[[], bool]) -> None:
        """Delete what may go by now.

        Args:
            go_on: asked before each file, since one may take long; False: no more.
        """
        if self._throttle is None or self._settles_at is not None:
            return
        self._throttle.refill(now)
        while self._left and go_on() and self._throttle.take(self._left[-1].size_bytes):
            self._delete(self._left.pop())
        if not self._left:
            self._settles_at = now + self._rules.settle_seconds
        self._count()

    def settle(self, room: PoolRoom, now: float, written: float, *, is_due: bool) -> None:
        """Over once the pool's use fell by most of what went, or time is up, or more has to go already.

        Args:
            written: bytes written to the pool since the round began, about.
        """
        is_settled = outstanding(self.run, room.used_bytes, written) <= (1 - _SETTLED_SHARE) * self._gone_bytes
        if self._settles_at is None or not (is_settled or now >= self._settles_at or is_due):
            return
        if is_settled or not is_due:
            self.run = replace(self.run, used_after_bytes=room.used_bytes)
        is_whole = self._plan.is_enough and not self._trouble
        outcome = Outcome.CLEANED if is_whole else Outcome.SHORT
        words = result_words(replace(self.run, outcome=outcome), self._plan, self._trouble, written)
        self._end(outcome, now, words)

    def stop(self, now: float, why: str) -> None:
        """Delete no more."""
        if not self.is_over:
            self._count()
            told = result_words(replace(self.run, outcome=Outcome.SHORT), self._plan, why)
            self._end(Outcome.SHORT, now, told)

    def _delete(self, file: PoolFile) -> None:
        try:
            outcome = self._directory.delete(file)
        except TierdeckError as error:
            self._failures += 1
            self._trouble = error.line()
            if self._failures >= _MOST_FAILURES:
                self._left.clear()
            return
        if outcome is Deletion.DELETED:
            self._failures = 0
            self._gone.append(file)
            self._gone_bytes += file.size_bytes
        else:
            self.run = replace(self.run, spared_files=self.run.spared_files + 1)

    def _count(self) -> None:
        self.run = replace(self.run, deleted_files=len(self._gone), deleted_bytes=self._gone_bytes)

    def _end(self, outcome: Outcome, now: float, words: str) -> None:
        parts = self._survey.parts(self._gone)
        self.run = replace(self.run, outcome=outcome, ended_at=now, words=words, identities=parts)
        self._left.clear()
