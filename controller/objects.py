"""The objects that are known of a cluster, as the backends look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.resources import CONFIG_MAPS, Resource
from tierdeck.l2.file import L2File

Raw = Mapping[str, Any]
"""An object as the API's JSON has it; fields may be missing or of a wrong type: read it with care."""


@dataclass(frozen=True, slots=True)
class Objects:
    """One moment's view; it does not change while it is looked at.

    Attributes:
        kinds: by resource and (namespace, name).
        blind: resources that can't be seen, with the reason: their absence says nothing.
        config_maps: by (namespace, name), those asked for before that could be read.
        l2: which endpoints are to have L2 by the injector.
        asked: filled with the (namespace, name) of each ConfigMap asked for; those that are missing are read next.
        spaces: namespaces that are looked into; empty: all of them.
    """

    cluster: str
    kinds: Mapping[Resource, Mapping[tuple[str, str], Raw]]
    blind: Mapping[Resource, str] = field(default_factory=dict)
    config_maps: Mapping[tuple[str, str], Raw] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)
    l2: L2File = field(default_factory=L2File)
    spaces: tuple[str, ...] = ()

    def all(self, resource: Resource) -> Iterable[Raw]:
        """Every object of a kind; empty where it can't be seen."""
        return self.kinds.get(resource, {}).values()

    def get(self, resource: Resource, namespace: str, name: str) -> Raw | None:
        """One object."""
        return self.kinds.get(resource, {}).get((namespace, name))

    def config_map(self, namespace: str, name: str) -> Raw | None:
        """A ConfigMap; None where it is missing, can't be read (`blind` says so), or was not asked for before."""
        self.asked.add((namespace, name))
        return self.config_maps.get((namespace, name))

    def sees(self, resource: Resource) -> bool:
        """Whether the absence of an object of this kind means that there is none."""
        return resource not in self.blind

    def sees_config_maps(self) -> bool:
        return CONFIG_MAPS not in self.blind

    def where(self, resource: Resource, fits: Callable[[Raw], bool]) -> Iterator[Raw]:
        """Objects of a kind that fit."""
        return (one for one in self.all(resource) if fits(one))
