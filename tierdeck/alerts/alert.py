"""One alert: what fires about whom, since when, how deep, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class AlertState(StrEnum):
    """The life of an alert; it goes on only to the right, and a new one begins with another id."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Severity(StrEnum):
    """As Alertmanager's routes usually have them, worst first."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """Whom an alert is about.

    Attributes:
        endpoint: its name; `_pool` for a pool; empty for the deck itself.
        part: a tier (`L0`), a pool's or a process's name; empty for the whole.
    """

    cluster: str
    endpoint: str
    part: str = ""

    @property
    def name(self) -> str:
        """How people call it."""
        return " ".join(filter(None, ("" if self.endpoint == "_pool" else self.endpoint, self.part))) or self.cluster


@dataclass(frozen=True, slots=True)
class FoundCause:
    """One cause with its evidence.

    Attributes:
        name: of the cause in `CAUSES`.
        words: one sentence.
        evidence: what was counted or seen, with figures and instants.
        points: its share of the drop, in points of the ratio (negative: it fell); None: can't be said.
        replica: whose it is; empty: of the endpoint as a whole.
        at: when it happened, in epoch seconds; None: not known.
    """

    name: str
    words: str
    evidence: str
    points: float | None = None
    replica: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Somebody has seen it: it is not said again until it resolves."""

    by: str
    at: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. Instants are epoch seconds.

    Attributes:
        id: of the store; 0: not stored yet.
        rule: name of its rule in `RULES`.
        pending_at, fired_at, resolved_at: when it came into that state; None: it did not.
        value, expected: what is and what would be usual, in the rule's unit; None: not told.
        depth: how far the one is from the other, in the rule's unit (points for ratios); the deepest so far.
        words: one sentence that says what is wrong, with figures.
        evidence: named figures behind it.
        causes: the likeliest first; empty: none looked for yet, or none to be found.
        suppressed_by: what keeps it from being said: a rule's name (inhibited), `flapping`, or a mute's name
            such as `warming`; empty: it is said.
        clear_since: since when it has looked well again; None: it does not.
        flips: when it fired lately, oldest first; many of them are flapping.
        changed_at: when the configuration was changed with which this loss came; None: with none that is known.
        spared: endpoints of its cluster that it can't have reached, whose alerts it does not silence.
    """

    rule: str
    subject: Subject
    state: AlertState
    severity: Severity
    pending_at: float
    fired_at: float | None = None
    resolved_at: float | None = None
    value: float | None = None
    expected: float | None = None
    depth: float | None = None
    words: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)
    causes: tuple[FoundCause, ...] = ()
    suppressed_by: str = ""
    acknowledged: Acknowledgement | None = None
    clear_since: float | None = None
    flips: tuple[float, ...] = ()
    id: int = 0
    spared: tuple[str, ...] = ()
    changed_at: float | None = None

    @property
    def usual_from(self) -> float | None:
        """Since when this is what is usual, once it has stood long enough: acknowledged, or wanted; None: neither."""
        seen = self.acknowledged.at if self.acknowledged is not None else None
        return min((at for at in (seen, self.changed_at) if at is not None), default=None)

    @property
    def key(self) -> tuple[str, Subject]:
        """The same for the same trouble: there is at most one open alert of a key."""
        return self.rule, self.subject

    @property
    def is_open(self) -> bool:
        return self.state is not AlertState.RESOLVED
