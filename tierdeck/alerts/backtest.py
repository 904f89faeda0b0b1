"""`backtest`: the hit-ratio rules over a recorded series, minute by minute as the alerting process does it."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tierdeck.alerts.alert import Alert, AlertState, Subject
from tierdeck.alerts.hit_ratio import LEARNING, TOO_LITTLE, HitRatioDetector
from tierdeck.alerts.hit_ratio_limits import HitRatioLimits
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.lives import Lives
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import HIT_RATIO_DROP, RULES
from tierdeck.errors import UsageError

COLUMNS = ("at", "endpoint", "prompt_tokens", "hit_tokens", "requests")
OPTIONAL_COLUMNS = ("restarts", "config_change")
_ORDER = {rule.name: place for place, rule in enumerate(RULES)}
# From the year 2000 on: smaller numbers are no epoch seconds of anything that was recorded.
_EARLIEST = 946_684_800.0
_LATEST = 4_102_444_800.0
_NO = ("", "0", "0.0", "false", "no")
# Scrapes jitter; two lines closer than this are two of one minute.
_LEAST_APART_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Fired:
    """One alert that fired in the series.

    Attributes:
        alert: as it was at the end.
        suppressed_by: what kept it from ever being said; empty: it was.
    """

    alert: Alert
    suppressed_by: str


@dataclass(frozen=True, slots=True)
class Backtest:
    """What came of it; minutes are counted over all endpoints.

    Attributes:
        fired: by time, then by endpoint.
        evaluated: minutes that were judged; learning: of them those in which nothing was known to be usual.
        not_enough_traffic: minutes without traffic, or with too little to tell.
    """

    fired: tuple[Fired, ...]
    evaluated: int
    learning: int
    not_enough_traffic: int


def backtest(
    recorded: Mapping[str, Sequence[Minute]],
    limits: Callable[[Subject], HitRatioLimits] = lambda _: HitRatioLimits(),
) -> Backtest:
    """Judge each endpoint's minutes, in order; minutes that are left out are not known."""
    fired: list[Fired] = []
    counts = [0, 0, 0]
    for name in sorted(recorded):
        subject = Subject("", name)
        run = _Run(subject, HitRatioDetector(limits))
        for minute in recorded[name]:
            run.step(minute)
        fired += run.fired.values()
        counts = [old + new for old, new in zip(counts, (run.evaluated, run.learning, run.too_little), strict=True)]
    fired.sort(key=lambda one: (one.alert.fired_at or 0.0, one.alert.subject, _ORDER[one.alert.rule]))
    return Backtest(tuple(fired), *counts)


class _Run:
    """One endpoint; no rule of these reaches beyond one."""

    def __init__(self, subject: Subject, detector: HitRatioDetector) -> None:
        self.fired: dict[tuple[str, Subject, float], Fired] = {}
        self.evaluated = self.learning = self.too_little = 0
        self._subject = subject
        self._detector = detector
        self._lives = Lives()

    def step(self, minute: Minute) -> None:
        scene = Scene(minute.at, {self._subject: minute}, firing=self._lives.firing)
        judgements = list(self._detector.judge(scene))
        self._count(next(one for one in judgements if one.rule == HIT_RATIO_DROP.name))
        # A minute is judged when it is over.
        for alert in self._lives.step(judgements, minute.at + 60.0).alerts:
            if alert.fired_at is not None:
                self._note(alert)

    def _count(self, judgement: Judgement) -> None:
        is_too_little = judgement.is_bad is None and judgement.words == TOO_LITTLE
        self.too_little += is_too_little
        self.evaluated += not is_too_little
        self.learning += judgement.is_bad is None and judgement.words == LEARNING

    def _note(self, alert: Alert) -> None:
        key = (alert.rule, alert.subject, alert.pending_at)
        before = self.fired.get(key)
        by = alert.suppressed_by
        if before is not None:
            is_firing = alert.state is AlertState.FIRING
            by = "" if is_firing and not alert.suppressed_by else before.suppressed_by
        self.fired[key] = Fired(alert, by)


def read_minutes(lines: Iterable[str]) -> dict[str, list[Minute]]:
    """The recorded minutes of each endpoint, from the lines of a CSV file with a header.

    Raises:
        UsageError: a line that can't be read, two lines of one endpoint and minute, or lines that are out of order.
    """
    reader = csv.reader(lines, strict=True)
    found: dict[str, list[Minute]] = {}
    try:
        columns = _columns(next(reader, []))
        for cells in reader:
            if cells:
                name, minute = _minute(columns, cells)
                minutes = found.setdefault(name, [])
                if minutes:
                    _in_order(name, minutes[-1].at, minute.at)
                minutes.append(minute)
    except UsageError as error:
        raise UsageError(f"line {max(reader.line_num, 1)}: {error}", error.hint) from error
    except csv.Error as error:
        raise UsageError(f"line {max(reader.line_num, 1)}: {error}") from error
    return found


