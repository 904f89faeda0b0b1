"""Plans of stage 3: what brings a Curvine pool about, and never over one that may hold data; and what takes it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controller.reading.fields import text
from controller.reading.pool_format import has_run
from controller.reading.pools import Pool
from controller.reading.scene import Scene
from controller.resources import CLAIMS, STORAGE_CLASSES
from controller.stage import NoPlanError, Plan, View, Wishes
from controller.stages import pool_files as files
from controller.stages.first_start import doubts
from controller.stages.pool_names import PoolNames, names_of
from controller.stages.pool_wishes import GpuNodes, PoolWishes, bound_claims, gpu_nodes, leads_to, usual_of
from controller.stages.wishes import read_wishes

_READ_SOURCES = (0, 4, 1)
"""Up to this version it is known what frees space."""
_OF_SERVERS = ("workers", "worker_size", "data_paths", "master_class")
_MOST_REASONS = 10


@dataclass(frozen=True, slots=True)
class _Site:
    """What a plan is made from.

    Attributes:
        pool: the one that is meant, if it is there.
        reasons: why a first start might erase something.
        claims: those that are Bound in the pool, `namespace/name`.
    """

    scene: Scene
    pool: Pool | None
    nodes: GpuNodes
    wishes: PoolWishes
    names: PoolNames
    reasons: tuple[str, ...]
    claims: tuple[str, ...]

    @property
    def is_forced(self) -> bool:
        return self.wishes.first_start == "true"

    @property
    def has_servers(self) -> bool:
        """The plan has the servers, whose first start formats."""
        return self.is_forced or not self.reasons

    @property
    def needs_class(self) -> bool:
        return self.scene.objects.get(STORAGE_CLASSES, "", self.wishes.storage_class) is None

    @property
    def needs_claim(self) -> bool:
        return self.wishes.claim not in self.claims


def _site(view: View, wishes: Wishes) -> _Site:
    scene = Scene(view.objects)
    pool, nodes = _pool_of_wishes(scene, wishes), gpu_nodes(view.objects)
    wanted = read_wishes(PoolWishes, wishes.values, usual_of(scene, nodes, pool))
    reasons, claims = doubts(view, scene, wanted, pool), tuple(bound_claims(scene, pool))
    return _Site(scene, pool, nodes, wanted, names_of(wanted, pool), reasons, claims)


def _pool_of_wishes(scene: Scene, wishes: Wishes) -> Pool | None:
    """The pool that is meant, if it is there already."""
    namespace, release = wishes.values.get("namespace"), wishes.values.get("release")
    fitting = [one for one in scene.pools if namespace in (None, one.namespace) and release in (None, one.instance)]
    if len(fitting) > 1:
        names = ", ".join(one.name for one in fitting)
        raise NoPlanError(f"there are several pools ({names})", "Name one: --set namespace=… --set release=…")
    return fitting[0] if fitting else None


def pool_plan(view: View, wishes: Wishes) -> Plan:
    """Servers where it is sure that nothing is erased, or where that was asked for; driver, StorageClass and claim."""
    site = _site(view, wishes)
    _refuse(site)
    made = [files.csi_values(site.wishes)]
    if site.needs_class:
        made.append(files.storage_class(site.wishes, site.names.addresses))
    if site.has_servers:
        made += [files.first_start(), files.server_values(site.wishes, site.nodes)]
    if site.needs_claim:
        made.append(files.claim(site.wishes))
    return Plan(tuple(made), tuple(_commands(site)), tuple(_notes(site, wishes)))


def pool_undo(view: View, wishes: Wishes) -> Plan:
    """What takes the pool away, with what it holds."""
    site = _site(view, wishes)
    wanted = site.wishes
    claims = [wanted.claim] if "claim" in wishes.values or not site.claims else site.claims
    commands = (
        "tierdeck stage 4 --undo   # first: a pod whose mount is gone hangs",
        *(f"kubectl delete pvc {name} -n {space}" for space, _, name in (one.partition("/") for one in claims)),
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


def _refuse(site: _Site) -> None:
    """What can't be applied, or would erase a pool for certain."""
    pool, wishes, objects = site.pool, site.wishes, site.scene.objects
    if site.is_forced and pool is not None and has_run(pool, site.scene.lineage):
        hint = "What to do first, if that is meant: tierdeck stage 3 --undo."
        raise NoPlanError(f"pool {pool.name} has run: a first start would erase it", hint)
    there = objects.get(STORAGE_CLASSES, "", wishes.storage_class)
    addresses = text(there, "parameters", "master-addrs")
    is_ours = leads_to(there or {}, pool) if pool is not None else _hosts(addresses) == _hosts(site.names.addresses)
    if there is not None and not is_ours:
        told = f"StorageClass {wishes.storage_class} is there and leads elsewhere ({addresses or 'no master-addrs'})"
        raise NoPlanError(told, "It can't be changed. Name another: --set storage_class=NAME.")
    namespace, _, name = wishes.claim.partition("/")
    claim = objects.get(CLAIMS, namespace, name)
    if claim is not None and site.needs_claim and text(claim, "spec", "storageClassName") != wishes.storage_class:
        told = f"PersistentVolumeClaim {wishes.claim} is there and is not of StorageClass {wishes.storage_class}"
        raise NoPlanError(told, "It can't be changed. Name another: --set claim=NAMESPACE/NAME.")


