"""What the live CustomResourceDefinition allows: its strategies, and which fields it has.

Source: Kubernetes API, apiextensions.k8s.io/v1 (openAPIV3Schema).
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.api.errors import ForbiddenError, NotServedError
from controller.changes.planners.hyperpod_resource import VERSION, HyperPodResource
from controller.objects import Raw
from controller.reading.fields import field, items, mapping, text, words
from tierdeck.deployed import ObjectRef

KNOWN = ("prefixaware", "kvaware", "session", "roundrobin")
"""Source: sagemaker-hyperpod-cli, chart 2.2.2, intelligentRoutingSpec.routingStrategy."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of `spec` in v1.

    Attributes:
        doubt: why it could not be read; empty: it was.
    """

    spec: Raw
    doubt: str = ""

    @property
    def strategies(self) -> tuple[str, ...]:
        """Of the live definition; those of chart 2.2.2 where it can't be read."""
        found = words(self._at("intelligentRoutingSpec", "routingStrategy"), "enum")
        return tuple(found) if found else KNOWN

    def has(self, *path: str) -> bool:
        return bool(self._at(*path))

    def _at(self, *path: str) -> Raw:
        found = self.spec
        for name in path:
            found = mapping(found, "properties", name)
        return found


def read_schema(found: HyperPodResource) -> Schema:
    """The definition as the API server has it now; who may not read it plans with what is published."""
    name = found.resource.name
    try:
        raw = found.look.reader.get(ObjectRef("CustomResourceDefinition", "", name))
    except (ForbiddenError, NotServedError) as error:
        return Schema({}, f"CustomResourceDefinition {name} can't be read ({error.line()})")
    for version in items(raw, "spec", "versions"):
        if text(version, "name") == VERSION:
            spec = mapping(field(version, "schema", "openAPIV3Schema", "properties"), "spec")
            return Schema(spec, "" if spec else f"CustomResourceDefinition {name} states no schema of {VERSION}")
    return Schema({}, f"CustomResourceDefinition {name} has no {VERSION}")
