"""Curvine pools: their masters and workers, and how large their workers' data directories are.

Sources: CurvineIO/curvine-helm, curvine-runtime/templates (labels, names, ports, the ConfigMap's key) and
CurvineIO/curvine, worker_conf.rs (`[SSD:200GB]/path`; units are powers of two; no size is the whole filesystem).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.fields import items, labels, named, text, whole
from controller.reading.lineage import Found, Lineage, template_labels, template_spec
from controller.resources import PODS, STATEFUL_SETS, STORAGE_CLASSES
from tierdeck.deployed import StatedSize

PROVISIONER = "curvine"
CONFIG_FILE = "curvine-cluster.toml"
_COMPONENT, _INSTANCE, _NAME = (f"app.kubernetes.io/{name}" for name in ("component", "instance", "name"))
_DATA_DIR = re.compile(r"(?:\[\s*(?:(\w+)\s*:)?\s*([^\]:]*)\])?(/.*)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pool:
    """One Curvine cluster.

    Attributes:
        masters, workers: their StatefulSets.
        loose: pods of masters and workers that no apps/v1 StatefulSet owns (OpenKruise's are not read), by component.
    """

    namespace: str
    instance: str
    masters: tuple[Found, ...] = ()
    workers: tuple[Found, ...] = ()
    loose: Mapping[str, tuple[Found, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.namespace}/{self.instance}"

    def answers(self, address: str) -> bool:
        """An address in `master-addrs` (`curvine-master-0.curvine-master.curvine.svc:8995`) is one of its masters."""
        host = address.strip().rpartition(":")[0] or address.strip()
        parts = host.split(".")
        services = {text(raw, "spec", "serviceName") or ref.name for ref, raw in self.masters}
        services |= {ref.name.rpartition("-")[0] for ref, _ in self.loose.get("master", ())}
        for at, part in enumerate(parts[:2]):
            if part in services and (parts[at + 1] if at + 1 < len(parts) else "") == self.namespace:
                return True
        return host in {text(raw, "status", "podIP") for _, raw in self.loose.get("master", ())} - {""}

    def capacity(self, objects: Objects) -> StatedSize:
        """All workers' data directories as the ConfigMap has them; the disk may be smaller."""
        size, count = self.worker_size(objects), self.wanted
        if size.size_bytes is None or count is None:
            return size if size.reason else StatedSize.unknown("the number of its workers is not known", size.text)
        return StatedSize(size.size_bytes * count, f"{size.text} × {count} workers", size.where)

    @property
    def wanted(self) -> int | None:
        """Workers wanted."""
        numbers = [whole(raw, "spec", "replicas") for _, raw in self.workers]
        return sum(one for one in numbers if one is not None) if numbers and None not in numbers else None

    def worker_size(self, objects: Objects) -> StatedSize:
        """The data directories of one worker."""
        config = self.config_name()
        if not config:
            return StatedSize.unknown("its workers mount no ConfigMap with curvine-cluster.toml")
        where = f"ConfigMap {self.namespace}/{config}, {CONFIG_FILE} [worker] data_dir"
        data = Configs(objects, self.namespace).data(config)
        if isinstance(data, str):
            return StatedSize.unknown(f"its data directories are in {data}", where=where)
        return directories(data.get(CONFIG_FILE, ""), where)

    def of(self, component: str) -> tuple[Found, ...]:
        """What runs its masters (`master`) or workers (`worker`): StatefulSets, else pods."""
        return (self.masters if component == "master" else self.workers) or self.loose.get(component, ())

    def config_name(self, component: str = "worker") -> str:
        """The ConfigMap that its workers mount, or its masters."""
        sets = self.masters if component == "master" else self.workers
        specs = [template_spec(raw) for _, raw in sets]
        specs += [raw["spec"] for _, raw in self.loose.get(component, ()) if isinstance(raw.get("spec"), Mapping)]
        names = [text(volume, "configMap", "name") for spec in specs for volume in items(spec, "volumes")]
        fitting = [name for name in names if name]
        return next((name for name in fitting if name.endswith("-config")), fitting[0] if fitting else "")


def directories(document: str, where: str) -> StatedSize:
    """Sum of `[worker] data_dir`: `200 GiB + 100 GiB`."""
    try:
        worker = tomllib.loads(document).get("worker")
    except (tomllib.TOMLDecodeError, RecursionError):
        return StatedSize.unknown(f"{CONFIG_FILE} can't be read as TOML", where=where)
    listed = worker.get("data_dir") if isinstance(worker, Mapping) else None
    if not isinstance(listed, list) or not listed:
        return StatedSize.unknown("no data_dir is set, so Curvine has nowhere to keep data", where=where)
    total, parts = 0, []
    for entry in listed:
        size = _directory_bytes(entry)
        if isinstance(size, str):
            return StatedSize.unknown(size, str(entry), where)
        total += size
        parts.append(f"{size / (1 << 30):g} GiB")
    return StatedSize(total, parts[0] if len(parts) == 1 else f"({' + '.join(parts)})", where)


def _directory_bytes(entry: object) -> int | str:
    found = _DATA_DIR.fullmatch(entry.strip()) if isinstance(entry, str) else None
    if not found:
        return f"data_dir {entry!r} is not read"
    size = _SIZE.fullmatch((found[2] or "").strip())
    number = float(size[1]) * 1024 ** " KMGTP".index(size[2].upper() or " ") if size else 0.0
    if not number:
        if (found[2] or "0").strip() in ("", "0") or size:
            return f"data_dir {found[3]} has no size: the whole filesystem is used"
        return f"data_dir {entry!r} is not read"
    return int(number)


def pools_of(objects: Objects, lineage: Lineage) -> tuple[Pool, ...]:
    """Every pool, in the order of names."""
    sets: dict[tuple[str, str], dict[str, list[Found]]] = {}
    for one in lineage.workloads(STATEFUL_SETS):
        _put(sets, one, template_labels(one[1]))
    loose: dict[tuple[str, str], dict[str, list[Found]]] = {}
    for ref, raw in named(objects, PODS):
        found = labels(raw, "metadata", "labels")
        if found.get(_NAME) == "curvine" and not _is_of_statefulset(raw):
            _put(loose, (ref, raw), found)
    return tuple(
        Pool(
            namespace,
            instance,
            tuple(sets.get((namespace, instance), {}).get("master", ())),
            tuple(sets.get((namespace, instance), {}).get("worker", ())),
            {kind: tuple(pods) for kind, pods in loose.get((namespace, instance), {}).items()},
        )
        for namespace, instance in sorted({*sets, *loose})
    )


def _put(kept: dict[tuple[str, str], dict[str, list[Found]]], one: Found, found: Mapping[str, str]) -> None:
    component = found.get(_COMPONENT, "")
    if found.get(_NAME) == "curvine" and component in ("master", "worker"):
        key = one[0].namespace, found.get(_INSTANCE) or "curvine"
        kept.setdefault(key, {}).setdefault(component, []).append(one)


def _is_of_statefulset(raw: Mapping[str, object]) -> bool:
    owners = items(raw, "metadata", "ownerReferences")
    return any(text(one, "kind") == "StatefulSet" and text(one, "apiVersion").startswith("apps/") for one in owners)


def pool_of_addresses(addresses: str, pools: Iterable[Pool]) -> Pool | None:
    """The pool whose masters these are (`host:port,host:port`); None where none, or more than one, is."""
    listed = [address for address in addresses.split(",") if address.strip()]
    fitting = [pool for pool in pools if any(pool.answers(address) for address in listed)]
    return fitting[0] if len(fitting) == 1 else None


def addresses_of_class(objects: Objects, name: str) -> str:
    """`master-addrs` of a StorageClass."""
    return text(objects.get(STORAGE_CLASSES, "", name) or {}, "parameters", "master-addrs")
