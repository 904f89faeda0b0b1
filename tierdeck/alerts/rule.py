"""What an alert rule is; the registry is `tierdeck.alerts.rules`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tierdeck.alerts.alert import Severity


class Scope(StrEnum):
    """How far one alert silences what follows from it."""

    SUBJECT = "endpoint"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Rule:
    """One of them; docs/alerts.md has a section for each, held against this by a test.

    Attributes:
        name: stays; `alertname` in Alertmanager is `Tierdeck` and this in capitals of words.
        title: what is wrong, in a few words.
        severity: as Alertmanager's routes have it.
        meaning: what it says, in one or two sentences.
        advice: what to do, step by step.
        unit: of value, expected and depth: `ratio` (depth in points), `seconds`, `requests`, `bytes`, …
        hold_seconds: how long its condition holds before it fires.
        clear_seconds: how long it has to look well before it resolves.
        inhibits: rules whose alerts follow from this one and are not said while it fires.
        scope: among whose alerts; one that is about an endpoint reaches no further than that.
    """

    name: str
    title: str
    severity: Severity
    meaning: str
    advice: tuple[str, ...]
    unit: str
    hold_seconds: float
    clear_seconds: float
    inhibits: tuple[str, ...] = ()
    scope: Scope = Scope.SUBJECT

    @property
    def alertname(self) -> str:
        return "Tierdeck" + "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def anchor(self) -> str:
        """Of its section in docs/alerts.md."""
        return self.name.replace("_", "-")
