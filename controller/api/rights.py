"""The rules that let the inventory see: what the chart grants, and what an operator is told when one is missing."""

from __future__ import annotations

from collections.abc import Iterable

from controller.resources import CLAIMS, CONFIG_MAPS, NODES, PODS, RESOURCES, STORAGE_CLASSES, Resource

READ = ("get", "list", "watch")
"""All that observing needs; a test holds the chart's role to it."""


def rule(resource: Resource) -> str:
    """The RBAC rule that grants it, as YAML on one line, fit for a Role or ClusterRole."""
    verbs = ", ".join(("get",) if resource is CONFIG_MAPS else READ)
    return f'- {{apiGroups: ["{resource.group}"], resources: [{resource.plural}], verbs: [{verbs}]}}'


def rules(resources: Iterable[Resource] = (*RESOURCES, CONFIG_MAPS)) -> str:
    """All of them, a line each."""
    return "\n".join(rule(resource) for resource in resources)


def injector_rules(owners: Iterable[Resource]) -> str:
    """What the injector needs in all namespaces: to watch what could hurt, to ask for owners, and to say what it left.

    Beyond these it may read and write one Secret and one webhook's configuration, each by its name.

    Args:
        owners: kinds that a pod may come from.
    """
    watched = [rule(resource) for resource in (NODES, STORAGE_CLASSES, PODS, CLAIMS)]
    asked = [f'- {{apiGroups: ["{one.group}"], resources: [{one.plural}], verbs: [get]}}' for one in owners]
    return "\n".join([*watched, *asked, '- {apiGroups: [""], resources: [events], verbs: [create]}'])
