"""Whether the queue that Kueue keeps the pods in has room for them as they will be.

Source: Kueue, kueue.x-k8s.io/v1beta1 (label `kueue.x-k8s.io/queue-name`; ClusterQueue `nominalQuota`, `flavorsUsage`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.amounts import ZERO, Amounts, minus, plus
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.quota import amount, more_of
from controller.objects import Raw
from controller.reading.fields import items, labels, text
from controller.reading.lineage import template_labels
from controller.reading.quantities import quantity
from tierdeck.changes.plan import Refusal

_LABEL = "kueue.x-k8s.io/queue-name"
_API = "/apis/kueue.x-k8s.io/v1beta1"


def find_queue(ahead: Ahead) -> Iterator[Finding]:
    """Only what is labelled with a queue."""
    for one in ahead.restarts:
        name = template_labels(one.after).get(_LABEL) or labels(one.after, "metadata", "labels").get(_LABEL, "")
        if name:
            yield from _queue(ahead, one, name)


def _queue(ahead: Ahead, one: Restart, name: str) -> Iterator[Finding]:
    unchecked = f"Whether Kueue's queue {one.ref.namespace}/{name} admits the pods of {one.ref}"
    locals_ = ahead.listed(f"{_API}/namespaces/{one.ref.namespace}/localqueues", unchecked)
    clusters = ahead.listed(f"{_API}/clusterqueues", unchecked)
    if isinstance(locals_, str) or isinstance(clusters, str):
        yield locals_ if isinstance(locals_, str) else str(clusters)
        return
    queue = _cluster_queue(locals_, clusters, name)
    if queue is None:
        yield f"{unchecked} is not checked: the queue, or what it belongs to, is not there."
    elif text(queue, "spec", "cohort") or text(queue, "spec", "cohortName"):
        yield f"{unchecked} is not checked: it may borrow from its cohort."
    else:
        yield from _room(one, queue)


def _cluster_queue(locals_: Sequence[Raw], clusters: Sequence[Raw], name: str) -> Raw | None:
    own = next((one for one in locals_ if text(one, "metadata", "name") == name), {})
    wanted = text(own, "spec", "clusterQueue")
    return next((one for one in clusters if wanted and text(one, "metadata", "name") == wanted), None)


def _room(one: Restart, queue: Raw) -> Iterator[Refusal]:
    nominal: Amounts = {}
    used: Amounts = {}
    for group in items(queue, "spec", "resourceGroups"):
        for flavor in items(group, "flavors"):
            nominal = plus(nominal, _read(flavor, "nominalQuota"))
    for flavor in items(queue, "status", "flavorsUsage"):
        used = plus(used, _read(flavor, "total"))
    left, more = minus(nominal, used), more_of(one)
    for resource in sorted(nominal):
        need = more.get(f"requests.{resource}", ZERO)
        if need > 0 and left[resource] < need:
            name = text(queue, "metadata", "name")
            missing = amount(resource, need - left[resource], is_missing=True)
            yield Refusal(
                "quota",
                f"ClusterQueue {name} leaves {amount(resource, max(left[resource], ZERO))} of {resource}, and the "
                f"change of {one.ref} takes {amount(resource, need)} more: {missing} are missing.",
                f"Raise {resource} of ClusterQueue {name}, or wish less.",
            )


def _read(flavor: Raw, name: str) -> Amounts:
    found = {text(one, "name"): quantity(one.get(name)) for one in items(flavor, "resources")}
    return {resource: number for resource, number in found.items() if number is not None}


QUEUE = Check("kueue", ("quota",), find_queue)
