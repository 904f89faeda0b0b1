"""How far the rollout of one workload is, and what holds up the pods of its newest revision.

Sources: Kubernetes, "Deployment status" (kubectl's own judgement of a rollout), core/v1 PodStatus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controller.changes.changer import Progress, Verified
from controller.objects import Objects, Raw
from controller.reading.fields import items, labels, mapping, moment, text, whole
from controller.reading.lineage import Found, Lineage
from controller.reading.pods import is_running
from controller.resources import CONTROLLER_REVISIONS, PODS, REPLICA_SETS
from tierdeck.deployed import ObjectRef

_REVISION = "deployment.kubernetes.io/revision"
_HASHES = ("pod-template-hash", "controller-revision-hash")
_STARTS_NOT = frozenset({"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError"})
_CLOCKS_SECONDS = 30.0
"""By how much the clocks of nodes may be off."""
_UNDO = "Revert the change."
_SMALLER = "Revert the change, or ask for a smaller L1: the container's memory limit is too small for it."
_LOGS = "Its log says why (kubectl logs --previous)."
ALL_WELL = Verified(Progress.DONE, "")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long something may be wrong that may heal by itself, in seconds.

    Attributes:
        unscheduled: a pod that no node has room for: an older one may be on its way out, or a node on its way in.
        rendering: an operator has not made its objects of what was written.
        rolling: everything together.
    """

    unscheduled: float = 180.0
    rendering: float = 180.0
    rolling: float = 3600.0


@dataclass(frozen=True, slots=True)
class Rollout:
    """One workload with its pods, read just now.

    Attributes:
        newest: pods of the newest revision.
        span: when the change was written, and now, epoch seconds.
    """

    workload: Found
    pods: Sequence[Found]
    newest: Sequence[Found]
    span: tuple[float, float]

    @classmethod
    def of(cls, workload: Found, objects: Objects, span: tuple[float, float]) -> Rollout:
        """The workload with what `objects` has of it: at least the pods and revisions of its namespace."""
        lineage = Lineage(objects)
        pods = lineage.pods(workload)
        wanted = _hash(workload, lineage)
        newest = [pod for pod in pods if wanted and wanted in _hashes(pod[1])]
        return cls(workload, pods, newest, span)

    @property
    def running(self) -> list[Found]:
        return [pod for pod in self.pods if is_running(pod[1])]

    def judge(self, patience: Patience) -> Verified:
        """Whether it is through, still going on, or stuck."""
        troubles = [found for pod in self.newest for found in _troubles(pod, self.span, patience)]
        failed = [one for one in troubles if one.progress is Progress.FAILED]
        if failed:
            return failed[0]
        ref, raw = self.workload
        stuck = _stuck(raw, self.span[1], patience)
        if stuck:
            return Verified(Progress.FAILED, f"the rollout of {ref} does not go on: {stuck}", _UNDO)
        missing = _missing(ref, raw)
        if missing and troubles:
            return troubles[0]
        if missing:
            return Verified(Progress.WAITING, f"{ref} rolls out: {missing}")
        unready = [pod for pod, own in self.newest if _condition(own, "Ready").get("status") != "True"]
        if unready:
            return Verified(Progress.WAITING, f"{unready[0]} is not ready")
        return ALL_WELL


def _missing(ref: ObjectRef, raw: Raw) -> str:
    """What a rollout still lacks; empty: it is through."""
    status = mapping(raw, "status")
    if (whole(status, "observedGeneration") or 0) < (whole(raw, "metadata", "generation") or 0):
        return "its controller has not seen the change yet"
    if ref.kind == "DaemonSet":
        wanted = whole(status, "desiredNumberScheduled") or 0
        updated, ready = whole(status, "updatedNumberScheduled") or 0, whole(status, "numberAvailable") or 0
        total = wanted
    else:
        wanted = 1 if whole(raw, "spec", "replicas") is None else whole(raw, "spec", "replicas") or 0
        updated, ready = whole(status, "updatedReplicas") or 0, whole(status, "availableReplicas") or 0
        total = whole(status, "replicas") or 0
        current, update = text(status, "currentRevision"), text(status, "updateRevision")
        if ref.kind == "StatefulSet" and update and current != update and updated >= wanted:
            return f"{updated} of {wanted} pods are of the newest revision"
    if updated < wanted:
        return f"{updated} of {wanted} pods are of the newest revision"
    if total > updated:
        return f"{total - updated} older pods are still there"
    return "" if ready >= wanted else f"{ready} of {wanted} pods are available"


