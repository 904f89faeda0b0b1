"""The rules that let the inventory see: what the chart grants, and what an operator is told when one is missing."""

from __future__ import annotations

from collections.abc import Iterable

from controller.resources import (
    CLAIMS,
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_CONFIGS,
    HYPERPOD_GROUP,
    JUMPSTART_MODELS,
    NODES,
    PODS,
    RESOURCES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VLLM_ROUTERS,
    VLLM_RUNTIMES,
    Resource,
)

READ = ("get", "list", "watch")
"""All that observing needs; a test holds the chart's role to it."""
WRITE = ("patch", "update")
"""All that changing takes; nothing is ever made or deleted."""
_LMCACHE_ENGINES = Resource("lmcache.lmcache.ai", ("v1alpha1",), "lmcacheengines", "LMCacheEngine", is_custom=True)
WRITABLE = (
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    CONFIG_MAPS,
    ENDPOINT_CONFIGS,
    JUMPSTART_MODELS,
    VLLM_RUNTIMES,
    VLLM_ROUTERS,
    _LMCACHE_ENGINES,
)
"""What changes are written to."""
_BESIDES = (
    Resource("", ("v1",), "resourcequotas", "ResourceQuota"),
    Resource("", ("v1",), "limitranges", "LimitRange"),
    Resource("policy", ("v1",), "poddisruptionbudgets", "PodDisruptionBudget"),
    Resource("discovery.k8s.io", ("v1",), "endpointslices", "EndpointSlice"),
    Resource("kueue.x-k8s.io", ("v1beta1",), "localqueues", "LocalQueue"),
    Resource(HYPERPOD_GROUP, ("v1alpha1",), "inferencegatewayconfigs", "InferenceGatewayConfig"),
    _LMCACHE_ENGINES,
)
"""What plans and preflights ask for beside what is watched."""
_BESIDES_OF_CLUSTER = (
    Resource("", ("v1",), "namespaces", "Namespace", is_namespaced=False),
    Resource("apiextensions.k8s.io", ("v1",), "customresourcedefinitions", "CustomResourceDefinition",
             is_namespaced=False),
    Resource("admissionregistration.k8s.io", ("v1",), "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
             is_namespaced=False),
    Resource("kueue.x-k8s.io", ("v1beta1",), "clusterqueues", "ClusterQueue", is_namespaced=False),
)  # fmt: skip
_REVIEWS = Resource(
    "authorization.k8s.io", ("v1",), "selfsubjectaccessreviews", "SelfSubjectAccessReview", is_namespaced=False
)
_USERS = Resource("", ("v1",), "users", "User", is_namespaced=False)
_WATCH = ("list", "watch")
_LOOK = ("get", "list")


def rule(resource: Resource) -> str:
    """The RBAC rule that grants it, as YAML on one line, fit for a Role or ClusterRole."""
    return _rule(resource, ("get",) if resource is CONFIG_MAPS else READ)


def rules(resources: Iterable[Resource] = (*RESOURCES, CONFIG_MAPS)) -> str:
    """All of them, a line each."""
    return "\n".join(rule(resource) for resource in resources)


def write_rule(resource: Resource) -> str:
    """The rule that lets objects of a kind be changed."""
    return _rule(resource, WRITE)


def change_write_rules() -> str:
    """What changing takes in the namespaces that may be changed, and nowhere else."""
    return "\n".join(write_rule(resource) for resource in WRITABLE)


def change_read_rules() -> str:
    """What it looks at in each namespace beyond observing."""
    return "\n".join(_rule(resource, _LOOK) for resource in _BESIDES)


def change_cluster_rules(*, impersonates: bool) -> str:
    """What it takes that belongs to no namespace: to look, to ask what it may, and maybe to write as another."""
    read = [_rule(resource, _LOOK) for resource in _BESIDES_OF_CLUSTER]
    asked = [_rule(_REVIEWS, ("create",))]
    return "\n".join([*read, *asked, *([_rule(_USERS, ("impersonate",))] if impersonates else [])])


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
