"""A cluster's nodes: their group, what is wrong with them, what can be allocated."""

from __future__ import annotations

from controller.objects import Objects, Raw
from controller.reading.fields import field, flag, items, labels, mapping, moment, named, text
from controller.reading.quantities import amount, bytes_of
from controller.resources import NODES
from tierdeck.deployed import Node

_GROUPS = (
    "sagemaker.amazonaws.com/instance-group-name",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
)
"""Sources: HyperPod, EKS, eksctl, Karpenter, GKE and AKS documentation."""
_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")

_TROUBLES = ("Pressure", "Unavailable", "Problem", "Deadlock", "ReadonlyFilesystem", "Unhealthy")
"""How conditions end that are wrong where they are True."""


def nodes_of(objects: Objects) -> tuple[Node, ...]:
    """All nodes, in the order of names."""
    return tuple(_node(objects.cluster, ref.name, raw) for ref, raw in named(objects, NODES))


def _node(cluster: str, name: str, raw: Raw) -> Node:
    own = labels(raw, "metadata", "labels")
    allocatable = mapping(raw, "status", "allocatable")
    counted = [number for gpu in _GPUS if (number := amount(allocatable.get(gpu))) is not None]
    return Node(
        cluster,
        name,
        text(raw, "metadata", "uid"),
        moment(raw, "metadata", "creationTimestamp") or 0.0,
        next((own[label] for label in _GROUPS if label in own), ""),
        own.get("node.kubernetes.io/instance-type", own.get("beta.kubernetes.io/instance-type", "")),
        not flag(raw, "spec", "unschedulable"),
        tuple(_pressures(raw)),
        amount(field(allocatable, "cpu")),
        bytes_of(field(allocatable, "memory")),
        int(sum(counted)) if counted else None,
    )


def _pressures(raw: Raw) -> list[str]:
    """Conditions that are wrong: those that end in `Ready` unless they are True, those of trouble where they are.

    Sources: Kubernetes, "Node conditions"; EKS's node monitoring agent (`AcceleratedHardwareReady`, `KernelReady`);
    node-problem-detector (`KernelDeadlock`, `ReadonlyFilesystem`, `FrequentKubeletRestart`).
    """
    found = []
    for condition in items(raw, "status", "conditions"):
        kind, status = text(condition, "type"), text(condition, "status")
        if kind.endswith("Ready"):
            if status != "True":
                found.append(f"Not{kind}")
        elif status == "True" and (kind.endswith(_TROUBLES) or kind.startswith("Frequent")):
            found.append(kind)
    return sorted(found)