def _stuck(raw: Raw, at: float, patience: Patience) -> str:
    progress = _condition(raw, "Progressing")
    if text(progress, "status") == "False" and text(progress, "reason") == "ProgressDeadlineExceeded":
        observed = (whole(raw, "status", "observedGeneration") or 0) >= (whole(raw, "metadata", "generation") or 0)
        return _said(progress) if observed else ""
    failure = _condition(raw, "ReplicaFailure")
    since = moment(failure, "lastTransitionTime")
    if text(failure, "status") == "True" and since is not None and at - since > patience.unscheduled:
        return _said(failure)
    return ""


def _troubles(pod: Found, span: tuple[float, float], patience: Patience) -> Iterator[Verified]:
    """What holds up one pod; FAILED where it won't heal by itself."""
    ref, raw = pod
    if text(raw, "metadata", "deletionTimestamp"):
        return
    for status in (*items(raw, "status", "initContainerStatuses"), *items(raw, "status", "containerStatuses")):
        yield from _container(ref, text(raw, "spec", "nodeName"), status, span[0])
    scheduled = _condition(raw, "PodScheduled")
    if text(scheduled, "status") == "False":
        since = moment(scheduled, "lastTransitionTime")
        lasts = since is not None and span[1] - since > patience.unscheduled
        words = f"{ref} finds no node: {_said(scheduled)}"
        yield Verified(Progress.FAILED, words, _UNDO) if lasts else Verified(Progress.WAITING, words)


def _container(ref: ObjectRef, node: str, status: Raw, since: float) -> Iterator[Verified]:
    name, waiting = text(status, "name"), mapping(status, "state", "waiting")
    ended = mapping(status, "state", "terminated") or mapping(status, "lastState", "terminated")
    if (moment(ended, "finishedAt") or since) < since - _CLOCKS_SECONDS:
        ended = {}  # before the change
    where = f"container {name} of {ref}" + (f" on {node}" if node else "")
    if text(ended, "reason") == "OOMKilled":
        yield Verified(Progress.FAILED, f"{where} was killed for memory (OOMKilled)", _SMALLER)
    elif text(waiting, "reason") == "CrashLoopBackOff" and ended:
        code = whole(ended, "exitCode")
        told = f", last with exit code {code}" if code is not None else ""
        yield Verified(Progress.FAILED, f"{where} ends again and again (CrashLoopBackOff{told})", f"{_UNDO} {_LOGS}")
    elif text(waiting, "reason") in _STARTS_NOT:
        yield Verified(Progress.WAITING, f"{where} does not start: {_said(waiting)}")


def _hash(workload: Found, lineage: Lineage) -> str:
    """By which the pods of the newest revision are labelled; empty: not known."""
    ref, raw = workload
    if ref.kind == "StatefulSet":
        return text(raw, "status", "updateRevision")
    revisions = lineage.revisions(workload)
    if ref.kind == "Deployment":
        number = text(raw, "metadata", "annotations", _REVISION)
        fits = [one for _, one in revisions if text(one, "metadata", "annotations", _REVISION) == number]
        return text(fits[0], "metadata", "labels", "pod-template-hash") if fits else ""
    newest = max((one for _, one in revisions), key=lambda one: whole(one, "revision") or 0, default={})
    return text(newest, "metadata", "labels", "controller-revision-hash")


def _hashes(raw: Raw) -> set[str]:
    found = labels(raw, "metadata", "labels")
    return {found[name] for name in _HASHES if name in found}


def objects_of(cluster: str, pods: Sequence[Raw], sets: Sequence[Raw], revisions: Sequence[Raw]) -> Objects:
    """What was read, as the readers of the inventory look at it."""
    kinds = {PODS: pods, REPLICA_SETS: sets, CONTROLLER_REVISIONS: revisions}
    return Objects(cluster, {kind: {_key(one): one for one in found} for kind, found in kinds.items()})


def _key(raw: Raw) -> tuple[str, str]:
    return text(raw, "metadata", "namespace"), text(raw, "metadata", "name")


def _condition(raw: Raw, kind: str) -> Raw:
    return next((one for one in items(raw, "status", "conditions") if text(one, "type") == kind), {})


def _said(part: Raw) -> str:
    return ": ".join(word for word in (text(part, "reason"), text(part, "message")) if word)
