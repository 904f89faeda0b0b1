"""Curvine pools: masters, workers, FUSE clients and the CSI driver, with the claims that lie in them.

Sources: CurvineIO/curvine-helm (curvine-runtime and curvine-csi templates: labels, `web` ports) and
CurvineIO/curvine, curvine-csi/pkg/csi/standalone_manager.go (FUSE pods: names, labels, arguments, host network).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from controller.backend import Found as Result
from controller.objects import Objects
from controller.reading.curvine_fuse import fuse_pods, fuse_problems, fuse_target
from controller.reading.fields import labels, named, text
from controller.reading.lineage import Found, template_labels
from controller.reading.owners import owners_of
from controller.reading.pods import has_address, read_pod
from controller.reading.pool_format import format_problems
from controller.reading.pools import Pool
from controller.reading.processes import Process, Spec
from controller.reading.scene import Scene
from controller.reading.storage import cosmetic, read_claim
from controller.reading.targets import url
from controller.reading.workloads import read_workload
from controller.resources import CLAIMS, DAEMON_SETS, DEPLOYMENTS
from tierdeck.deployed import Claim, Component, Configuration, Deployed, ObjectRef, Stated, StatedSize
from tierdeck.fleet import POOL, Replica, ReplicaKey, SourceKind, Target

_CSI = ("curvine-csi-controller", "curvine-csi-node")
_NO_STRATEGY = Stated.unknown("a pool has no routing strategy")
_NO_TIER = StatedSize.unknown("a pool is L2 only")
_GIVEN = {"master": Component.CURVINE_MASTER, "worker": Component.CURVINE_WORKER, "csi-plugin": Component.CURVINE_CSI}
_MEASURED = "what a worker took at its start is not in the API; the pool's metrics tell its capacity"


class Curvine:
    """One pool per Curvine cluster."""

    name = "curvine"

    def find(self, objects: Objects, taken: Collection[ObjectRef]) -> Sequence[Result]:
        scene = Scene(objects)
        return [self._pool(scene, pool) for pool in scene.pools]

    def _pool(self, scene: Scene, pool: Pool) -> Result:
        objects, drivers = scene.objects, _drivers(scene, pool)
        workloads = [*pool.masters, *pool.workers, *drivers]
        members = _members(scene, pool)
        fuse = fuse_pods(scene, pool)
        source = (pool.workers or pool.masters or pool.loose.get("worker") or pool.loose.get("master", ()))[0]
        runs = [(pod, spec, one) for one in drivers for pod, spec in _own(scene, one)]
        claims = _claims(scene, pool)
        deployed = Deployed(
            objects.cluster,
            POOL,
            pool.name,
            self.name,
            source[0],
            text(source[1], "metadata", "uid"),
            Configuration(_NO_STRATEGY, _NO_TIER, _NO_TIER, pool.capacity(objects)),
            Configuration(_NO_STRATEGY, _NO_TIER, _NO_TIER, StatedSize.unknown(_MEASURED)),
            wanted=pool.wanted,
            owners=owners_of(objects, [*pool.workers, *pool.masters], ()),
            workloads=tuple(read_workload(one, scene.template(one, _GIVEN), scene.lineage) for one in workloads),
            pods=(
                *(read_pod(pod, spec, one[0] if one else None, scene.lineage.revisions(one) if one else ())
                  for pod, spec, one in (*members, *runs)),
                *(read_pod(pod, spec, None) for pod, spec in fuse),
            ),
            claims=claims,
            problems=tuple(_problems(scene, pool, claims, drivers)),
        )  # fmt: skip
        key = ReplicaKey(objects.cluster, POOL, pool.name)
        targets = [target for pod, spec, _ in members for target in _targets(key, pod, spec)]
        targets += [target for pod, spec in fuse if (target := fuse_target(key, pod, spec)) is not None]
        observed = Replica(key, tuple(sorted(targets, key=lambda one: one.name)))
        return Result(deployed, observed, tuple(sorted(one[0] for one in workloads)))


def _own(scene: Scene, one: Found) -> list[tuple[Found, Spec]]:
    return [(pod, scene.pod(pod, _GIVEN)) for pod in scene.lineage.pods(one)]


def _members(scene: Scene, pool: Pool) -> list[tuple[Found, Spec, Found | None]]:
    """Pods of masters and workers."""
    found: list[tuple[Found, Spec, Found | None]] = [
        (pod, spec, one) for one in (*pool.masters, *pool.workers) for pod, spec in _own(scene, one)
    ]
    loose = [pod for kind in ("master", "worker") for pod in pool.loose.get(kind, ())]
    return found + [(pod, scene.pod(pod, _GIVEN), None) for pod in loose]


def _targets(key: ReplicaKey, pod: Found, spec: Spec) -> Iterator[Target]:
    """A master's metrics and its JSON, a worker's metrics, by the port named `web`."""
    address = text(pod[1], "status", "podIP")
    ordinal = pod[0].name.rpartition("-")[2]
    for process in spec.processes if has_address(pod[1]) else ():
        if process.component is Component.CURVINE_MASTER:
            port = _web_port(process, 9000)
            yield Target(key, f"{SourceKind.CURVINE_MASTER}.{ordinal}", url(address, port))
            yield Target(key, f"{SourceKind.CURVINE_MASTER_API}.{ordinal}", url(address, port, "/api/workers"))
        elif process.component is Component.CURVINE_WORKER:
            yield Target(key, f"{SourceKind.CURVINE_WORKER}.{ordinal}", url(address, _web_port(process, 9001)))


def _web_port(process: Process, default: int) -> int:
    return process.port("web") or default


def _drivers(scene: Scene, pool: Pool) -> list[Found]:
    """The CSI driver in the pool's namespace; anywhere, where there is one pool only."""
    found = [
        one for one in scene.lineage.workloads(DEPLOYMENTS, DAEMON_SETS) if template_labels(one[1]).get("app") in _CSI
    ]
    own = [one for one in found if one[0].namespace == pool.namespace]
    return own or (found if len(scene.pools) == 1 else [])


def _claims(scene: Scene, pool: Pool) -> tuple[Claim, ...]:
    found = []
    for ref, raw in named(scene.objects, CLAIMS):
        claim = read_claim(scene.objects, ref.namespace, ref.name, raw)
        if claim.provisioner == "curvine" and scene.storage(ref.namespace).pool_of(claim) is pool:
            found.append(claim)
    return tuple(found)


def _problems(scene: Scene, pool: Pool, claims: Sequence[Claim], drivers: Sequence[Found]) -> Iterator[str]:
    if not pool.workers:
        yield f"Pool {pool.name}: no apps/v1 StatefulSet of its workers is there, so how many are wanted is not known."
    if not pool.masters and not pool.loose.get("master"):
        yield f"Pool {pool.name}: no master of it is found."
    instances = {labels(raw, "metadata", "labels").get("app.kubernetes.io/instance") for _, raw in pool.workers}
    if None in instances:
        yield f"Pool {pool.name}: its workers carry no label app.kubernetes.io/instance."
    yield from format_problems(scene.objects, pool, scene.lineage)
    yield from fuse_problems(scene, pool, drivers)
    yield from (sentence for claim in claims if (sentence := cosmetic(claim)))


CURVINE = Curvine()
