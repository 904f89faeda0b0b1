"""The file of alert limits: floors, objectives, and rules that are off, for all endpoints or one (docs/alerts.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tierdeck.alerts.conditions.ttft import Objective
from tierdeck.alerts.limits import AlertLimits, Limits
from tierdeck.alerts.rules import BY_NAME
from tierdeck.errors import UsageError
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
    return AlertLimits(_limits(file.defaults), {name: _limits(one) for name, one in file.endpoints.items()})


def _limits(found: _Limits) -> Limits:
    ttft = Objective(found.ttft.share, found.ttft.seconds) if found.ttft is not None else None
    return Limits(found.floor, ttft, found.rules)
