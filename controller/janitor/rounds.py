"""One round: every file is looked at, a plan is made, and what it names goes, at its pace, step by step."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from controller.janitor.owed import outstanding, with_owed
from controller.janitor.telling import behind_words, foreign_words, others_words, result_words, waiting_words
from controller.janitor.throttle import Rates, Throttle
from tierdeck.errors import TierdeckError
from tierdeck.l2.cleaning import CleaningLimits, Marks, Plan, Survey
from tierdeck.l2.janitor_runs import JanitorRun, Outcome
from tierdeck.l2.pool_file import Deletion, PoolDirectory, PoolFile, PoolRoom

_FILES_BETWEEN = 2000
"""After so many files the process says that it is alive."""
_MOST_FAILURES = 50
"""Of an identity in a row, with none that went before: the rest of it is not tried."""
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
        return marks.is_reached(self.left, self.ahead_bytes)

    @property
    def left(self) -> PoolRoom:
        """As the pool will be."""
        return with_owed(self.room, self.owed_bytes)


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

    def __init__(self, run: JanitorRun, directory: PoolDirectory, rules: Rules, avoided: Collection[str] = ()) -> None:
        """
        Args:
            avoided: paths and identities that could not be deleted lately, and are not tried.
        """
        self.run = run
        self.failed: set[str] = set()
        """Paths and identities that could not be deleted."""
        self._directory = directory
        self._rules = rules
        self._plan = Plan((), (), 0, is_enough=True)
        self._survey = Survey(rules.limits, run.started_at, avoided)
        self._left: list[PoolFile] = []
        self._gone: list[PoolFile] = []
        self._gone_bytes = 0
        self._throttle: Throttle | None = None
        self._failures: dict[str, int] = {}
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
    def trouble(self) -> str:
        """Why something could not be deleted; empty: nothing was in the way."""
        return self._trouble

    def walk(self, clock: Callable[[], float], go_on: Callable[[], bool]) -> None:
        """Look at every file; over afterwards where it was told to stop.

        Args:
            go_on: asked again and again; False: the round is to end.

        Raises:
            TierdeckError: the directory can't be read; nothing was deleted.
        """
        began_at = clock()
        for number, file in enumerate(self._directory.files()):
            self._survey.add(file)
            if number % _FILES_BETWEEN == _FILES_BETWEEN - 1 and not go_on():
                words = "It was told to stop before it had seen every file: what is there is not known."
                self.run = replace(self.run, outcome=Outcome.SHORT, ended_at=clock(), words=words)
                return
        survey, now = self._survey, clock()
        self.run = replace(
            self.run,
            order=survey.order,
            files=survey.files,
            size_bytes=survey.size_bytes,
            seen_bytes=survey.seen_bytes,
            seconds_walking=max(0.0, now - began_at),
            identities=survey.parts(()),
        )

    def plan(self, need: Need, now: float, refusal: str = "") -> None:
        """Choose what goes; over afterwards where nothing is to be deleted.

        Args:
            refusal: why nothing may go, whatever is needed.
        """
        survey = self._survey
        self._plan = survey.plan(need.left, self._rules.marks, need.ahead_bytes)
        orphaned = sum(file.size_bytes for file in self._plan.temporary)
        self.run = replace(
            self.run,
            capacity_bytes=need.room.capacity_bytes,
            used_before_bytes=need.room.used_bytes,
            owed_bytes=need.owed_bytes,
            chosen_files=len(self._plan.files),
            chosen_bytes=self._plan.size_bytes - orphaned,
            temporary_files=len(self._plan.temporary),
            temporary_bytes=orphaned,
        )
        if survey.foreign:
            refusal = foreign_words(survey.foreign, survey.named_foreign)
        elif not refusal and self._plan.files:
            others = need.left.used_bytes - survey.seen_bytes
            is_theirs = others > self._rules.marks.low * need.room.capacity_bytes
            refusal = others_words(others, need.room.capacity_bytes, self._rules.marks.low) if is_theirs else ""
        self._begin(now, need, refusal)

    def _begin(self, now: float, need: Need, refusal: str) -> None:
        plan, chosen = self._plan, (*self._plan.temporary, *self._plan.files)
        if refusal:
            self._plan = Plan((), (), 0, is_enough=False)
            self._end(Outcome.REFUSED, now, refusal)
        elif not chosen:
            outcome = Outcome.NOTHING if plan.is_enough else Outcome.SHORT
            words = result_words(replace(self.run, outcome=outcome), plan)
            self._end(outcome, now, f"{words}{waiting_words(need.owed_bytes)}")
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

    def settle(self, need: Need, now: float, written: float, *, is_due: bool) -> None:
        """Over once the pool's use fell by most of what went, or time is up, or more has to go already.

        Args:
            written: bytes written to the pool since the round began, about.
        """
        room = need.room
        is_settled = outstanding(self.run, room.used_bytes, written) <= (1 - _SETTLED_SHARE) * self._gone_bytes
        if self._settles_at is None or not (is_settled or now >= self._settles_at or is_due):
            return
        if is_settled or not is_due:
            self.run = replace(self.run, used_after_bytes=room.used_bytes)
        is_behind = bool(self._plan.files) and self.is_behind(need)
        is_whole = self._plan.is_enough and not self._trouble and not is_behind
        outcome = Outcome.CLEANED if is_whole else Outcome.SHORT
        words = result_words(replace(self.run, outcome=outcome), self._plan, self._trouble, written)
        self._end(outcome, now, f"{words} {behind_words()}" if is_behind else words)

    def is_behind(self, need: Need) -> bool:
        """It deletes, and the pool is above its high-water mark all the same, fuller than when the round began."""
        left, began = need.left.used_bytes, self.run.used_before_bytes
        is_above = left >= self._rules.marks.high * need.room.capacity_bytes
        return is_above and bool(self._gone) and began is not None and left >= began - self.run.owed_bytes

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
            self._trouble = error.line()
            self.failed.add(file.path)
            self._give_up_identity(file.identity)
            return
        if outcome is Deletion.DELETED:
            self._failures[file.identity] = -_MOST_FAILURES * self._rules.limits.most_files
            self._gone.append(file)
            self._gone_bytes += file.size_bytes
        else:
            self.run = replace(self.run, spared_files=self.run.spared_files + 1)

    def _give_up_identity(self, identity: str) -> None:
        failures = self._failures[identity] = self._failures.get(identity, 0) + 1
        if failures >= _MOST_FAILURES:
            self._left = [one for one in self._left if one.identity != identity]
            self.failed.add(identity)

    def _count(self) -> None:
        self.run = replace(self.run, deleted_files=len(self._gone), deleted_bytes=self._gone_bytes)

    def _end(self, outcome: Outcome, now: float, words: str) -> None:
        parts = self._survey.parts(self._gone)
        self.run = replace(self.run, outcome=outcome, ended_at=now, words=words, identities=parts)
        self._left.clear()
