"""A Deployment, StatefulSet or DaemonSet as a Workload: revisions, how far its rollout is, why it does not go on.

Sources: Kubernetes, pkg/controller/deployment (conditions and reasons, the annotation
`deployment.kubernetes.io/revision`) and pkg/controller/history (ControllerRevision).
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.objects import Raw
from controller.reading.fields import items, mapping, moment, text, whole
from controller.reading.lineage import Found, Lineage
from controller.reading.processes import Spec
from tierdeck.deployed import Revision, Workload

_REVISION = "deployment.kubernetes.io/revision"
_GOING_ON = frozenset({"ReplicaSetUpdated", "NewReplicaSetCreated", "FoundNewReplicaSet", "ProgressDeadlineExceeded"})


def read_workload(found: Found, spec: Spec, lineage: Lineage) -> Workload:
    """The workload.

    Args:
        spec: of its template.
    """
    ref, raw = found
    revisions = lineage.revisions(found)
    wanted = (
        whole(raw, "status", "desiredNumberScheduled") if ref.kind == "DaemonSet" else whole(raw, "spec", "replicas")
    )
    ready = "numberReady" if ref.kind == "DaemonSet" else "readyReplicas"
    return Workload(
        ref,
        text(raw, "metadata", "uid"),
        wanted,
        whole(raw, "status", ready) or 0,
        tuple((process.name, process.component) for process in spec.processes),
        tuple(sorted((_revision(one) for _, one in revisions), key=lambda one: (one.number, one.created_at))),
        _is_rolling(ref.kind, raw, wanted),
        _trouble(raw, (one for _, one in revisions)),
    )


def _revision(raw: Raw) -> Revision:
    written = text(raw, "metadata", "annotations", _REVISION)
    number = whole(raw, "revision") or (
        int(written) if written.isascii() and written.isdigit() and len(written) < 16 else 0
    )
    template = mapping(raw, "data", "spec", "template") or mapping(raw, "spec", "template")
    images = tuple((text(one, "name"), text(one, "image")) for one in items(template, "spec", "containers"))
    return Revision(number, text(raw, "metadata", "uid"), moment(raw, "metadata", "creationTimestamp") or 0.0, images)


def _is_rolling(kind: str, raw: Raw, wanted: int | None) -> bool:
    observed, generation = whole(raw, "status", "observedGeneration"), whole(raw, "metadata", "generation")
    if generation is not None and observed is not None and observed < generation:
        return True
    if kind == "DaemonSet":
        present, updated = (whole(raw, "status", f"{name}NumberScheduled") or 0 for name in ("current", "updated"))
        return wanted is not None and min(present, updated) < wanted
    total, updated = whole(raw, "status", "replicas") or 0, whole(raw, "status", "updatedReplicas") or 0
    if wanted is not None and total < wanted:
        return True
    if kind == "StatefulSet":
        current, update = text(raw, "status", "currentRevision"), text(raw, "status", "updateRevision")
        return bool(update) and current != update
    reason = text(_condition(raw, "Progressing"), "reason")
    return total > updated or (wanted is not None and updated < wanted) or reason in _GOING_ON


def _trouble(raw: Raw, revisions: Iterable[Raw]) -> str:
    progress = _condition(raw, "Progressing")
    if text(progress, "status") == "False":
        return _said(progress)
    for one in (raw, *revisions):
        failure = _condition(one, "ReplicaFailure")
        if text(failure, "status") == "True":
            return _said(failure)
    return ""


def _condition(raw: Raw, kind: str) -> Raw:
    return next((one for one in items(raw, "status", "conditions") if text(one, "type") == kind), {})


def _said(condition: Raw) -> str:
    return ": ".join(part for part in (text(condition, "reason"), text(condition, "message")) if part)


def wanted_of(workloads: Iterable[Workload]) -> int | None:
    """Pods wanted of several workloads; None where one does not say, or there are none."""
    numbers = [one.wanted for one in workloads]
    return sum(number for number in numbers if number is not None) if numbers and None not in numbers else None
