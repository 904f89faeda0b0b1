"""What happened to pods: restarts, containers out of memory, crash loops, evictions, pods without a place."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.deployed import ContainerRun, Deployed, PodRun
from tierdeck.events import Event, EventKind
from tierdeck.telling import Telling

OOM_KILLED = "OOMKilled"
CRASH_LOOP = "CrashLoopBackOff"
EVICTED = "Evicted"
UNSCHEDULABLE = "Unschedulable"
"""Words of the API. Source: k8s.io/api/core/v1 (ContainerState, PodReasonUnschedulable), kubelet's eviction manager."""


def pod_events(telling: Telling, old: Deployed | None, new: Deployed, last_at: float) -> Iterator[Event]:
    """Of every pod that is there now, compared with the same pod (by uid) before.

    Args:
        last_at: epoch seconds of the last sighting; 0: there was none.
    """
    known = {pod.uid: pod for pod in old.pods} if old is not None else {}
    for pod in new.pods:
        before, about = known.get(pod.uid), telling.about(f"Pod {pod.namespace}/{pod.name}", pod.name)
        for run in pod.containers:
            was = _same(before, run)
            first = was.restarts if was is not None else _untold(pod, run, last_at, is_known_endpoint=old is not None)
            yield from _restarts(about, pod, run, first)
            if run.waiting == CRASH_LOOP and (was is None or was.waiting != CRASH_LOOP):
                words = f"{pod.name}: {run.name} keeps ending, the kubelet waits longer before each start"
                yield about.event(EventKind.CRASH_LOOP, words, f"crash-loop/{pod.uid}/{run.name}")
        if before is not None and before.trouble == pod.trouble:
            continue
        if pod.trouble.startswith(EVICTED):
            yield about.event(EventKind.EVICTED, f"{pod.name}: {pod.trouble}", f"evicted/{pod.uid}")
        if pod.trouble.startswith(UNSCHEDULABLE):
            yield about.event(EventKind.UNSCHEDULABLE, f"{pod.name}: {pod.trouble}", f"unschedulable/{pod.uid}")


def _same(pod: PodRun | None, run: ContainerRun) -> ContainerRun | None:
    return next((one for one in pod.containers if one.name == run.name), None) if pod is not None else None


def _untold(pod: PodRun, run: ContainerRun, last_at: float, *, is_known_endpoint: bool) -> int:
    """How many restarts are passed over of a container that the last sighting did not have.

    All of a pod's that came after it happened since. One that was there already was out of sight, and when most of
    them happened nobody knows: the last one is told if it is known to have happened since. Of an endpoint that was
    not known before, only the last one is told: the API keeps no more.
    """
    was_there = pod.created_at < last_at
    if is_known_endpoint and not was_there:
        return 0
    if was_there and (run.last_finished_at is None or run.last_finished_at <= last_at):
        return run.restarts
    return max(run.restarts - 1, 0)


def _restarts(telling: Telling, pod: PodRun, run: ContainerRun, first: int) -> Iterator[Event]:
    """Every restart after the first so many; of those before the last one only the number is known."""
    for number in range(first + 1, run.restarts + 1):
        is_last = number == run.restarts
        at = run.last_finished_at if run.last_finished_at is not None else telling.at
        reason = (run.last_reason or "unknown") if is_last else "not told: it restarted again before it was seen"
        code = f", exit code {run.last_exit_code}" if is_last and run.last_exit_code is not None else ""
        kind = EventKind.OOM if is_last and run.last_reason == OOM_KILLED else EventKind.RESTART
        said = "ran out of memory and restarted" if kind is EventKind.OOM else f"restarted ({reason}{code})"
        detail = {"container": run.name, "component": run.component.value, "restart": str(number), "reason": reason}
        key = f"restart/{pod.uid}/{run.name}/{number}"
        yield telling.event(kind, f"{pod.name}: {run.name} {said}", key, detail, at)
