"""What the parts of a Curvine pool are called: as its StatefulSets have it, else by the rule of its chart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controller.reading.fields import items, text, whole
from controller.reading.lineage import Found, template_spec
from controller.reading.pools import Pool
from controller.stages.pool_wishes import PoolWishes

_RPC = 8995


@dataclass(frozen=True, slots=True)
class PoolNames:
    """StatefulSets, and where clients find the masters (`host:port`, several with commas)."""

    master: str
    worker: str
    addresses: str


def names_of(wishes: PoolWishes, pool: Pool | None) -> PoolNames:
    """
    Args:
        pool: the one that is meant, if it is there.
    """
    master, worker = f"{wishes.fullname}-master", f"{wishes.fullname}-worker"
    if pool is None:
        return PoolNames(master, worker, _address(master, 0, master, wishes.namespace, _RPC))
    addresses = ",".join(_addresses(pool)) or _address(master, 0, master, pool.namespace, _RPC)
    return PoolNames(
        next((ref.name for ref, _ in pool.masters), master),
        next((ref.name for ref, _ in pool.workers), worker),
        addresses,
    )


def _addresses(pool: Pool) -> Iterator[str]:
    for ref, raw in pool.masters:
        service = text(raw, "spec", "serviceName") or ref.name
        for number in range(min(whole(raw, "spec", "replicas") or 1, 99)):
            yield _address(ref.name, number, service, pool.namespace, _port((ref, raw)))
    if not pool.masters:
        for ref, _ in pool.loose.get("master", ()):
            yield f"{ref.name}.{ref.name.rpartition('-')[0]}.{pool.namespace}.svc.cluster.local:{_RPC}"


def _address(workload: str, number: int, service: str, namespace: str, port: int) -> str:
    return f"{workload}-{number}.{service}.{namespace}.svc.cluster.local:{port}"


def _port(one: Found) -> int:
    ports = [port for each in items(template_spec(one[1]), "containers") for port in items(each, "ports")]
    return next((whole(port, "containerPort") or _RPC for port in ports if text(port, "name") == "rpc"), _RPC)
