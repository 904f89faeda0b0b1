"""The file of L2 policies: which endpoints get L2 on which claim, and the switch that stops it (docs/l2.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tierdeck.errors import UsageError
from tierdeck.l2.policy import CLAIM_PATTERN, HASH_SEED, MOUNT_PATH, MOUNT_PATTERN, L2Policy
from tierdeck.yaml_text import parse_yaml, refusal

_HINT = "docs/l2.md shows a whole file."


class L2Options(BaseModel):
    """What can be said of all endpoints, or of one; what is left out is as for all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    claim: str | None = Field(None, pattern=f"^{CLAIM_PATTERN}$")
    mount_path: str | None = Field(None, pattern=f"^{MOUNT_PATTERN}$")
    hash_seed: int | None = Field(None, ge=0, le=2**32 - 1)
    min_retrieve_tokens: int | None = Field(None, ge=0)
    metrics: bool | None = None
    model_revision: str | None = Field(None, min_length=1, max_length=200)
    opted_in: bool | None = None

    def over(self, other: L2Options) -> L2Options:
        """This, and what it leaves out as the other has it."""
        mine = self.model_dump(exclude_none=True)
        return L2Options(**{**other.model_dump(exclude_none=True), **mine})

    def policy(self, origin: str) -> L2Policy | None:
        """None where no claim is named."""
        if self.claim is None:
            return None
        return L2Policy(
            origin,
            self.claim,
            self.mount_path or MOUNT_PATH,
            HASH_SEED if self.hash_seed is None else str(self.hash_seed),
            self.min_retrieve_tokens,
            bool(self.metrics),
            self.model_revision or "",
        )


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    defaults: L2Options = Field(default_factory=L2Options)
    endpoints: dict[str, L2Options] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class L2File:
    """What the file says.

    Attributes:
        enabled: off: nothing is injected anywhere, whoever opted in.
        defaults: for all endpoints, also for those that opted in elsewhere.
        endpoints: by `namespace/name`; being listed is opting in, unless it says `opted_in: false`.
    """

    enabled: bool = True
    defaults: L2Options = field(default_factory=L2Options)
    endpoints: Mapping[str, L2Options] = field(default_factory=dict)

    def listed(self, names: Iterable[str]) -> tuple[str, L2Options] | None:
        """The first of these names that is listed, with its own options; None where none is."""
        return next(((name, self.endpoints[name]) for name in names if name in self.endpoints), None)


def parse_l2(text: str, where: str) -> L2File:
    """The file's content.

    Raises:
        UsageError: it is broken; one line that names the key.
    """
    document = parse_yaml(text, where)
    try:
        content = _Content.model_validate({} if document is None else document)
    except ValidationError as error:
        raise refusal(error, where, _HINT) from error
    for name in content.endpoints:
        if name.count("/") != 1 or not all(name.split("/")):
            raise UsageError(f"{where}: endpoints.{name}: namespace/name is needed", _HINT)
    return L2File(content.enabled, content.defaults, content.endpoints)
