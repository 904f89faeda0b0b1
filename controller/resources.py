"""What the inventory reads of the Kubernetes API: nothing else is asked for, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

HYPERPOD_GROUP = "inference.sagemaker.aws.amazon.com"
PRODUCTION_STACK_GROUP = "production-stack.vllm.ai"


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object.

    Attributes:
        plural: as in the API's path and in RBAC rules.
        versions: those that this code reads, the one it prefers first.
        is_custom: it comes with a CustomResourceDefinition, and may be missing without harm.
    """

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    is_namespaced: bool = True
    is_custom: bool = False

    @property
    def name(self) -> str:
        """As kubectl calls it: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _custom(group: str, plural: str, kind: str, *versions: str) -> Resource:
    return Resource(group, versions, plural, kind, is_custom=True)


PODS = Resource("", ("v1",), "pods", "Pod")
NODES = Resource("", ("v1",), "nodes", "Node", is_namespaced=False)
CLAIMS = Resource("", ("v1",), "persistentvolumeclaims", "PersistentVolumeClaim")
DEPLOYMENTS = Resource("apps", ("v1",), "deployments", "Deployment")
REPLICA_SETS = Resource("apps", ("v1",), "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", ("v1",), "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", ("v1",), "daemonsets", "DaemonSet")
CONTROLLER_REVISIONS = Resource("apps", ("v1",), "controllerrevisions", "ControllerRevision")
AUTOSCALERS = Resource("autoscaling", ("v2",), "horizontalpodautoscalers", "HorizontalPodAutoscaler")
STORAGE_CLASSES = Resource("storage.k8s.io", ("v1",), "storageclasses", "StorageClass", is_namespaced=False)
SCALED_OBJECTS = _custom("keda.sh", "scaledobjects", "ScaledObject", "v1alpha1")
ENDPOINT_CONFIGS = _custom(HYPERPOD_GROUP, "inferenceendpointconfigs", "InferenceEndpointConfig", "v1")
JUMPSTART_MODELS = _custom(HYPERPOD_GROUP, "jumpstartmodels", "JumpStartModel", "v1")
VLLM_RUNTIMES = _custom(PRODUCTION_STACK_GROUP, "vllmruntimes", "VLLMRuntime", "v1alpha1")
VLLM_ROUTERS = _custom(PRODUCTION_STACK_GROUP, "vllmrouters", "VLLMRouter", "v1alpha1")
CACHE_SERVERS = _custom(PRODUCTION_STACK_GROUP, "cacheservers", "CacheServer", "v1alpha1")

RESOURCES = (
    PODS,
    NODES,
    CLAIMS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    CONTROLLER_REVISIONS,
    AUTOSCALERS,
    STORAGE_CLASSES,
    SCALED_OBJECTS,
    ENDPOINT_CONFIGS,
    JUMPSTART_MODELS,
    VLLM_RUNTIMES,
    VLLM_ROUTERS,
    CACHE_SERVERS,
)
"""All are read by list and watch."""

CONFIG_MAPS = Resource("", ("v1",), "configmaps", "ConfigMap")
"""Read one by one, by the names that workloads mount or are told."""


def path_of(resource: Resource, namespace: str, name: str) -> str:
    """Where an object is, in the version that is preferred."""
    base = f"/apis/{resource.group}/{resource.versions[0]}" if resource.group else f"/api/{resource.versions[0]}"
    inside = f"/namespaces/{namespace}" if resource.is_namespaced else ""
    return f"{base}{inside}/{resource.plural}/{name}"
