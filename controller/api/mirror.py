"""What is known of a cluster's objects: filled by the watches, looked at by the inventory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.api.prune import prune
from controller.objects import Objects, Raw
from controller.resources import CONFIG_MAPS, Resource

Key = tuple[str, str]
"""(namespace, name); the namespace is empty for an object of the whole cluster."""


@dataclass(slots=True)
class _Shelf:
    """The objects of one resource in one namespace ("": all of them)."""

    objects: dict[Key, Raw] = field(default_factory=dict)
    is_listed: bool = False
    blind: str = ""


class Mirror:
    """Thread-safe. Nothing is dropped for want of sight: a watch that fails leaves what it knew."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._changes = 0
        self._shelves: dict[tuple[Resource, str], _Shelf] = {}
        self._config_maps: dict[Key, Raw] = {}
        self._config_maps_blind = ""

    def expect(self, resource: Resource, namespace: str) -> None:
        """A watch on this is about to begin: nothing is complete until it has listed, or told why it can't."""
        with self._lock:
            self._shelves.setdefault((resource, namespace), _Shelf())

    def replace(self, resource: Resource, namespace: str, listed: Iterable[Mapping[str, Any]]) -> None:
        """A list is complete: what is not in it is gone."""
        objects: dict[Key, Raw] = {key_of(raw): prune(resource, raw) for raw in listed}
        with self._changed:
            shelf = self._shelves.setdefault((resource, namespace), _Shelf())
            is_new = not shelf.is_listed or shelf.blind != "" or shelf.objects != objects
            shelf.objects, shelf.is_listed, shelf.blind = objects, True, ""
            if is_new:
                self._tell()

    def put(self, resource: Resource, namespace: str, raw: Mapping[str, Any]) -> None:
        """One object was added or changed."""
        key, kept = key_of(raw), prune(resource, raw)
        with self._changed:
            objects = self._shelves[resource, namespace].objects
            if objects.get(key) != kept:
                objects[key] = kept
                self._tell()

    def drop(self, resource: Resource, namespace: str, raw: Mapping[str, Any]) -> None:
        """One object was deleted."""
        with self._changed:
            if self._shelves[resource, namespace].objects.pop(key_of(raw), None) is not None:
                self._tell()

    def blind(self, resource: Resource, namespace: str, reason: str) -> None:
        """It can't be seen any more, or could not from the start; an empty reason: it is not there at all."""
        with self._changed:
            shelf = self._shelves.setdefault((resource, namespace), _Shelf())
            if reason == shelf.blind and shelf.is_listed and (reason or not shelf.objects):
                return
            shelf.blind, shelf.is_listed = reason, True
            if not reason:
                shelf.objects = {}
            self._tell()

    def take_config_maps(self, found: Mapping[Key, Raw], blind: str) -> None:
        """ConfigMaps as just read one by one."""
        with self._changed:
            if (dict(found), blind) != (self._config_maps, self._config_maps_blind):
                self._config_maps, self._config_maps_blind = dict(found), blind
                self._tell()

    def wait(self, seen: int, seconds: float) -> int:
        """The count of changes, as soon as it is another than `seen`, or time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._changes != seen, timeout=seconds)
            return self._changes

    @property
    def changes(self) -> int:
        """How many changes there were."""
        with self._lock:
            return self._changes

    @property
    def is_complete(self) -> bool:
        """Each resource was listed once, or it is known why it can't be."""
        with self._lock:
            return bool(self._shelves) and all(shelf.is_listed for shelf in self._shelves.values())

    def look(self) -> Objects:
        """What is known now; later changes don't touch it."""
        with self._lock:
            kinds: dict[Resource, dict[Key, Raw]] = {}
            blind: dict[Resource, str] = {}
            for (resource, _), shelf in self._shelves.items():
                kinds.setdefault(resource, {}).update(shelf.objects)
                if shelf.blind:
                    blind[resource] = shelf.blind
            if self._config_maps_blind:
                blind[CONFIG_MAPS] = self._config_maps_blind
            watched = {namespace for resource, namespace in self._shelves if resource.is_namespaced}
            spaces = () if "" in watched else tuple(sorted(watched))
            return Objects(self._cluster, kinds, blind, dict(self._config_maps), spaces=spaces)

    def _tell(self) -> None:
        self._changes += 1
        self._changed.notify_all()


def key_of(raw: Mapping[str, Any]) -> Key:
    metadata = raw["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
