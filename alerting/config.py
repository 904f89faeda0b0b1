"""The file of alert limits: floors, objectives, and rules that are off, for all endpoints or one (docs/alerts.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.ttft import Objective
from tierdeck.alerts.rules import BY_NAME
from tierdeck.errors import UsageError
from tierdeck.naming import short_name
from tierdeck.yaml_text import parse_yaml, refusal

_HINT = "docs/alerts.md shows a whole file."


def _known(names: dict[str, bool]) -> dict[str, bool]:
    for name in names:
        if name not in BY_NAME:
            raise ValueError(f"there is no rule {name}; there are {', '.join(BY_NAME)}")
    return names


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Objective(_Model):
    share: float = Field(gt=0, lt=1)
    seconds: float = Field(gt=0)


class _Limits(_Model):
    floor: float | None = Field(None, gt=0, lt=1)
    ttft: _Objective | None = None
    rules: Annotated[dict[str, bool], AfterValidator(_known)] = Field(default_factory=dict)


class _File(_Model):
    defaults: _Limits = Field(default_factory=_Limits)
    endpoints: dict[str, _Limits] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlertLimits:
    """What the file says; without one, nothing is set and every rule is on."""

    defaults: _Limits = field(default_factory=_Limits)
    endpoints: Mapping[str, _Limits] = field(default_factory=dict)

    def floor(self, subject: Subject) -> float | None:
        """The least hit ratio of an endpoint, in [0, 1]; None: none is set."""
        own = self._of(subject).floor
        return own if own is not None else self.defaults.floor

    def objective(self, subject: Subject) -> Objective | None:
        """The TTFT objective of an endpoint; None: none is set."""
        found = self._of(subject).ttft or self.defaults.ttft
        return Objective(found.share, found.seconds) if found is not None else None

    def is_on(self, rule: str, subject: Subject) -> bool:
        return self._of(subject).rules.get(rule, self.defaults.rules.get(rule, True))

    def _of(self, subject: Subject) -> _Limits:
        return self.endpoints.get(subject.endpoint) or self.endpoints.get(short_name(subject.endpoint)) or _NONE


_NONE = _Limits()


def read_limits(path: Path | None) -> AlertLimits:
    """Read the file; no path: nothing is set.

    Raises:
        UsageError: it is missing or broken; one line that names the key.
    """
    if path is None:
        return AlertLimits()
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "TIERDECK_ALERTS_FILE names the file.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not YAML: {error.reason}") from error
    try:
        file = _File.model_validate(parse_yaml(text, str(path)) or {})
    except ValidationError as error:
        raise refusal(error, str(path), _HINT) from error
    return AlertLimits(file.defaults, file.endpoints)
