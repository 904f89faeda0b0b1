"""Cases: snapshot directories with the right values beside them, worked by hand (tests/fixtures/cases)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from collectors.explain import explain
from collectors.snapshot import read_snapshot
from tierdeck.account import WarmingLimits

CASES = Path(__file__).parents[1] / "fixtures" / "cases"
IDS = sorted(path.parent.name for path in CASES.glob("*/expected.yaml"))


@dataclass(frozen=True)
class Case:
    """What `expected.yaml` says.

    Attributes:
        origin: where the fault was reported or seen.
        working: how the values were worked out by hand.
        values: by dotted key of the document.
        notes, absent_notes: codes that must, and that must not, stand at a part of the document.
        why: by dotted key (`replicas.A.` and the figure's own), words of the reason.
        text: parts of the explanation for people.
    """

    title: str
    origin: str
    working: str
    values: Mapping[str, Any]
    notes: Mapping[str, list[str]] = field(default_factory=dict)
    absent_notes: Mapping[str, list[str]] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    text: tuple[str, ...] = ()


def read_case(name: str) -> Case:
    """The expectations of one case; an unknown key is an error."""
    told = yaml.safe_load((CASES / name / "expected.yaml").read_text(encoding="utf-8"))
    told["origin"] = told.pop("from")
    return Case(**{**told, "text": tuple(told.get("text", ()))})


def document(name: str) -> dict[str, Any]:
    """The document of `explain` for a case."""
    return explain(read_snapshot(CASES / name), WarmingLimits())


def at(document: Any, dotted: str) -> Any:
    """The value under a dotted key."""
    for step in dotted.split("."):
        document = document[step]
    return document


def reason(document: Any, dotted: str) -> str:
    """Why a figure is null: `replicas.A.tiers.L1.tokens` -> its part's `why` under `tiers.L1.tokens`."""
    steps = dotted.split(".")
    owner = 2 if steps[0] == "replicas" else 1
    return str(at(document, ".".join(steps[:owner]))["why"][".".join(steps[owner:])])
