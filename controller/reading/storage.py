"""L2 as a process states it: LMCache's remote, its server's adapters, and the Curvine pool behind a claim.

Sources: LMCache (`remote_url`: `fs://host:port/path`; `lmcache server --l2-adapter JSON` with `base_path`,
`max_capacity_gb`); CurvineIO/curvine, curvine-csi (`<fs-path>/<pv>`; a claim's requested size limits nothing).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from controller.objects import Objects, Raw
from controller.reading.configs import is_below
from controller.reading.fields import field, items, labels, text
from controller.reading.lmcache import EMBEDDED, Settings, connectors
from controller.reading.pools import PROVISIONER, Pool, addresses_of_class, pool_of_addresses
from controller.reading.processes import Process
from controller.reading.quantities import bytes_of
from controller.reading.sizes import GIB, gib_of
from controller.resources import CLAIMS, STORAGE_CLASSES
from tierdeck.deployed import Claim, Stated, StatedSize

_TIERED = "sagemaker-hyperpod"
"""Source: sagemaker-hyperpod-cli#431, what HyperPod's `tieredstorage` becomes in the engine."""
_PROVISIONED_BY = "volume.kubernetes.io/storage-provisioner"


@dataclass(frozen=True, slots=True)
class Storage:
    """The claims of one namespace and the pools of the cluster."""

    objects: Objects
    namespace: str
    pools: Sequence[Pool]

    def claims(self, volumes: Iterable[Raw]) -> list[Claim]:
        """Claims among a pod's volumes, each once, in the order of names."""
        names = {text(volume, "persistentVolumeClaim", "claimName") for volume in volumes}
        return [self.claim(name) for name in sorted(names - {""})]

    def claim(self, name: str) -> Claim:
        raw = self.objects.get(CLAIMS, self.namespace, name) or {}
        return read_claim(self.objects, self.namespace, name, raw)

    def pool_of(self, claim: Claim) -> Pool | None:
        """The pool that a Curvine claim lies in; None where its StorageClass does not tell."""
        return pool_of_addresses(addresses_of_class(self.objects, claim.storage_class), self.pools)

    def at(self, path: str, process: Process) -> tuple[Claim, Raw] | None:
        """The claim whose mount holds a path in a container, with that mount."""
        mounts = [
            mount for mount in items(process.container, "volumeMounts") if is_below(path, text(mount, "mountPath"))
        ]
        mount = max(mounts, key=lambda one: len(text(one, "mountPath")), default=None)
        if mount is None:
            return None
        volume = next((one for one in process.volumes if text(one, "name") == text(mount, "name")), {})
        name = text(volume, "persistentVolumeClaim", "claimName")
        return (self.claim(name), mount) if name else None

    def l2_of(self, process: Process, server: Process | None = None) -> StatedSize:
        """L2 of an engine.

        Args:
            server: the LMCache server that it uses.
        """
        if server is not None:
            return self._of_server(server)
        settings = Settings(process)
        remote = settings.get("remote_url")
        if remote is None and process.environment.hidden and (settings.is_there or connectors(process)):
            return StatedSize.unknown(process.environment.hidden[0])
        if remote is None:
            return self._local_disk(process, settings)
        if remote.reason:
            return StatedSize.unknown(remote.reason, where=remote.where)
        return self._remote(remote, process)

    def _remote(self, remote: Stated, process: Process) -> StatedSize:
        try:
            scheme, path = (parts := urlsplit(remote.value)).scheme, parts.path
        except ValueError:
            return StatedSize.unknown("remote_url is no address", remote.value, remote.where)
        if scheme == _TIERED:
            return StatedSize.unknown("the node's tiered storage has no size here", "tieredstorage", remote.where)
        if scheme in ("fs", "file"):
            return self._on_path(path, process, remote.value, remote.where)
        return StatedSize.unknown(f"a remote of the kind {scheme or remote.value!r} has no size here",
                                  remote.value, remote.where)  # fmt: skip

    def _on_path(self, path: str, process: Process, written: str, where: str) -> StatedSize:
        found = self.at(path, process)
        if found is None:
            return StatedSize.unknown(f"{path} is on no claim: each replica has its own", written, where)
        return self.on_claim(found[0], text(found[1], "mountPath"), written, where)

    def on_claim(self, claim: Claim, path: str, written: str, where: str) -> StatedSize:
        """L2 on a claim that is mounted at a path."""
        if claim.provisioner != PROVISIONER:
            what = f"claim {claim.namespace}/{claim.name} ({claim.provisioner or 'provisioner not told'})"
            return StatedSize.unknown(f"{path} is on {what}, and LMCache keeps no limit there", written, where)
        pool, at = self.pool_of(claim), f"claim {claim.namespace}/{claim.name} at {path}"
        if pool is None:
            return StatedSize.unknown("which Curvine pool the claim lies in is not told", f"Curvine, {at}", where)
        words = f"Curvine pool {pool.name}, {at}"
        capacity = pool.capacity(self.objects)
        if capacity.size_bytes is None:
            return StatedSize.unknown(capacity.reason, words, where)
        return StatedSize(capacity.size_bytes, words, where)

    @staticmethod
    def _local_disk(process: Process, settings: Settings) -> StatedSize:
        disk = settings.get("local_disk")
        if disk is not None:
            size = settings.value("max_local_disk_size")
            text = f"local disk {disk.value} {size}".strip()
            return StatedSize.unknown(disk.reason or "a local disk of each rank is no shared pool", text, disk.where)
        if any(not name.startswith(EMBEDDED) for name in connectors(process)):
            return StatedSize.unknown("what the KV connector keeps beyond the host is not read")
        if process.command.problem or process.command.has("--config"):
            return StatedSize.unknown(process.command.problem or "a connector may be in the file of --config")
        return StatedSize(0, "no remote", process.where)

    def _of_server(self, server: Process) -> StatedSize:
        adapters = server.command.all("--l2-adapter")
        if not adapters:
            return StatedSize(0, "no L2 adapter", server.where)
        if len(adapters) > 1:
            kinds = ", ".join(text(_json(one.value), "type") or "unread" for one in adapters)
            return StatedSize.unknown("several L2 adapters are not added up", kinds, adapters[0].where)
        adapter, where = _json(adapters[0].value), adapters[0].where
        kind, path = text(adapter, "type"), text(adapter, "base_path")
        if not kind:
            return StatedSize.unknown("--l2-adapter is no JSON that names a type", where=where)
        written = " ".join(part for part in (kind, path) if part)
        found = self.at(path, server) if path else None
        if found is not None and found[0].provisioner == PROVISIONER:
            return self._on_path(path, server, written, where)
        limit = gib_of(str(adapter.get("max_capacity_gb", "")))
        if limit is None:
            return StatedSize.unknown("the adapter states no capacity", written, where)
        return StatedSize(int(limit * GIB), f"{written}, {limit:g} GiB", where)


def read_claim(objects: Objects, namespace: str, name: str, raw: Raw) -> Claim:
    """A claim; its provisioner is its StorageClass's, else the one that an annotation notes."""
    storage_class = text(raw, "spec", "storageClassName")
    provisioner = text(objects.get(STORAGE_CLASSES, "", storage_class) or {}, "provisioner")
    return Claim(
        name,
        namespace,
        storage_class,
        provisioner or labels(raw, "metadata", "annotations").get(_PROVISIONED_BY, ""),
        text(raw, "status", "phase"),
        bytes_of(field(raw, "spec", "resources", "requests", "storage")),
        bytes_of(field(raw, "status", "capacity", "storage")),
    )


def cosmetic(claim: Claim) -> str:
    """What is to be said of the size of a Curvine claim; empty for any other."""
    if claim.provisioner != PROVISIONER or claim.requested_bytes is None:
        return ""
    asked = f"{claim.requested_bytes / GIB:g} GiB"
    return f"Claim {claim.namespace}/{claim.name} asks for {asked}, which Curvine does not hold it to."


def _json(written: str) -> Raw:
    try:
        found = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
