"""The file that says what the controller may change, and how far (docs/changes.md)."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from tierdeck.errors import UsageError
from tierdeck.units import parse_size
from tierdeck.yaml_text import parse_yaml, refusal

_HINT = "docs/changes.md shows a whole file."
_NAME = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
_KIND = r"^[A-Z][A-Za-z0-9]*$"


class Limits(BaseModel):
    """The most that may be asked for; None: as much as fits.

    Attributes:
        l0_share: of the GPU's memory that an engine may take.
        l1: bytes of one replica.
        l2: bytes of the pool.
        replicas: that may be written anywhere; None: their number is not written at all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    l0_share: float | None = Field(None, gt=0, le=1)
    l1: int | None = Field(None, ge=0)
    l2: int | None = Field(None, ge=0)
    replicas: int | None = Field(None, ge=1)

    @field_validator("l1", "l2", mode="before")
    @classmethod
    def _size(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return parse_size(value)
        except UsageError as error:
            raise ValueError(str(error)) from None


class Allowed(BaseModel):
    """What the file says.

    Attributes:
        namespaces: in which objects may be written; exactly these.
        kinds: of object that may be written (`Deployment`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    namespaces: tuple[str, ...] = Field(min_length=1)
    kinds: tuple[str, ...] = Field(min_length=1)
    limits: Limits = Field(default_factory=Limits)

    @field_validator("namespaces", "kinds")
    @classmethod
    def _names(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        is_kind = info.field_name == "kinds"
        odd = [one for one in value if not re.fullmatch(_KIND if is_kind else _NAME, one)]
        if odd:
            what = "a kind, such as Deployment, is needed" if is_kind else "the name of a namespace is needed"
            raise ValueError(f"{odd[0]!r}: {what}")
        return value


def parse_allowed(text: str, where: str) -> Allowed:
    """The file's content.

    Raises:
        UsageError: it is broken; one line that names the key.
    """
    document = parse_yaml(text, where)
    try:
        return Allowed.model_validate({} if document is None else document)
    except ValidationError as error:
        raise refusal(error, where, _HINT) from error
