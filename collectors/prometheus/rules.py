"""Relabelling rules as the configuration file has them (docs/connect.md)."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from collectors.prometheus.labels import Rule, template


class RelabelEntry(BaseModel):
    """One rule, in the words of Prometheus's `relabel_config`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_labels: tuple[str, ...] = Field(min_length=1)
    separator: str = ";"
    regex: str = "(.*)"
    target_label: Literal["", "cluster", "endpoint", "replica", "role"] = ""
    replacement: str = "$1"
    action: Literal["replace", "keep", "drop"] = "replace"

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if (self.action == "replace") != bool(self.target_label):
            raise ValueError("target_label belongs to the action replace, and to no other")
        try:
            groups = re.compile(self.regex).groups
        except re.error as error:
            raise ValueError(f"{self.regex!r} is no regular expression: {error}") from None
        wanted = [int(number) for number in re.findall(r"\\g<(\d+)>", template(self.replacement))]
        if self.action == "replace" and max(wanted, default=0) > groups:
            raise ValueError(f"{self.replacement!r} wants a group that {self.regex!r} does not have")
        return self

    def rule(self) -> Rule:
        return Rule(
            self.source_labels, re.compile(self.regex), self.separator, self.target_label, self.replacement, self.action
        )
