"""Curvine's FUSE clients: which pool each mounts, and where its metrics are.

Source: CurvineIO/curvine, standalone_manager.go (label `app: curvine-standalone`, `--master-addrs`, host network)
and curvine-fuse's defaults: web port 9002 up to 0.4.1, 9003 after it, unless `--web-port` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.reading.fields import labels, named, text
from controller.reading.images import tag_version
from controller.reading.lineage import Found
from controller.reading.pods import has_address
from controller.reading.pools import Pool, pool_of_addresses
from controller.reading.processes import Process, Spec, port_of
from controller.reading.scene import Scene
from controller.reading.targets import url
from controller.resources import PODS
from tierdeck.deployed import Component
from tierdeck.fleet import ReplicaKey, SourceKind, Target

_PREFIXES = ("curvine-csi-standalone-", "curvine-standalone-")
_LAST_OLD = (0, 4, 1)


def fuse_pods(scene: Scene, pool: Pool) -> list[tuple[Found, Spec]]:
    """FUSE pods of a pool, by the masters that they are told."""
    return [(pod, spec) for pod, spec in _all(scene) if _pool_of(spec, scene) is pool]


def _all(scene: Scene) -> Iterator[tuple[Found, Spec]]:
    for ref, raw in named(scene.objects, PODS):
        if labels(raw, "metadata", "labels").get("app") == "curvine-standalone":
            yield (ref, raw), scene.pod((ref, raw))


def _pool_of(spec: Spec, scene: Scene) -> Pool | None:
    client = spec.of(Component.CURVINE_FUSE)
    return pool_of_addresses(client.command.value("--master-addrs"), scene.pools) if client else None


def fuse_target(key: ReplicaKey, pod: Found, spec: Spec) -> Target | None:
    """None where its port is not known."""
    client = spec.of(Component.CURVINE_FUSE)
    port = fuse_port(client) if client else None
    if port is None or not has_address(pod[1]):
        return None
    return Target(key, fuse_name(pod[0].name), url(text(pod[1], "status", "podIP"), port))


def fuse_name(pod: str) -> str:
    """The name of a FUSE client's target, by that of its pod."""
    return f"{SourceKind.CURVINE_FUSE}.{member_name(pod)}"


def member_name(pod: str) -> str:
    """The name of a FUSE client among a pool's members, by that of its pod."""
    for prefix in _PREFIXES:
        pod = pod.removeprefix(prefix)
    return pod


def fuse_port(client: Process) -> int | None:
    """As its arguments say, else by its version."""
    stated = port_of(client.command.value("--web-port"))
    if stated is not None:
        return stated
    return default_port(tag_version(client.image))


def default_port(version: str) -> int | None:
    """Where a version's client serves its metrics, unless told otherwise; None: it is no version."""
    parts = version.partition("-")[0].split(".")
    if not all(part.isdigit() for part in parts[:3]):
        return None
    return 9002 if tuple(int(part) for part in parts[:3]) <= _LAST_OLD else 9003


def fuse_problems(scene: Scene, pool: Pool, drivers: Sequence[Found]) -> Iterator[str]:
    """FUSE clients that can't be scraped, or whose pool is not known."""
    for one in drivers:
        driver = scene.template(one).of(Component.CURVINE_CSI)
        if one[0].kind == "DaemonSet" and driver and driver.environment.value("MOUNT_MODE") == "embedded":
            yield f"{one[0]}: FUSE runs inside the CSI driver (MOUNT_MODE embedded), so its clients have no target."
    for pod, spec in _all(scene):
        client, own = spec.of(Component.CURVINE_FUSE), _pool_of(spec, scene)
        if own is pool and client and fuse_port(client) is None:
            yield f"{pod[0]}: neither --web-port nor its image's tag tells the port of its metrics."
        elif own is None and pod[0].namespace == pool.namespace:
            yield f"{pod[0]}: --master-addrs does not tell which pool it mounts."
