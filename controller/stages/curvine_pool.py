"""Stage 3: a Curvine pool with its driver, a StorageClass and a claim, and nothing that would wipe it."""

from __future__ import annotations

from collections.abc import Iterator

from controller.reading.fields import field, labels, named, text, whole, words
from controller.reading.lineage import Found, template_labels
from controller.reading.pool_format import format_flags, has_run, what_to_do
from controller.reading.pools import PROVISIONER, Pool, pool_of_addresses
from controller.reading.scene import Scene
from controller.reading.storage import read_claim
from controller.resources import CLAIMS, DAEMON_SETS, DEPLOYMENTS, STATEFUL_SETS, STORAGE_CLASSES, Resource
from controller.stage import Evidence, Finding, NoPlanError, Plan, State, View, Wishes
from controller.stages import pool_files as files
from controller.stages.pool_wishes import PoolWishes, gpu_nodes, usual_of
from controller.stages.wishes import read_wishes
from tierdeck.deployed import ObjectRef

_CSI = ((DEPLOYMENTS, "curvine-csi-controller"), (DAEMON_SETS, "curvine-csi-node"))
_PLAN = "tierdeck stage 3 --plan"
_READ_SOURCES = (0, 4, 1)
"""Up to this version it is known what frees space."""


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
        scene = Scene(view.objects)
        pool, nodes = _pool_of_wishes(scene, wishes), gpu_nodes(view.objects)
        wanted = read_wishes(PoolWishes, wishes.values, usual_of(view.objects, nodes, pool))
        is_old = pool is not None and has_run(pool, scene.lineage)
        made = [files.csi_values(wanted), files.storage_class(wanted)]
        made += [] if is_old else [files.first_start()]
        made += [files.server_values(wanted, nodes), files.claim(wanted)]
        return Plan(tuple(made), tuple(_commands(wanted, is_old=is_old)), tuple(_notes(wanted, nodes.names, is_old)))

    def undo(self, view: View, wishes: Wishes) -> Plan:
        scene = Scene(view.objects)
        pool = _pool_of_wishes(scene, wishes)
        wanted = read_wishes(PoolWishes, wishes.values, usual_of(view.objects, gpu_nodes(view.objects), pool))
        namespace, _, name = wanted.claim.partition("/")
        commands = (
            "tierdeck stage 4 --undo   # first: a pod whose mount is gone hangs",
            f"kubectl delete pvc {name} -n {namespace}",
            f"helm uninstall {wanted.release}-csi -n {wanted.namespace}",
            f"helm uninstall {wanted.release} -n {wanted.namespace}",
            f"kubectl delete storageclass {wanted.storage_class}",
            "kubectl get pv   # what is Released there was kept by Retain: delete what is not wanted any more",
        )
        notes = (
            "The cache is lost for every engine.",
            "What lies on the nodes' NVMe and on the master's EBS volumes stays until it is deleted by hand.",
        )
        return Plan((), commands, notes)


CURVINE_POOL = CurvinePool()


def _pool_of_wishes(scene: Scene, wishes: Wishes) -> Pool | None:
    """The pool that is meant, if it is there already."""
    namespace, release = wishes.values.get("namespace"), wishes.values.get("release")
    fitting = [one for one in scene.pools if namespace in (None, one.namespace) and release in (None, one.instance)]
    if len(fitting) > 1:
        names = ", ".join(one.name for one in fitting)
        raise NoPlanError(f"there are several pools ({names})", "Name one: --set namespace=… --set release=…")
    return fitting[0] if fitting else None


def _commands(wishes: PoolWishes, *, is_old: bool) -> Iterator[str]:
    space, version = f"-n {wishes.namespace} --create-namespace", f"--version {wishes.version}"
    server = f"helm upgrade --install {wishes.release} curvine/curvine {space} {version} -f {files.SERVER_VALUES}"
    ready = [
        f"kubectl rollout status statefulset/{wishes.release}-{part} -n {wishes.namespace} --timeout=15m"
        for part in ("master", "worker")
    ]
    if not is_old:
        yield f"{server} -f {files.FIRST_START}"
        yield from ready
    yield server
    yield from ready
    yield f"helm upgrade --install {wishes.release}-csi curvine/curvine-csi {space} {version} -f {files.CSI_VALUES}"
    yield f"kubectl apply -f {files.STORAGE_CLASS}"
    yield f"kubectl apply -f {files.CLAIM}"
    namespace, _, name = wishes.claim.partition("/")
    yield f"kubectl wait pvc/{name} -n {namespace} --for=jsonpath='{{.status.phase}}'=Bound --timeout=5m"
    yield "tierdeck stages"


def _notes(wishes: PoolWishes, nodes: tuple[str, ...], is_old: bool) -> Iterator[str]:  # noqa: FBT001
    if is_old:
        yield "The pool has run: there is no file for a first start, which would erase it."
        yield f"The release's own values are lost with these: see helm get values {wishes.release} first."
        yield "Fewer workers, other paths or smaller directories lose what lies there."
    else:
        yield (
            f"{files.FIRST_START} formats. The second helm command takes the flags off again at once, and restarts "
            "master and workers; until then any restart erases the pool."
        )
    if not nodes:
        yield f"No node with GPUs was found, so that {wishes.workers} worker is a guess: --set workers=NUMBER."
    if tuple(int(part) for part in wishes.version.partition("-")[0].split(".")) > _READ_SOURCES:
        yield f"Of Curvine {wishes.version} it is not known what frees space; read of retention what holds up to 0.4.1."
    yield "The charts are those of the repository that Curvine's documentation names, added to Helm as curvine."
    yield "A StorageClass that is there with other parameters can't be changed: use another name, and another claim."


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
        f"{ttl}, then {action}" if frees else "files are never deleted by Curvine: a full pool answers with I/O errors"
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