def _hosts(addresses: str) -> set[tuple[str, ...]]:
    """Pod, Service and namespace of each, however the rest is written."""
    return {tuple(one.strip().partition(":")[0].split(".")[:3]) for one in addresses.split(",")}


def _commands(site: _Site) -> Iterator[str]:
    wishes, names = site.wishes, site.names
    space, version = f"-n {wishes.namespace} --create-namespace", f"--version {wishes.version}"
    if site.has_servers:
        server = f"{wishes.release} curvine/curvine {space} {version} -f {files.SERVER_VALUES}"
        upgrade = "helm upgrade --install"
        # install refuses a release that is there, also when the commands are run again some day
        first = "helm install" if site.pool is None else upgrade
        ready = [
            f"kubectl rollout status statefulset/{part} -n {wishes.namespace} --timeout=15m"
            for part in (names.master, names.worker)
        ]
        yield f"{first} {server} -f {files.FIRST_START}"
        yield from ready
        yield f"{upgrade} {server}"
        yield from ready
    yield f"helm upgrade --install {wishes.release}-csi curvine/curvine-csi {space} {version} -f {files.CSI_VALUES}"
    if site.needs_class:
        yield f"kubectl apply -f {files.STORAGE_CLASS}"
    if site.needs_claim:
        yield f"kubectl apply -f {files.CLAIM}"
        namespace, _, name = wishes.claim.partition("/")
        yield f"kubectl wait pvc/{name} -n {namespace} --for=jsonpath='{{.status.phase}}'=Bound --timeout=5m"
    yield "tierdeck stages"


def _notes(site: _Site, asked: Wishes) -> Iterator[str]:
    wishes = site.wishes
    yield from _about_servers(site, asked)
    if not site.needs_class:
        yield f"StorageClass {wishes.storage_class} is there and stays; it can't be changed."
    if not site.needs_claim:
        yield f"PersistentVolumeClaim {wishes.claim} is Bound and stays."
    if wishes.ttl == "none":
        yield "Nothing in the pool expires (--set ttl=…): before it is full, room has to be made. docs/janitor.md."
    else:
        yield (
            f"--set ttl={wishes.ttl}: an endpoint that stores nothing for so long loses its directory, and L2 with it "
            "until its engines start again."
        )
    if tuple(int(part) for part in wishes.version.partition("-")[0].split(".")) > _READ_SOURCES:
        yield f"Of Curvine {wishes.version} it is not known what frees space; read of retention what holds up to 0.4.1."
    yield "The charts are those of the repository that Curvine's documentation names, added to Helm as curvine."


def _about_servers(site: _Site, asked: Wishes) -> Iterator[str]:
    wishes, pool = site.wishes, site.pool
    if not site.has_servers:
        yield from _left_out(site)
        ignored = [name for name in _OF_SERVERS if name in asked.values]
        if ignored:
            yield f"So nothing comes of --set {', '.join(ignored)}."
        return
    if site.reasons:
        yield f"first_start=true was asked for, although it is not sure that nothing is erased. {_risk(site)}"
        yield from _reasons(site)
    yield (
        f"{files.FIRST_START} formats. The second helm command takes the flags off again at once, and restarts "
        "master and workers; until then any restart erases the pool."
    )
    if pool is not None:
        yield f"The release's own values are lost with these: see helm get values {wishes.release} first."
    if not site.nodes.names:
        yield f"No node with GPUs was found, so that {wishes.workers} worker is a guess: --set workers=NUMBER."
    elif not site.nodes.selector:
        yield (
            "No label is on all nodes with GPUs and on no other, so that workers may come to others: set "
            f"nodeSelector of master and worker in {files.SERVER_VALUES} yourself."
        )


def _left_out(site: _Site) -> Iterator[str]:
    pool, wishes = site.pool, site.wishes
    if pool is not None:
        yield (
            f"Pool {pool.name} is there: nothing is planned for its servers. Values that differ from its own (fewer "
            "workers, other paths, smaller directories, another class of volumes) lose what lies there; its own: "
            f"helm get values {wishes.release} -n {wishes.namespace}."
        )
        if has_run(pool, site.scene.lineage):
            yield "The pool has run: there is no file for a first start, which would erase it."
            return
    yield "No first start is planned, nor values for servers, since it is not sure that nothing would be erased:"
    yield from _reasons(site)
    yield f"Where there is nothing to lose: --set first_start=true. {_risk(site)}"


def _reasons(site: _Site) -> Iterator[str]:
    yield from (f"- {reason}" for reason in site.reasons[:_MOST_REASONS])
    if len(site.reasons) > _MOST_REASONS:
        yield f"- and {len(site.reasons) - _MOST_REASONS} more"


def _risk(site: _Site) -> str:
    wishes = site.wishes
    paths = wishes.data_paths.replace(",", " and ")
    return (
        f"It formats {paths} of each node that a worker comes to, whoever's data lies there, "
        f"and the master of {wishes.release} in {wishes.namespace} forgets every file: a pool that is there is "
        "lost for good."
    )
