"""Limits that an operator sets: a floor, a TTFT objective, rules that are off; for all endpoints or one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.ttft import Objective
from tierdeck.naming import short_name


@dataclass(frozen=True, slots=True)
class Limits:
    """What is set in one place; None, or absent: nothing.

    Attributes:
        floor: the least hit ratio, in (0, 1).
        rules: by name, whether it is on.
    """

    floor: float | None = None
    ttft: Objective | None = None
    rules: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlertLimits:
    """By endpoint, whose name may be short; what its entry lacks is as in the defaults. Rules are on unless said."""

    defaults: Limits = field(default_factory=Limits)
    endpoints: Mapping[str, Limits] = field(default_factory=dict)

    def floor(self, subject: Subject) -> float | None:
        """The least hit ratio of an endpoint, in [0, 1]; None: none is set."""
        own = self._of(subject).floor
        return own if own is not None else self.defaults.floor

    def objective(self, subject: Subject) -> Objective | None:
        """The TTFT objective of an endpoint; None: none is set."""
        return self._of(subject).ttft or self.defaults.ttft

    def is_on(self, rule: str, subject: Subject) -> bool:
        return self._of(subject).rules.get(rule, self.defaults.rules.get(rule, True))

    def _of(self, subject: Subject) -> Limits:
        return self.endpoints.get(subject.endpoint) or self.endpoints.get(short_name(subject.endpoint)) or _NONE


_NONE = Limits()
