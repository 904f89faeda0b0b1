"""ConfigMaps that a workload names: their keys, and the files that they become in a container."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from controller.objects import Objects, Raw
from controller.reading.fields import items, labels, text


@dataclass(frozen=True, slots=True)
class Configs:
    """The ConfigMaps of one namespace."""

    objects: Objects
    namespace: str

    def data(self, name: str) -> Mapping[str, str] | str:
        """What it holds; a text is the reason why that is not known."""
        if not name:
            return "a ConfigMap without a name"
        raw = self.objects.config_map(self.namespace, name)
        if raw is not None:
            return labels(raw, "data")
        if not self.objects.sees_config_maps():
            return f"ConfigMap {self.namespace}/{name}, which may not be read"
        return f"ConfigMap {self.namespace}/{name}, which is missing or was not read yet"

    def file(self, path: str, container: Raw, volumes: list[Raw]) -> str | tuple[str]:
        """Text of a file in a container that comes from a ConfigMap; a 1-tuple is the reason why not."""
        found = config_file(path, container, volumes)
        if isinstance(found, str):
            return (found,)
        data = self.data(found.name)
        if isinstance(data, str):
            return (f"{path} comes from {data}",)
        if found.key not in data:
            return (f"{path} is no key of ConfigMap {self.namespace}/{found.name}",)
        return data[found.key]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file of a container that is a key of a ConfigMap.

    Attributes:
        is_copied: mounted by subPath, so that a container keeps what it was started with.
    """

    name: str
    key: str
    is_copied: bool


def config_file(path: str, container: Raw, volumes: list[Raw]) -> ConfigFile | str:
    """Where a file of a container comes from; a text is the reason why that is no ConfigMap."""
    mount = _mount_of(path, container)
    if mount is None:
        return f"{path} is a file inside the image"
    volume = next((one for one in volumes if text(one, "name") == text(mount, "name")), {})
    name = text(volume, "configMap", "name")
    if not name:
        return f"{path} is on a volume that is no ConfigMap"
    below = posixpath.relpath(path, text(mount, "mountPath"))
    below = posixpath.normpath(posixpath.join(text(mount, "subPath"), below))
    paths = {text(one, "path"): text(one, "key") for one in items(volume, "configMap", "items")}
    is_copied = bool(text(mount, "subPath") or text(mount, "subPathExpr"))
    return ConfigFile(name, paths.get(below, "" if paths else below), is_copied)


def _mount_of(path: str, container: Raw) -> Raw | None:
    """The deepest mount that holds a path."""
    fitting = [mount for mount in items(container, "volumeMounts") if is_below(path, text(mount, "mountPath"))]
    return max(fitting, key=lambda mount: len(text(mount, "mountPath")), default=None)


def is_below(path: str, folder: str) -> bool:
    """It is that folder or in it."""
    if not path.startswith("/") or not folder.startswith("/"):
        return False
    inner, outer = posixpath.normpath(path), posixpath.normpath(folder)
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")
