"""A pod as a PodRun: where it runs, whether it is ready, how its containers fare.

Source: Kubernetes API, core/v1 PodStatus and ContainerStatus.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.objects import Raw
from controller.reading.fields import items, labels, mapping, moment, text, whole
from controller.reading.lineage import Found
from controller.reading.processes import Process, Spec
from tierdeck.deployed import ContainerRun, ObjectRef, PodRun

_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_OVER = frozenset({"Succeeded", "Failed"})


def read_pod(found: Found, spec: Spec, workload: ObjectRef | None, revisions: Iterable[Found] = ()) -> PodRun:
    """The pod.

    Args:
        spec: its own.
        revisions: of its workload: the one that it was made from is looked for.
    """
    ref, raw = found
    statuses = {
        text(one, "name"): one
        for kind in ("initContainerStatuses", "containerStatuses")
        for one in items(raw, "status", kind)
    }
    containers = tuple(_container(process, statuses.get(process.name, {})) for process in spec.processes)
    ready = text(_condition(raw, "Ready"), "status") == "True"
    return PodRun(
        ref.name,
        ref.namespace,
        text(raw, "metadata", "uid"),
        text(raw, "spec", "nodeName"),
        text(raw, "status", "podIP"),
        text(raw, "status", "phase"),
        ready,
        moment(raw, "metadata", "creationTimestamp") or 0.0,
        workload,
        _revision(raw, revisions),
        containers,
        "" if ready else _trouble(raw, statuses.values()),
    )


def has_address(raw: Raw) -> bool:
    """It can be scraped: it has an address and is not over."""
    return bool(text(raw, "status", "podIP")) and text(raw, "status", "phase") not in _OVER


def is_running(raw: Raw) -> bool:
    """It counts for what is in effect: it runs, and is not on its way out."""
    return text(raw, "status", "phase") == "Running" and not text(raw, "metadata", "deletionTimestamp")


def _revision(raw: Raw, revisions: Iterable[Found]) -> str:
    """Of a Deployment's pod its ReplicaSet's uid, of the others that of the ControllerRevision it is labelled with."""
    owners = {(text(one, "kind"), text(one, "name")) for one in items(raw, "metadata", "ownerReferences")}
    made = labels(raw, "metadata", "labels").get("controller-revision-hash", "")
    for ref, one in revisions:
        is_own = (ref.kind, ref.name) in owners
        is_labelled = bool(made) and (ref.name == made or ref.name.endswith(f"-{made}"))
        if is_own or (ref.kind == "ControllerRevision" and is_labelled):
            return text(one, "metadata", "uid")
    return ""


def _container(process: Process, status: Raw) -> ContainerRun:
    waiting = text(status, "state", "waiting", "reason")
    # of the run before the one that the restarts count; what ended just now has not been restarted yet
    ended = mapping(status, "lastState", "terminated") or mapping(status, "state", "terminated")
    code = ended.get("exitCode")
    return ContainerRun(
        process.name,
        process.component,
        process.image,
        whole(status, "restartCount") or 0,
        moment(status, "state", "running", "startedAt"),
        text(ended, "reason"),
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        moment(ended, "finishedAt"),
        "" if waiting in _STARTING else waiting,
    )


def _trouble(raw: Raw, statuses: Iterable[Raw]) -> str:
    if text(raw, "status", "reason"):
        return _said(mapping(raw, "status"))
    scheduled = _condition(raw, "PodScheduled")
    if text(scheduled, "status") == "False":
        return _said(scheduled)
    for status in statuses:
        waiting = mapping(status, "state", "waiting")
        if waiting and text(waiting, "reason") not in _STARTING:
            return _said(waiting)
    if text(raw, "metadata", "deletionTimestamp"):
        return "Terminating"
    return _said(_condition(raw, "Ready"))


def _condition(raw: Raw, kind: str) -> Raw:
    return next((one for one in items(raw, "status", "conditions") if text(one, "type") == kind), {})


def _said(part: Raw) -> str:
    return ": ".join(word for word in (text(part, "reason"), text(part, "message")) if word)
