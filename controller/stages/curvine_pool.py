"""Stage 3: a Curvine pool with its driver, a StorageClass and a claim, and nothing that would wipe it."""

from __future__ import annotations

from collections.abc import Iterator

from controller.reading.fields import field, labels, named, text, whole, words
from controller.reading.lineage import Found, template_labels
from controller.reading.pool_format import format_flags, what_to_do
from controller.reading.pools import PROVISIONER, pool_of_addresses
from controller.reading.scene import Scene
from controller.reading.storage import read_claim
from controller.resources import CLAIMS, DAEMON_SETS, DEPLOYMENTS, STATEFUL_SETS, STORAGE_CLASSES, Resource
from controller.stage import Evidence, Finding, NoPlanError, Plan, State, View, Wishes
from controller.stages.pool_plans import pool_plan, pool_undo
from tierdeck.deployed import ObjectRef

_CSI = ((DEPLOYMENTS, "curvine-csi-controller"), (DAEMON_SETS, "curvine-csi-node"))
_PLAN = "tierdeck stage 3 --plan"


class CurvinePool:
    """Stage 3."""

    number = 3
    title = "Curvine installed: servers, CSI driver, StorageClass, claim"

    def look(self, view: View) -> Finding:
        scene = Scene(view.objects)
        return Finding((*_servers(scene, view), *_driver(scene, view), *_classes(scene), *_claims(scene, view)))

    def plan(self, view: View, wishes: Wishes) -> Plan:
        if wishes.form:
            raise NoPlanError("stage 3 has one form of plan only, without --as")
        return pool_plan(view, wishes)

    def undo(self, view: View, wishes: Wishes) -> Plan:
        return pool_undo(view, wishes)


CURVINE_POOL = CurvinePool()


def _unseen(scene: Scene, resource: Resource, about: str) -> Iterator[Evidence]:
    if not scene.objects.sees(resource):
        yield Evidence(State.UNKNOWN, about, f"{resource.name} can't be seen: {scene.objects.blind[resource]}")


def _servers(scene: Scene, view: View) -> Iterator[Evidence]:
    yield from _unseen(scene, STATEFUL_SETS, "Curvine's servers")
    if not scene.pools and scene.objects.sees(STATEFUL_SETS):
        yield view.absent("Curvine's servers", "no master and no worker is found", _PLAN)
    for pool in scene.pools:
        for part, sets in (("master", pool.masters), ("worker", pool.workers)):
            if not sets:
                why = f"no apps/v1 StatefulSet of its {part}s is found"
                yield Evidence(State.UNKNOWN if pool.of(part) else State.NOT_DONE, f"Pool {pool.name}", why, _PLAN)
            yield from (_ready(one, "replicas", ("spec", "replicas"), "readyReplicas") for one in sets)
        for flag in format_flags(scene.objects, pool):
            state = {None: State.UNKNOWN, True: State.NOT_DONE, False: State.DONE}[flag.is_on]
            yield Evidence(state, flag.where, flag.said, what_to_do(pool) if flag.is_on else "")


def _ready(one: Found, what: str, wanted_at: tuple[str, ...], ready_at: str) -> Evidence:
    ref, raw = one
    wanted, ready = whole(raw, *wanted_at), whole(raw, "status", ready_at) or 0
    about = f"{ref}, status.{ready_at}"
    if wanted is None:
        return Evidence(State.UNKNOWN, about, f"how many {what} are wanted is not told")
    state = State.DONE if ready >= wanted > 0 else State.NOT_DONE
    return Evidence(state, about, f"{ready} of {wanted} ready")


def _driver(scene: Scene, view: View) -> Iterator[Evidence]:
    for resource, app in _CSI:
        yield from _unseen(scene, resource, f"Curvine's CSI driver, {app}")
        if not scene.objects.sees(resource):
            continue
        found = [one for one in scene.lineage.workloads(resource) if template_labels(one[1]).get("app") == app]
        if not found:
            yield view.absent(f"{resource.kind} {app}", "it is not there", _PLAN)
        for one in found:
            if resource is DAEMON_SETS:
                yield _ready(one, "pods", ("status", "desiredNumberScheduled"), "numberReady")
            else:
                yield _ready(one, "replicas", ("spec", "replicas"), "readyReplicas")


def _classes(scene: Scene) -> Iterator[Evidence]:
    yield from _unseen(scene, STORAGE_CLASSES, "StorageClass of Curvine")
    found = [one for one in named(scene.objects, STORAGE_CLASSES) if text(one[1], "provisioner") == PROVISIONER]
    if not found and scene.objects.sees(STORAGE_CLASSES):
        yield Evidence(State.NOT_DONE, "StorageClass", f"none has the provisioner {PROVISIONER}", _PLAN)
    for ref, raw in found:
        yield from _class(scene, ref, labels(raw, "parameters"), raw)


def _class(scene: Scene, ref: ObjectRef, parameters: dict[str, str], raw: object) -> Iterator[Evidence]:
    addresses = parameters.get("master-addrs", "")
    pool = pool_of_addresses(addresses, scene.pools)
    state, told = (State.DONE, f"pool {pool.name}") if pool else (State.NOT_DONE, "no pool that is found")
    yield Evidence(state, f"{ref}, parameters.master-addrs", f"{addresses or 'not set'}: {told}")
    policy = text(raw, "reclaimPolicy") or "Delete"
    state = State.DONE if policy == "Retain" else State.NOT_DONE
    fix = (
        ""
        if policy == "Retain"
        else (
            "Deleting a claim erases its cache. Of volumes that are there: kubectl patch pv NAME -p "
            '\'{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}\'; new ones need a StorageClass with Retain.'
        )
    )
    yield Evidence(state, f"{ref}, reclaimPolicy", policy, fix)
    if field(raw, "allowVolumeExpansion") is True:
        patch = f"kubectl patch storageclass {ref.name} -p '{{\"allowVolumeExpansion\":false}}'"
        fix = f"A larger request stays pending for ever: {patch}"
        yield Evidence(State.NOT_DONE, f"{ref}, allowVolumeExpansion", "true, which the driver does not implement", fix)
    ttl, action = parameters.get("client.ttl-ms", ""), parameters.get("client.ttl-action", "none")
    frees = bool(ttl) and action == "delete"
    told = (
        f"{ttl}, then {action}: an endpoint that is idle for so long has no L2 until its engines start again"
        if frees
        else "files are never deleted by Curvine: a full pool answers with I/O errors"
    )
    yield Evidence(State.DONE, f"{ref}, parameters.client.ttl-ms", told)


def _claims(scene: Scene, view: View) -> Iterator[Evidence]:
    yield from _unseen(scene, CLAIMS, "PersistentVolumeClaim of Curvine")
    count = 0
    for ref, raw in named(scene.objects, CLAIMS):
        claim = read_claim(scene.objects, ref.namespace, ref.name, raw)
        if claim.provisioner != PROVISIONER:
            continue
        count += 1
        state = State.DONE if claim.phase == "Bound" else State.NOT_DONE
        yield Evidence(state, f"{ref}, status.phase", claim.phase or "not told")
        if "ReadWriteMany" not in words(raw, "spec", "accessModes"):
            modes = ", ".join(words(raw, "spec", "accessModes")) or "none"
            fix = "Engines on several nodes need ReadWriteMany: make another claim."
            yield Evidence(State.NOT_DONE, f"{ref}, spec.accessModes", modes, fix)
    if not count and scene.objects.sees(CLAIMS):
        yield view.absent("PersistentVolumeClaim", "none is Curvine's", _PLAN)
