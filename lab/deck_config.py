"""The Tierdeck configuration file (docs/config.md) that points a deck at a replay."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from lab.snapshot import Snapshot
from tierdeck.fleet import FLEET

UrlOf = Callable[[str, str, str], str]
"""(snapshot, replica or `_fleet`, source) -> address."""


def deck_config(snapshots: Sequence[Snapshot], url_of: UrlOf) -> dict[str, object]:
    """One endpoint per snapshot, and a pool for each snapshot that recorded one."""
    endpoints, pools = [], []
    for snapshot in snapshots:
        shared = {source: url_of(snapshot.name, FLEET, source) for source in snapshot.sources(FLEET)}
        pool = {source: url for source, url in shared.items() if source.startswith("curvine-")}
        shared = {source: url for source, url in shared.items() if source not in pool}
        endpoint: dict[str, object] = {"name": snapshot.name}
        if snapshot.facts.kv_bytes_per_token is not None:
            endpoint["kv_bytes_per_token"] = snapshot.facts.kv_bytes_per_token
        endpoint["replicas"] = [_replica(snapshot, name, url_of) for name in snapshot.replicas]
        if shared:
            endpoint["shared"] = shared
        if snapshot.replicas:
            endpoints.append(endpoint)
        if pool:
            pools.append({"name": snapshot.name, "targets": pool})
    return {"endpoints": endpoints, "pools": pools} if pools else {"endpoints": endpoints}


def _replica(snapshot: Snapshot, name: str, url_of: UrlOf) -> dict[str, object]:
    replica: dict[str, object] = {"name": name}
    if name in snapshot.facts.roles:
        replica["role"] = snapshot.facts.roles[name]
    if name in snapshot.facts.versions:
        replica["versions"] = dict(snapshot.facts.versions[name])
    replica["targets"] = {source: url_of(snapshot.name, name, source) for source in snapshot.sources(name)}
    return replica


def write_atomically(path: Path, document: dict[str, object]) -> None:
    """Write the file so that a reader sees all of it or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yaml.safe_dump(document, file, sort_keys=False)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
