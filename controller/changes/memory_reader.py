"""A reader of objects in memory: for tests, and to plan on a cluster that was looked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controller.api.errors import ForbiddenError, NotServedError
from controller.objects import Objects, Raw
from controller.reading.fields import text
from controller.resources import CONFIG_MAPS, RESOURCES, path_of
from tierdeck.deployed import ObjectRef

_KNOWN = {one.kind: one for one in (*RESOURCES, CONFIG_MAPS)}


@dataclass(frozen=True, slots=True)
class MemoryReader:
    """A `Reader`.

    Attributes:
        objects: by the kinds that are watched.
        others: objects of other kinds.
        lists: what is at a collection's path; one that is missing is not served.
        forbidden: kinds and paths that may not be read.
    """

    objects: Objects
    others: Sequence[tuple[ObjectRef, Raw]] = ()
    lists: Mapping[str, Sequence[Raw]] = field(default_factory=dict)
    forbidden: frozenset[str] = frozenset()

    def get(self, ref: ObjectRef) -> Raw | None:
        """See `Reader`."""
        self._refuse(ref.kind)
        known = _KNOWN.get(ref.kind)
        if known is CONFIG_MAPS:
            return self.objects.config_map(ref.namespace, ref.name)
        if known is not None:
            return self.objects.get(known, ref.namespace, ref.name)
        return next((raw for one, raw in self.others if one == ref), None)

    def list(self, path: str) -> Sequence[Raw]:
        """See `Reader`."""
        self._refuse(path)
        if path not in self.lists:
            raise NotServedError(f"the API server has no {path}")
        return self.lists[path]

    def address_of(self, ref: ObjectRef) -> tuple[str, str]:
        """See `Reader`."""
        known = _KNOWN.get(ref.kind)
        if known is not None:
            version = f"{known.group}/{known.versions[0]}" if known.group else known.versions[0]
            return path_of(known, ref.namespace, ref.name), version
        for one, raw in self.others:
            stated = text(raw, "apiVersion")
            if one.kind == ref.kind and stated:
                inside = f"/namespaces/{ref.namespace}" if ref.namespace else ""
                return f"/apis/{stated}{inside}/{ref.kind.lower()}s/{ref.name}", stated
        raise NotServedError(f"the API server has no {ref.kind}")

    def _refuse(self, what: str) -> None:
        if what in self.forbidden:
            raise ForbiddenError(f"{what} may not be read")
