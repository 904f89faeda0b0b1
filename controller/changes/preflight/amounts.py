"""What a pod asks for, by resource: memory in bytes, CPUs in cores, devices one by one.

Source: Kubernetes, "Resource sharing within containers": containers and sidecars add up; an init container counts
with the sidecars before it, where that is more. A limit without a request is the request too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from controller.objects import Raw
from controller.reading.fields import items, mapping, text
from controller.reading.quantities import quantity

Amounts = Mapping[str, Decimal]
MEMORY = "memory"
PODS = "pods"
ZERO = Decimal(0)


def amounts(raw: Raw) -> Amounts:
    """Quantities by resource; what is none is left out."""
    read = ((name, quantity(value)) for name, value in raw.items())
    return {name: number for name, number in read if number is not None}


def requests_of(pod: Raw) -> Amounts:
    """What the scheduler counts for a pod spec; one pod of the node's number of pods with it."""
    return {**_of_pod(pod, _requests), PODS: Decimal(1)}


def limits_of(pod: Raw) -> Amounts:
    """What a quota counts as the pod's limits."""
    return _of_pod(pod, lambda one: amounts(mapping(one, "resources", "limits")))


def is_device(resource: str) -> bool:
    """A GPU or the like: `nvidia.com/gpu`."""
    return "/" in resource


def plus(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, ZERO) + other.get(name, ZERO) for name in {*one, *other}}


def minus(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, ZERO) - other.get(name, ZERO) for name in {*one, *other}}


def _requests(container: Raw) -> Amounts:
    return {
        **amounts(mapping(container, "resources", "limits")),
        **amounts(mapping(container, "resources", "requests")),
    }


def _of_pod(pod: Raw, of: Callable[[Raw], Amounts]) -> Amounts:
    total: Amounts = {}
    sidecars: Amounts = {}
    peak: Amounts = {}
    for one in items(pod, "containers"):
        total = plus(total, of(one))
    for one in items(pod, "initContainers"):
        if text(one, "restartPolicy") == "Always":
            sidecars = plus(sidecars, of(one))
            total = plus(total, of(one))
            now = sidecars
        else:
            now = plus(sidecars, of(one))
        peak = {name: max(peak.get(name, ZERO), now.get(name, ZERO)) for name in {*peak, *now}}
    return {name: max(total.get(name, ZERO), peak.get(name, ZERO)) for name in {*total, *peak}}
