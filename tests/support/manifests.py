"""Manifests as the objects of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controller.objects import Objects, Raw
from controller.resources import RESOURCES, Resource

FOLDER = Path(__file__).parents[1] / "fixtures" / "cluster"
_BY_KIND = {resource.kind: resource for resource in RESOURCES}


@cache
def documents(name: str) -> list[dict[str, Any]]:
    """The manifests of a file in `tests/fixtures/cluster`, a list each; copy before you change one."""
    found: list[dict[str, Any]] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    return found


def objects_of(found: Iterable[Mapping[str, Any]], blind: Mapping[Resource, str] | None = None) -> Objects:
    """These objects; ConfigMaps among them count as read."""
    kinds: dict[Resource, dict[tuple[str, str], Raw]] = {}
    config_maps: dict[tuple[str, str], Raw] = {}
    for one in found:
        key = one["metadata"].get("namespace", ""), one["metadata"]["name"]
        if one["kind"] == "ConfigMap":
            config_maps[key] = one
        else:
            kinds.setdefault(_BY_KIND[one["kind"]], {})[key] = one
    return Objects("prod", kinds, blind or {}, config_maps)


def example(*names: str) -> Objects:
    return objects_of(one for name in names for one in documents(name))
