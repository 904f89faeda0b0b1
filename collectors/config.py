"""The configuration file: endpoints and pools with static targets (docs/config.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from collectors.sources import BY_KIND
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET, POOL, Endpoint, Replica, ReplicaKey, Role, Target, source_kind
from tierdeck.routing import RoutingStrategy


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the file lists: endpoints, and pools that serve any of them."""

    endpoints: tuple[Endpoint, ...]
    pools: tuple[Replica, ...] = ()


def _check_name(name: str) -> str:
    if not name or name.startswith("_") or "/" in name:
        raise ValueError("a name can't be empty, begin with _ or hold /")
    return name


def _check_targets(targets: dict[str, str]) -> dict[str, str]:
    """Known kinds and complete addresses; the metrics path is added where only host and port are given."""
    complete = {}
    for name, url in targets.items():
        try:
            source = BY_KIND[source_kind(name)]
        except ValueError:
            raise ValueError(f"{name} is no kind of target; known: {', '.join(BY_KIND)}") from None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{name}: {url!r} is not an http address such as http://10.0.0.7:8000")
        complete[name] = url if parts.path.strip("/") else url.rstrip("/") + source.path
    return complete


Name = Annotated[str, AfterValidator(_check_name)]
Targets = Annotated[dict[str, str], AfterValidator(_check_targets)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Replica(_Model):
    name: Name
    targets: Targets = Field(min_length=1)
    role: Role = Role.BOTH
    versions: dict[str, str] = Field(default_factory=dict)


class _Endpoint(_Model):
    name: Name
    replicas: tuple[_Replica, ...] = Field(min_length=1)
    model: str = ""
    strategy: RoutingStrategy | None = None
    kv_bytes_per_token: int | None = Field(None, gt=0)
    shared: Targets = Field(default_factory=dict)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        _check_distinct("replica", [replica.name for replica in self.replicas])
        return self


class _Pool(_Model):
    name: Name
    targets: Targets = Field(min_length=1)


class _File(_Model):
    endpoints: tuple[_Endpoint, ...] = Field(min_length=1)
    pools: tuple[_Pool, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        _check_distinct("endpoint", [endpoint.name for endpoint in self.endpoints])
        _check_distinct("pool", [pool.name for pool in self.pools])
        return self


def _check_distinct(what: str, names: list[str]) -> None:
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{what} {sorted(twice)[0]!r} is listed twice")


def read_config(path: Path, cluster: str) -> Inventory:
    """Read a configuration file.

    Raises:
        UsageError: it is missing or broken; one line that names the key.
    """
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Give the file with --config or TIERDECK_CONFIG_FILE.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, Mapping):
        raise UsageError(f"{path}: endpoints: missing", "docs/config.md shows a whole file.")
    try:
        file = _File.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{path}: {where or 'file'}: {message}", "docs/config.md shows a whole file.") from error
    endpoints = tuple(_endpoint(endpoint, cluster) for endpoint in file.endpoints)
    pools = tuple(_replica(ReplicaKey(cluster, POOL, pool.name), pool.targets) for pool in file.pools)
    return Inventory(endpoints, pools)


def _endpoint(entry: _Endpoint, cluster: str) -> Endpoint:
    replicas = [
        _replica(ReplicaKey(cluster, entry.name, replica.name), replica.targets, replica.role, replica.versions)
        for replica in entry.replicas
    ]
    if entry.shared:
        replicas.append(_replica(ReplicaKey(cluster, entry.name, FLEET), entry.shared))
    return Endpoint(
        cluster=cluster,
        name=entry.name,
        replicas=tuple(replicas),
        model=entry.model,
        strategy=str(entry.strategy or ""),
        kv_bytes_per_token=entry.kv_bytes_per_token,
    )


def _replica(
    key: ReplicaKey, targets: Mapping[str, str], role: Role = Role.BOTH, versions: Mapping[str, str] | None = None
) -> Replica:
    return Replica(
        key,
        tuple(Target(key, name, url) for name, url in targets.items()),
        role,
        tuple(sorted((versions or {}).items())),
    )
