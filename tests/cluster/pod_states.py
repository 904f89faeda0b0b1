"""Pod statuses as a kubelet writes them, for containers that run, wait, crash or are killed. No input, no output."""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from tests.support.kube_rest import Manifest

CRASH_LOOP_RESTARTS = 3


class Behaviour(StrEnum):
    """What a pod's containers do."""

    RUNS = "runs"
    """All are ready."""
    NEVER_READY = "never ready"
    """All run, and the first one's readiness probe fails."""
    NEVER_STARTS = "never starts"
    """The first one's image can't be pulled."""
    CRASH_LOOP = "crash loop"
    """The first one ends with code 1 whenever it is started."""
    OOM_LOOP = "OOM loop"
    """The first one is killed for memory whenever it is started."""
    STAYS_TERMINATING = "stays terminating"
    """All are ready, and they don't end when the pod is deleted."""


def now() -> str:
    """The instant, as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(pod: Manifest, behaviour: Behaviour, address: str, host: str) -> Manifest:
    """The status of a pod on a node; what its containers went through so far stays."""
    before = pod["status"]
    known = {one["name"]: one for one in before.get("containerStatuses", [])}
    statuses = [
        _container(one, known.get(one["name"]), behaviour if index == 0 else Behaviour.RUNS)
        for index, one in enumerate(pod["spec"]["containers"])
    ]
    starts = pod["spec"].get("initContainers", [])
    waits = behaviour is Behaviour.NEVER_STARTS
    return {
        "phase": "Pending" if waits and len(statuses) == 1 else "Running",
        "startTime": before.get("startTime", now()),
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "initContainerStatuses": [_initialised(one) for one in starts],
        "containerStatuses": statuses,
        "conditions": conditions_of(statuses),
    }


def conditions_of(statuses: list[Manifest]) -> list[Manifest]:
    """The conditions that follow from the containers."""
    unready = [one["name"] for one in statuses if not one["ready"]]
    why = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{' '.join(unready)}]"}
    good: Manifest = {"reason": None, "message": None}
    ready = {"status": "False" if unready else "True", "lastTransitionTime": now(), **(why if unready else good)}
    done = {"status": "True", "lastTransitionTime": now()}
    return [
        {"type": "PodReadyToStartContainers", **done},
        {"type": "Initialized", **done},
        {"type": "Ready", **ready},
        {"type": "ContainersReady", **ready},
    ]


def restarted(status: Manifest, reason: str, exit_code: int) -> Manifest:
    """A container's status after it ended and was started again."""
    return {
        **status,
        **_identity(status["image"]),
        "ready": False,
        "restartCount": status["restartCount"] + 1,
        "lastState": {"terminated": _ended(status, reason, exit_code)},
        "state": {"running": {"startedAt": now()}},
    }


def _container(spec: Manifest, before: Manifest | None, behaviour: Behaviour) -> Manifest:
    image = spec["image"]
    if before is None or not before.get("containerID"):
        running: Manifest = {"running": {"startedAt": now()}}
        before = {"name": spec["name"], "image": image, **_identity(image), "restartCount": 0, "lastState": {}}
        before["state"] = running
    ready = behaviour in (Behaviour.RUNS, Behaviour.STAYS_TERMINATING)
    if behaviour in (Behaviour.CRASH_LOOP, Behaviour.OOM_LOOP):
        return _backing_off(before, *(("Error", 1) if behaviour is Behaviour.CRASH_LOOP else ("OOMKilled", 137)))
    if behaviour is Behaviour.NEVER_STARTS:
        why = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}
        return {**before, "containerID": "", "imageID": "", "ready": False, "started": False, "state": {"waiting": why}}
    state = before["state"] if "running" in before["state"] else {"running": {"startedAt": now()}}
    return {**before, "ready": ready, "started": True, "state": state}


def _backing_off(before: Manifest, reason: str, exit_code: int) -> Manifest:
    message = f"back-off 40s restarting failed container={before['name']}"
    return {
        **before,
        "ready": False,
        "started": False,
        "restartCount": max(before["restartCount"], CRASH_LOOP_RESTARTS),
        "lastState": {"terminated": _ended(before, reason, exit_code)},
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}},
    }


def _ended(status: Manifest, reason: str, exit_code: int) -> Manifest:
    began = status["state"].get("running", {}).get("startedAt", now())
    ended = {"reason": reason, "exitCode": exit_code, "startedAt": began, "finishedAt": now()}
    return {**ended, "containerID": status["containerID"]}


def _identity(image: str) -> dict[str, Any]:
    digest = hashlib.sha256(image.encode()).hexdigest()
    name = image.split("@", maxsplit=1)[0].rsplit(":", 1)[0]
    return {"imageID": f"{name}@sha256:{digest}", "containerID": f"containerd://{uuid.uuid4().hex}"}


def _initialised(spec: Manifest) -> Manifest:
    stays = spec.get("restartPolicy") == "Always"
    done = {"reason": "Completed", "exitCode": 0, "startedAt": now(), "finishedAt": now()}
    state = {"running": {"startedAt": now()}} if stays else {"terminated": done}
    first = {"name": spec["name"], "image": spec["image"], **_identity(spec["image"]), "restartCount": 0}
    return {**first, "ready": True, "started": stays, "state": state}
