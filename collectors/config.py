"""The configuration file: endpoints and pools with static targets (docs/config.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from collectors.prometheus.labels import Rule
from collectors.prometheus.rules import RelabelEntry
from collectors.sources import BY_KIND
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET, POOL, Endpoint, Replica, ReplicaKey, Role, Target, source_kind
from tierdeck.routing import RoutingStrategy
from tierdeck.settings import Settings
from tierdeck.units import format_size
from tierdeck.yaml_text import parse_yaml, refusal


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the file lists: endpoints, pools that serve any of them, and how a Prometheus's labels are read."""

    endpoints: tuple[Endpoint, ...]
    pools: tuple[Replica, ...] = ()
    relabel: tuple[Rule, ...] = ()


_LARGEST = 4 * 2**20


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}", name):
        raise ValueError("a name begins with a letter or digit, goes on with those or any of . _ : @ -, 128 at most")
    return name


def _check_targets(targets: dict[str, str]) -> dict[str, str]:
    """Known kinds and complete addresses; the metrics path is added where only host and port are given."""
    complete = {}
    for name, url in targets.items():
        try:
            source = BY_KIND[source_kind(_check_name(name))]
        except ValueError:
            raise ValueError(f"{name} is no kind of target; known: {', '.join(BY_KIND)}") from None
        parts = _parts(url)
        if parts is None:
            raise ValueError(f"{name}: {url!r} is not an http address such as http://10.0.0.7:8000")
        complete[name] = url if parts.path.strip("/") else url.rstrip("/") + source.path
    return complete


def _parts(url: str) -> SplitResult | None:
    """The parts of a usable http address, else None."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if usable and not re.search(r"\s", url) else None


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


class _Prometheus(_Model):
    relabel: tuple[RelabelEntry, ...] = ()


class _File(_Model):
    endpoints: tuple[_Endpoint, ...] = ()
    pools: tuple[_Pool, ...] = ()
    prometheus: _Prometheus | None = None

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
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path}: larger than {format_size(_LARGEST)}")
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "Give the file with --config or TIERDECK_CONFIG_FILE.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not YAML: {' '.join(str(error).split())[:300]}") from error
    return inventory_of(parse_yaml(text, str(path)), cluster, str(path))


def read_rules(settings: Settings) -> tuple[Rule, ...]:
    """The relabelling rules of the settings' configuration file; none without one.

    Raises:
        UsageError: the file is missing or broken.
    """
    path = settings.config_file
    return read_config(path, settings.cluster).relabel if path is not None else ()


def inventory_of(document: object, cluster: str, where: str) -> Inventory:
    """What a configuration document declares.

    Args:
        where: the document's place, for messages.

    Raises:
        UsageError: it is broken; one line that names the key.
    """
    found = document if isinstance(document, Mapping) else {}
    if not found.get("endpoints") and "prometheus" not in found:
        why = "empty, at least one entry is needed" if found.get("endpoints") == [] else "missing"
        if why != "missing" or "endpoints" not in found:
            raise UsageError(f"{where}: endpoints: {why}", "docs/config.md shows a whole file.")
    try:
        file = _File.model_validate(document)
    except ValidationError as error:
        raise refusal(error, where, "docs/config.md shows a whole file.") from error
    endpoints = tuple(_endpoint(endpoint, cluster) for endpoint in file.endpoints)
    pools = tuple(_replica(ReplicaKey(cluster, POOL, pool.name), pool.targets) for pool in file.pools)
    relabel = file.prometheus.relabel if file.prometheus is not None else ()
    return Inventory(endpoints, pools, tuple(entry.rule() for entry in relabel))


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