def document(result: Backtest) -> dict[str, object]:
    """As `--json` prints it."""
    return {
        "alerts": [_told(one) for one in result.fired],
        "evaluated_minutes": result.evaluated,
        "not_enough_traffic_minutes": result.not_enough_traffic,
        "learning_minutes": result.learning,
    }


def told(result: Backtest) -> str:
    """For people: a line for each alert, and what was judged."""
    lines = [_line(one) for one in result.fired] or ["No alert."]
    counted = [f"{result.evaluated:,} minutes judged", f"{result.not_enough_traffic:,} with too little traffic to tell"]
    if result.learning:
        counted.insert(1, f"{result.learning:,} of them before anything was known to be usual")
    return "\n".join([*lines, "", ", ".join(counted) + "."])


def instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def _told(one: Fired) -> dict[str, object]:
    alert = one.alert
    return {
        "endpoint": alert.subject.endpoint,
        "detector": alert.rule,
        "fired_at": None if alert.fired_at is None else instant(alert.fired_at),
        "resolved_at": None if alert.resolved_at is None else instant(alert.resolved_at),
        "depth_points": None if alert.depth is None else round(alert.depth, 1),
        "suppressed_by": one.suppressed_by or None,
    }


def _line(one: Fired) -> str:
    alert = one.alert
    end = "still firing" if alert.resolved_at is None else f"to {instant(alert.resolved_at)}"
    depth = "" if alert.depth is None else f", {alert.depth:.1f} points deep"
    why = f" (not said: {one.suppressed_by})" if one.suppressed_by else ""
    return f"{instant(alert.fired_at or 0.0)} {end}  {alert.subject.endpoint}  {alert.rule}{depth}{why}"


def _columns(header: Sequence[str]) -> list[str]:
    columns = [cell.strip() for cell in header]
    wanted = f"The header names at least {', '.join(COLUMNS)}."
    if missing := [name for name in COLUMNS if name not in columns]:
        raise UsageError(f"no column {' or '.join(missing)}", wanted)
    if twice := {name for name in (*COLUMNS, *OPTIONAL_COLUMNS) if columns.count(name) > 1}:
        raise UsageError(f"column {', '.join(sorted(twice))} is there twice", wanted)
    return columns


def _in_order(name: str, before: float, at: float) -> None:
    if at < before:
        raise UsageError(f"{instant(at)} of {name} comes after {instant(before)}", "Sort the lines by `at`.")
    if at - before < _LEAST_APART_SECONDS:
        raise UsageError(f"a second line of {name} for the minute {instant(before)}", "Write one line a minute.")


def _minute(columns: Sequence[str], row: Sequence[str]) -> tuple[str, Minute]:
    if len(row) != len(columns):
        raise UsageError(f"it has {len(row)} cells, and the header has {len(columns)}")
    cells = dict(zip(columns, (cell.strip() for cell in row), strict=True))
    name = cells["endpoint"]
    if not name:
        raise UsageError("endpoint is empty")
    at = _at(cells["at"])
    tokens, hits, requests = (_count(cells, column) for column in COLUMNS[2:])
    if hits > tokens:
        raise UsageError(f"hit_tokens {hits:g} is above prompt_tokens {tokens:g}")
    change = cells.get("config_change", "").lower()
    return name, Minute(
        at,
        prompt_tokens=tokens,
        hit_tokens=hits,
        requests=requests,
        restarts=math.ceil(_count(cells, "restarts")) if cells.get("restarts") else 0,
        is_changed=change not in _NO,
        is_restated=change == "restated",
        replicas=1,
        readable=1,
    )


def _count(cells: Mapping[str, str], column: str) -> float:
    try:
        count = float(cells[column])
    except ValueError:
        count = math.nan
    if not (math.isfinite(count) and count >= 0):
        hint = "Leave out the lines of minutes that are not known." if not cells[column] else ""
        raise UsageError(f"{column} {cells[column]!r} is not a count", hint)
    return count


def _at(text: str) -> float:
    hint = "Write ISO 8601 in UTC, such as 2026-01-31T12:00:00Z, or epoch seconds."
    try:
        at = float(text)
    except ValueError:
        try:
            then = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"at {text!r} is not an instant", hint) from None
        at = (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
    if not _EARLIEST <= at < _LATEST:
        raise UsageError(f"at {text!r} is not an instant of this century", hint)
    return at
