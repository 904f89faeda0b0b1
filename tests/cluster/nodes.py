"""Node objects of machines that don't exist, such as HyperPod's GPU instances, and their heartbeats."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.cluster.pod_states import now
from tests.support.kube_rest import Manifest

LEASES = "kube-node-lease"
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_GROUP = "sagemaker.amazonaws.com/instance-group-name"
_HYPERPOD = {"sagemaker.amazonaws.com/compute-type": "hyperpod"}


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine as its node object describes it; the standard one is an ml.g5.12xlarge.

    Attributes:
        group: HyperPod's instance group; empty: the machine is none of HyperPod's.
        reserved: What the system keeps of each resource, so that allocatable is less than capacity.
    """

    group: str = "workers"
    instance_type: str = "ml.g5.12xlarge"
    gpus: int = 4
    cpu: str = "48"
    memory: str = "192Gi"
    allocatable_cpu: str = "47500m"
    allocatable_memory: str = "184Gi"
    zone: str = "zone-a"
    labels: dict[str, str] = field(default_factory=dict)

    def node(self, name: str, address: str) -> Manifest:
        """Its node object, ready."""
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": self.instance_type,
            "topology.kubernetes.io/zone": self.zone,
            **({**_HYPERPOD, _GROUP: self.group} if self.group else {}),
            **self.labels,
        }
        shared = {
            "pods": "110",
            "ephemeral-storage": "500Gi",
            **({"nvidia.com/gpu": str(self.gpus)} if self.gpus else {}),
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": f"stand-in:///{self.zone}/{name}"},
            "status": {
                "capacity": {"cpu": self.cpu, "memory": self.memory, **shared},
                "allocatable": {"cpu": self.allocatable_cpu, "memory": self.allocatable_memory, **shared},
                "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
                "nodeInfo": _INFO,
                "conditions": [condition("Ready", "True"), *(condition(one, "False") for one in _PRESSURES)],
            },
        }


_INFO = {
    "architecture": "amd64",
    "operatingSystem": "linux",
    "osImage": "stand-in",
    "kernelVersion": "6.1.0",
    "kubeletVersion": "v1.37.2",
    "kubeProxyVersion": "",
    "containerRuntimeVersion": "containerd://2.1.0",
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
}
_WORDS = {
    ("Ready", "True"): ("KubeletReady", "kubelet is posting ready status"),
    ("Ready", "False"): ("KubeletNotReady", "container runtime is down"),
    ("Ready", "Unknown"): ("NodeStatusUnknown", "Kubelet stopped posting node status."),
    ("MemoryPressure", "True"): ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ("MemoryPressure", "False"): ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "True"): ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    ("DiskPressure", "False"): ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "True"): ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
    ("PIDPressure", "False"): ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}


def condition(kind: str, status: str) -> Manifest:
    """A node's condition, in the kubelet's words."""
    reason, message = _WORDS[kind, status]
    times = {"lastHeartbeatTime": now(), "lastTransitionTime": now()}
    return {"type": kind, "status": status, "reason": reason, "message": message, **times}


def lease(name: str) -> Manifest:
    """A node's heartbeat of this instant."""
    renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": LEASES},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed},
    }
