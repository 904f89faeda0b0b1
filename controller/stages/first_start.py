"""Whether a first start, which formats, is sure to erase nothing: each reason why it is not.

Formatting can't be undone, and a pool that is scaled to nothing or can't be seen looks like none. So whatever is not
seen, and each trace of a pool that is not found, is a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from controller.objects import Raw
from controller.reading.configs import is_below
from controller.reading.curvine_fuse import fuse_pods
from controller.reading.fields import items, labels, mapping, named, text
from controller.reading.lineage import Found, template_labels, template_spec
from controller.reading.pools import PROVISIONER, Pool, pool_of_addresses
from controller.reading.scene import Scene
from controller.reading.storage import read_claim
from controller.resources import CLAIMS, DAEMON_SETS, DEPLOYMENTS, PODS, STATEFUL_SETS, STORAGE_CLASSES
from controller.stage import View
from controller.stages.pool_wishes import PoolWishes

_NEEDED = (STATEFUL_SETS, PODS, CLAIMS, STORAGE_CLASSES, DAEMON_SETS, DEPLOYMENTS)
_NAME, _INSTANCE = "app.kubernetes.io/name", "app.kubernetes.io/instance"


def doubts(view: View, scene: Scene, wishes: PoolWishes, pool: Pool | None) -> tuple[str, ...]:
    """Why a first start might erase something; empty: it can't, as far as the API tells.

    Args:
        pool: the one that is meant, if it is there.
    """
    found = [f"{one.name} can't be seen: {scene.objects.blind[one]}" for one in _NEEDED if not scene.objects.sees(one)]
    if view.namespaces:
        looked = ", ".join(view.namespaces)
        found.append(f"only {looked} is looked into, and a pool elsewhere may have its data on the same nodes")
    if pool is not None:
        found.append(f"pool {pool.name} is there, and that nothing of it is ready now does not tell that it never ran")
        return tuple(found)
    traces = (_servers(scene, wishes), _claims(scene, wishes), _classes(scene), _mounts(scene), _others(scene),
              _paths(scene, wishes))  # fmt: skip
    return tuple(dict.fromkeys([*found, *(reason for kind in traces for reason in kind)]))


def _servers(scene: Scene, wishes: PoolWishes) -> Iterator[str]:
    """What has the names that the release's servers would have."""
    ours = re.compile(rf"{re.escape(wishes.fullname)}-(master|worker)(-\d+)?")
    for resource in (STATEFUL_SETS, PODS):
        for ref, _ in named(scene.objects, resource):
            if ref.namespace == wishes.namespace and ours.fullmatch(ref.name):
                yield f"{ref} has the name of one of its servers"


def _claims(scene: Scene, wishes: PoolWishes) -> Iterator[str]:
    """Claims that lie in no pool that is found, and volumes that servers left."""
    left = re.compile(rf".+-{re.escape(wishes.fullname)}-(master|worker)-\d+")
    pools = {(one.namespace, one.instance) for one in scene.pools}
    for ref, raw in named(scene.objects, CLAIMS):
        claim, own = read_claim(scene.objects, ref.namespace, ref.name, raw), labels(raw, "metadata", "labels")
        is_used = claim.phase != "Pending" or bool(text(raw, "spec", "volumeName"))
        if claim.provisioner == PROVISIONER and is_used and scene.storage(ref.namespace).pool_of(claim) is None:
            yield f"{ref} of Curvine is {claim.phase or 'there'}, and the pool that it lies in is not found"
        is_left = own.get(_NAME) == "curvine" and (ref.namespace, own.get(_INSTANCE, "curvine")) not in pools
        if is_left or (ref.namespace == wishes.namespace and left.fullmatch(ref.name)):
            yield f"{ref} is what servers of a pool keep their data on"


def _classes(scene: Scene) -> Iterator[str]:
    for ref, raw in named(scene.objects, STORAGE_CLASSES):
        addresses = text(raw, "parameters", "master-addrs")
        if text(raw, "provisioner") == PROVISIONER and pool_of_addresses(addresses, scene.pools) is None:
            yield f"{ref} leads to a pool that is not found ({addresses or 'master-addrs is not set'})"


def _mounts(scene: Scene) -> Iterator[str]:
    known = {pod for pool in scene.pools for (pod, _), _ in fuse_pods(scene, pool)}
    for ref, raw in named(scene.objects, PODS):
        if labels(raw, "metadata", "labels").get("app") == "curvine-standalone" and ref not in known:
            yield f"{ref} mounts a pool that is not found"


def _others(scene: Scene) -> Iterator[str]:
    for one in scene.pools:
        if not one.of("worker"):
            yield f"no worker of pool {one.name} is found, so where its data lies is not told"


def _paths(scene: Scene, wishes: PoolWishes) -> Iterator[str]:
    """Whatever else has a folder of the nodes that would be formatted."""
    for one, spec, own in _specs(scene):
        is_curvine = own.get(_NAME) == "curvine" or any("curvine" in text(each, "image") for each in _containers(spec))
        for volume in items(spec, "volumes"):
            folder = text(volume, "hostPath", "path")
            for path in wishes.data_paths.split(","):
                if is_below(folder, path) or (is_curvine and is_below(path, folder)):
                    yield f"{one[0]} uses {folder} of its nodes, and a worker may come to the same node"


def _specs(scene: Scene) -> Iterator[tuple[Found, Raw, dict[str, str]]]:
    for one in scene.lineage.workloads():
        yield one, template_spec(one[1]), template_labels(one[1])
    for pod in named(scene.objects, PODS):
        yield pod, mapping(pod[1], "spec"), labels(pod[1], "metadata", "labels")


def _containers(spec: Raw) -> list[Raw]:
    return [*items(spec, "initContainers"), *items(spec, "containers")]
