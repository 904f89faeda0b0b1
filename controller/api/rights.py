"""The rules that let the inventory see: what the chart grants, and what an operator is told when one is missing."""

from __future__ import annotations

from collections.abc import Iterable

from controller.resources import CONFIG_MAPS, RESOURCES, Resource

READ = ("get", "list", "watch")
"""All that observing needs; a test holds the chart's role to it."""


def rule(resource: Resource) -> str:
    """The RBAC rule that grants it, as YAML on one line, fit for a Role or ClusterRole."""
    verbs = ", ".join(("get",) if resource is CONFIG_MAPS else READ)
    return f'- {{apiGroups: ["{resource.group}"], resources: [{resource.plural}], verbs: [{verbs}]}}'


def rules(resources: Iterable[Resource] = (*RESOURCES, CONFIG_MAPS)) -> str:
    """All of them, a line each."""
    return "\n".join(rule(resource) for resource in resources)
