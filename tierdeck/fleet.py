"""What a fleet is made of: endpoints, their replicas, and the targets that are scraped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

FLEET = "_fleet"
"""The name under which sources that belong to no replica are kept."""

POOL = "_pool"
"""The name under which pools are kept: a pool serves any endpoint."""


class SourceKind(StrEnum):
    """The kinds of exposition that Tierdeck reads; also the file names of a snapshot."""

    VLLM = "vllm"
    LMCACHE = "lmcache"
    LMCACHE_MP = "lmcache-mp"
    LMCACHE_COORDINATOR = "lmcache-coordinator"
    ROUTER = "router"
    CURVINE_MASTER = "curvine-master"
    CURVINE_MASTER_API = "curvine-master-api"
    CURVINE_WORKER = "curvine-worker"
    CURVINE_FUSE = "curvine-fuse"


COMPONENTS = {SourceKind.VLLM: "vllm", SourceKind.LMCACHE: "lmcache", SourceKind.LMCACHE_MP: "lmcache"}
"""The component whose version a target's process tells (`GET /version`), as `versions` calls it.

`router` is another name there: routers tell no version, their image does.
"""


class Role(StrEnum):
    """A replica's part in prefill / decode disaggregation (vLLM's `kv_role`)."""

    BOTH = "kv_both"
    PRODUCER = "kv_producer"
    CONSUMER = "kv_consumer"


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """Whose figures these are. `replica` is `_fleet` for what the endpoint's replicas share."""

    cluster: str
    endpoint: str
    replica: str

    def __post_init__(self) -> None:
        for name in ("cluster", "endpoint", "replica"):
            if not getattr(self, name):
                raise ValueError(f"a replica's {name} can't be empty")

    @property
    def shared(self) -> bool:
        return self.replica == FLEET

    @property
    def owner(self) -> tuple[str, str]:
        """Cluster and endpoint."""
        return self.cluster, self.endpoint


@dataclass(frozen=True, slots=True)
class Target:
    """One address that is scraped. `name` is the kind, or kind.suffix where there are several."""

    key: ReplicaKey
    name: str
    url: str

    @property
    def kind(self) -> SourceKind:
        return source_kind(self.name)

    @property
    def is_scraped(self) -> bool:
        """It has an address of its own; else `url` tells where a Prometheus has it from."""
        return self.url.startswith(("http://", "https://"))

    @property
    def component(self) -> str:
        """What its process is, as `Replica.versions` calls it; empty where none tells its version."""
        return COMPONENTS.get(self.kind, "")


@dataclass(frozen=True, slots=True)
class Replica:
    """One engine with its caches.

    Attributes:
        versions: by component (`vllm`, `lmcache`, `router`), as stated; after `told`, as known.
        kv_bytes_per_token: its endpoint's, where bytes are to be told as tokens.
    """

    key: ReplicaKey
    targets: tuple[Target, ...]
    role: Role = Role.BOTH
    versions: tuple[tuple[str, str], ...] = ()
    kv_bytes_per_token: float | None = None

    @property
    def is_scraped(self) -> bool:
        """Its targets are asked one by one."""
        return any(target.is_scraped for target in self.targets)

    def version(self, component: str) -> str:
        """Version of a component; empty when unknown."""
        return dict(self.versions).get(component, "")

    def told(self, versions: Mapping[str, str]) -> Replica:
        """The replica with the versions that its processes tell, which win over those that are stated.

        A component whose processes tell different ones has none.

        Args:
            versions: by target; missing or empty where unknown.
        """
        known = dict(self.versions)
        for component in {target.component for target in self.targets} - {""}:
            own = {versions.get(target.name, "") for target in self.targets if target.component == component} - {""}
            if len(own) == 1:
                known[component] = own.pop()
            elif own:
                known.pop(component, None)
        return replace(self, versions=tuple(sorted(known.items())))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one router. `strategy` is what the configuration says, not a proof."""

    cluster: str
    name: str
    replicas: tuple[Replica, ...]
    backend: str = "static"
    model: str = ""
    strategy: str = ""
    kv_bytes_per_token: int | None = None

    @property
    def sized_replicas(self) -> tuple[Replica, ...]:
        """The replicas as an accountant needs them: with the size of a token's KV."""
        return tuple(replace(replica, kv_bytes_per_token=self.kv_bytes_per_token) for replica in self.replicas)


def source_kind(name: str) -> SourceKind:
    """`router.2` -> `SourceKind.ROUTER`.

    Raises:
        ValueError: no such kind.
    """
    return SourceKind(name.partition(".")[0])
