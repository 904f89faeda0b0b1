"""Endpoints of the examples as a planner looks at them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controller.backends import BACKENDS
from controller.changes.memory_reader import MemoryReader
from controller.changes.planner import Load, Look, Planner
from controller.objects import Raw
from controller.reading.scene import Scene
from tests.support.manifests import documents, objects_of
from tierdeck.changes.plan import Plan, Refusal
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef
from tierdeck.l2.file import L2File

NOW = 1_764_500_000.0
_BY_NAME = {one.name: one for one in BACKENDS}


@dataclass
class Planned:
    """A cluster to change before something is planned on it."""

    documents: list[dict[str, Any]]
    others: list[tuple[ObjectRef, Raw]] = field(default_factory=list)
    lists: dict[str, Sequence[Raw]] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    load: Load = field(default_factory=Load)
    l2: L2File = field(default_factory=L2File)

    def pick(self, kind: str, name: str) -> dict[str, Any]:
        return next(one for one in self.documents if (one["kind"], one["metadata"]["name"]) == (kind, name))

    def pods(self, label: str) -> list[dict[str, Any]]:
        """Pods of an `app`."""
        return [one for one in self.documents if one["kind"] == "Pod" and one["metadata"]["labels"].get("app") == label]

    def look(self, backend: str, endpoint: str) -> Look:
        objects = replace(objects_of(self.documents), l2=self.l2)
        found = [one.deployed for one in _BY_NAME[backend].find(objects, ())]
        (deployed,) = [one for one in found if endpoint in (one.endpoint, one.name)]
        reader = MemoryReader(objects, self.others, self.lists, frozenset(self.forbidden))
        return Look(objects, Scene(objects), deployed, reader, NOW, self.load)


def planned(*names: str) -> Planned:
    """Of examples by name; YAML's anchors make one object of several, and here each is its own."""
    return Planned(json.loads(json.dumps([one for name in names for one in documents(name)])))


def plan(planner: Planner, look: Look, wish: Wish) -> Plan:
    """The plan; it is not refused."""
    found = planner.plan(look, wish)
    assert isinstance(found, Plan), found
    return found


def refusals(planner: Planner, look: Look, wish: Wish) -> dict[str, Refusal]:
    """By code; it is refused."""
    found = planner.plan(look, wish)
    assert not isinstance(found, Plan), found
    assert found
    for one in found:
        assert one.reason.endswith("."), one
        assert not one.fix or one.fix.endswith("."), one
    return {one.code: one for one in found}
