"""A simulated fleet as a deck's configuration file."""

from __future__ import annotations

from collections.abc import Callable

from lab.replay import path_of
from lab.sim.fleet import Fleet
from tierdeck.fleet import FLEET

_MASTER_API = "curvine-master-api"


def url_path(owner: str, replica: str, source: str) -> str:
    """Where the lab serves a target."""
    path = path_of(owner, replica, source)
    return path.removesuffix("/metrics") + "/api/workers" if source == _MASTER_API else path


def sim_config(fleet: Fleet, url_of: Callable[[str, str, str], str]) -> dict[str, object]:
    """The deck's configuration file (docs/config.md) for a fleet as it is now."""
    urls: dict[tuple[str, str], dict[str, str]] = {}
    for owner, replica, source in fleet.targets():
        urls.setdefault((owner, replica), {})[source] = url_of(owner, replica, source)
    endpoints: list[dict[str, object]] = [
        {
            "name": name,
            "model": endpoint.spec.model,
            "strategy": str(endpoint.strategy),
            "kv_bytes_per_token": endpoint.spec.geometry.kv_bytes_per_token,
            "replicas": [
                {
                    "name": replica.name,
                    "role": str(replica.role),
                    "versions": replica.form.versions,
                    "targets": urls[name, replica.name],
                }
                for replica in endpoint.replicas
            ],
            "shared": urls[name, FLEET],
        }
        for name, endpoint in fleet.endpoints.items()
    ]
    return {
        "endpoints": endpoints,
        "pools": [{"name": fleet.spec.pool_name, "targets": urls[fleet.spec.pool_name, FLEET]}],
    }
