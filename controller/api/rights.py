"""The rules that let the inventory see: what the chart grants, and what an operator is told when one is missing."""

from __future__ import annotations

from collections.abc import Iterable

from controller.resources import CLAIMS, CONFIG_MAPS, NODES, PODS, RESOURCES, STORAGE_CLASSES, Resource

READ = ("get", "list", "watch")
"""All that observing needs; a test holds the chart's role to it."""
_WATCH = ("list", "watch")


def rule(resource: Resource) -> str:
    """The RBAC rule that grants it, as YAML on one line, fit for a Role or ClusterRole."""
    return _rule(resource, ("get",) if resource is CONFIG_MAPS else READ)


def rules(resources: Iterable[Resource] = (*RESOURCES, CONFIG_MAPS)) -> str:
    """All of them, a line each."""
    return "\n".join(rule(resource) for resource in resources)


def injector_cluster_rules() -> str:
    """What the injector watches that belongs to no namespace: it can't tell what would hurt without."""
    return "\n".join(_rule(resource, _WATCH) for resource in (NODES, STORAGE_CLASSES))


def injector_rules(owners: Iterable[Resource]) -> str:
    """What it needs in each namespace: to watch Curvine's pods and claims, to ask for owners, to say what it left.

    Beyond these it may read and write one Secret and one webhook's configuration, each by its name.

    Args:
        owners: kinds that a pod may come from.
    """
    watched = [_rule(resource, _WATCH) for resource in (PODS, CLAIMS)]
    asked = [_rule(one, ("get",)) for one in owners]
    return "\n".join([*watched, *asked, '- {apiGroups: [""], resources: [events], verbs: [create]}'])


def _rule(resource: Resource, verbs: Iterable[str]) -> str:
    return f'- {{apiGroups: ["{resource.group}"], resources: [{resource.plural}], verbs: [{", ".join(verbs)}]}}'
