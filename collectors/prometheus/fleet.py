"""Addresses as a fleet: which replica, endpoint or pool each belongs to; what is guessed is told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.prometheus.addresses import Address
from collectors.prometheus.coverage import coverage_notes
from collectors.prometheus.labels import CLUSTER, COPY, NAMESPACE, POD, Rule, first_of, owner_of, relabel, role_of
from tierdeck.fleet import FLEET, POOL, Endpoint, Replica, ReplicaKey, Role, SourceKind, Target
from tierdeck.notes import Note

BACKEND = "prometheus"
_ENGINES = (SourceKind.VLLM, SourceKind.LMCACHE)
_POOLS = (SourceKind.CURVINE_MASTER, SourceKind.CURVINE_WORKER, SourceKind.CURVINE_FUSE)
_UNFIT = re.compile(r"[^A-Za-z0-9._:@-]+")


@dataclass(frozen=True, slots=True)
class Observed:
    """A fleet as a Prometheus shows it.

    Attributes:
        endpoints, pools: all clusters.
        where: the target of each address that is watched.
        notes: what this Prometheus can't tell, by replica.
        guesses: how labels were understood, a sentence each.
        strays: addresses that belong to no endpoint, a sentence each.
    """

    endpoints: tuple[Endpoint, ...] = ()
    pools: tuple[Replica, ...] = ()
    where: Mapping[Address, Target] = field(default_factory=dict)
    notes: Mapping[ReplicaKey, frozenset[Note]] = field(default_factory=dict)
    guesses: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()

    @property
    def replicas(self) -> list[Replica]:
        return [*(replica for endpoint in self.endpoints for replica in endpoint.replicas), *self.pools]


@dataclass(slots=True)
class _Found:
    """One address with what its labels say; names are empty where they don't.

    Attributes:
        no_role: what a rule gave as a role and is none.
    """

    address: Address
    kind: SourceKind
    cluster: str
    namespace: str
    pod: str
    host: str
    endpoint: str
    replica: str
    role: Role
    no_role: str = ""


def arrange(addresses: Iterable[Address], rules: Sequence[Rule], cluster: str) -> Observed:
    """Place every address that is of ours.

    Args:
        addresses: of several that are one process, the first is taken.
        cluster: of addresses without a label that names one.
    """
    found = _once(one for address in addresses if (one := _read(address, rules, cluster)) is not None)
    engines = [one for one in found if one.kind is SourceKind.VLLM]
    _name(engines)
    beside = _Near.of(engines)
    caches = [one for one in found if one.kind is SourceKind.LMCACHE and not _join_engine(one, beside)]
    _name(caches)
    engines += caches
    _name_pools([one for one in found if one.kind in _POOLS])
    near = _Near.of(engines)
    strays = [one for one in found if one.kind not in (*_ENGINES, *_POOLS) and not _join(one, near)]
    lost = {id(one) for one in strays}
    placed = [one for one in found if id(one) not in lost]
    where = _targets(placed)
    endpoints, pools = _build(placed, where)
    return Observed(
        endpoints,
        pools,
        where,
        coverage_notes(endpoints, {target: address for address, target in where.items()}),
        (*_guesses(engines, rules), *_no_roles(found)),
        tuple(f"{one.kind} at {one.address.told} belongs to no endpoint that is known" for one in strays),
    )


def _read(address: Address, rules: Sequence[Rule], cluster: str) -> _Found | None:
    kind = address.kind
    told = relabel(address.labels, rules)
    if kind is None or told.is_dropped:
        return None
    labels, values = address.labels, {name: _UNFIT.sub("-", value) for name, value in told.values.items()}
    role, no_role = Role.BOTH, ""
    try:
        role = role_of(values.get("role", ""))
    except ValueError:
        no_role = values["role"]
    return _Found(
        address=address,
        kind=kind,
        cluster=values.get("cluster") or first_of(labels, CLUSTER) or cluster,
        namespace=first_of(labels, NAMESPACE),
        pod=first_of(labels, POD),
        host=labels.get("instance", "").rpartition(":")[0] or labels.get("instance", ""),
        endpoint=values.get("endpoint", ""),
        replica=values.get("replica", ""),
        role=role,
        no_role=no_role,
    )


def _once(found: Iterable[_Found]) -> list[_Found]:
    """One process that is scraped twice (by a pair of Prometheus, or by two jobs) is one address; in a fixed order."""
    kept: dict[object, _Found] = {}
    for one in found:
        labels = one.address.labels
        where = (one.cluster, one.namespace, one.pod, labels.get("instance"), one.kind)
        rest = frozenset(item for item in labels.items() if item[0] not in COPY)
        kept.setdefault(where if labels.get("instance") else (rest, one.kind), one)
    return sorted(kept.values(), key=lambda one: sorted(one.address.labels.items()))


def _name(engines: Sequence[_Found]) -> None:
    _name_replicas(engines)
    _name_endpoints(engines)


def _name_replicas(engines: Sequence[_Found]) -> None:
    """By pod; else by host, or by host and port where one host has several engines."""
    alike = Counter((one.host, one.kind) for one in engines if not one.pod)
    for one in engines:
        by_host = one.host if alike[one.host, one.kind] < 2 else one.address.labels.get("instance", "")
        one.replica = one.replica or _UNFIT.sub("-", one.pod or by_host).strip("-") or "all"


def _name_endpoints(engines: Sequence[_Found]) -> None:
    """By the pod's owner, else by job; a name that two namespaces have gets its namespace behind it."""
    for one in engines:
        job = one.address.labels.get("job", "").rpartition("/")[2]
        guess = owner_of(one.pod) if one.pod else job or one.address.labels.get("model_name", "")
        one.endpoint = one.endpoint or _UNFIT.sub("-", guess).strip("-") or "vllm"
    spaces: dict[tuple[str, str], set[str]] = {}
    for one in engines:
        spaces.setdefault((one.cluster, one.endpoint), set()).add(one.namespace)
    for one in engines:
        if len(spaces[one.cluster, one.endpoint]) > 1 and one.namespace:
            one.endpoint = f"{one.endpoint}.{one.namespace}"


def _name_pools(parts: Sequence[_Found]) -> None:
    """One pool a namespace."""
    spaces = {(one.cluster, one.namespace) for one in parts}
    for one in parts:
        alone = sum(cluster == one.cluster for cluster, _ in spaces) == 1
        one.endpoint = one.endpoint or ("curvine" if alone or not one.namespace else f"curvine.{one.namespace}")


@dataclass(slots=True)
class _Near:
    """Engines by where they are."""

    beside: dict[object, set[tuple[str, str, Role]]] = field(default_factory=dict)
    endpoints: dict[object, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, engines: Iterable[_Found]) -> _Near:
        near = cls()
        for one in engines:
            near.beside.setdefault(_spot(one), set()).add((one.endpoint, one.replica, one.role))
            for area in ((one.cluster, one.namespace), (one.cluster,)):
                near.endpoints.setdefault(area, set()).add(one.endpoint)
        return near


def _spot(one: _Found) -> object:
    """The pod, else the host; nothing else shares it with an address that has neither."""
    if one.pod:
        return one.cluster, one.namespace, one.pod
    return (one.cluster, one.host) if one.host else one.address


def _join_engine(one: _Found, near: _Near) -> bool:
    """Belong to the only engine of the same pod or host; False where there is none, or several."""
    beside = near.beside.get(_spot(one), set())
    if len(beside) != 1:
        return False
    endpoint, replica, role = next(iter(beside))
    one.endpoint, one.replica, one.role = endpoint, replica, role
    return True


def _join(one: _Found, near: _Near) -> bool:
    """Find the endpoint, and perhaps the replica, of something beside the engines; False where none fits."""
    if one.kind is SourceKind.LMCACHE_MP and _join_engine(one, near):
        return True
    for area in ((one.cluster, one.namespace), (one.cluster,)):
        one.endpoint = one.endpoint or _likely(near.endpoints.get(area, set()), one)
    one.replica = one.replica or FLEET
    return bool(one.endpoint)


def _likely(names: set[str], one: _Found) -> str:
    """The only endpoint there is, or the one whose name the pod's or job's name begins with."""
    if len(names) == 1:
        return next(iter(names))
    called = owner_of(one.pod) if one.pod else one.address.labels.get("job", "")
    fitting = sorted((name for name in names if called.startswith(name)), key=len)
    return fitting[-1] if fitting else ""


def _key(one: _Found) -> ReplicaKey:
    if one.kind in _POOLS:
        return ReplicaKey(one.cluster, POOL, one.endpoint)
    return ReplicaKey(one.cluster, one.endpoint, one.replica)


def _targets(placed: Sequence[_Found]) -> dict[Address, Target]:
    """Names within a replica: the kind, with a number behind it for a second one."""
    where: dict[Address, Target] = {}
    counts: dict[tuple[ReplicaKey, SourceKind], int] = {}
    for one in placed:
        key = _key(one)
        number = counts[key, one.kind] = counts.get((key, one.kind), 0) + 1
        name = str(one.kind) if number == 1 else f"{one.kind}.{number}"
        where[one.address] = Target(key, name, f"{BACKEND}: {one.address.told or 'no label tells where'}")
    return where


def _build(
    placed: Sequence[_Found], where: Mapping[Address, Target]
) -> tuple[tuple[Endpoint, ...], tuple[Replica, ...]]:
    targets: dict[ReplicaKey, list[Target]] = {}
    roles: dict[ReplicaKey, Role] = {}
    models: dict[tuple[str, str], set[str]] = {}
    for one in placed:
        key = _key(one)
        targets.setdefault(key, []).append(where[one.address])
        roles[key] = one.role if roles.get(key, Role.BOTH) is Role.BOTH else roles[key]
        model = one.address.labels.get("model_name", "")
        if model:
            models.setdefault((key.cluster, key.endpoint), set()).add(model)
    replicas = {key: Replica(key, tuple(own), roles[key]) for key, own in targets.items()}
    owners = sorted({(key.cluster, key.endpoint) for key in replicas if key.endpoint != POOL})
    owned: dict[tuple[str, str], list[Replica]] = {owner: [] for owner in owners}
    for key in sorted(replicas):
        if key.endpoint != POOL:
            owned[key.owner].append(replicas[key])
    endpoints = tuple(
        Endpoint(*owner, tuple(own), backend=BACKEND, model=", ".join(sorted(models.get(owner, ()))))
        for owner, own in owned.items()
    )
    return endpoints, tuple(replicas[key] for key in sorted(replicas) if key.endpoint == POOL)


def _guesses(engines: Sequence[_Found], rules: Sequence[Rule]) -> tuple[str, ...]:
    """How replicas and endpoints were named, for somebody who wonders."""
    set_by_rule = {rule.target_label for rule in rules if rule.action == "replace"}
    with_pod = sorted(one.pod for one in engines if one.pod)
    told = []
    if "replica" not in set_by_rule and engines:
        label = f"the pod ({with_pod[0]})" if with_pod else "the instance"
        told.append(f"a replica is named by {label}")
    if "endpoint" not in set_by_rule and engines:
        example = f"the owner by the pod's name ({owner_of(with_pod[0])})" if with_pod else "the job"
        told.append(f"an endpoint is named by {example}")
    return tuple(told)


def _no_roles(found: Iterable[_Found]) -> Iterator[str]:
    """That a rule gives roles that there are not; one sentence, however many they are."""
    given = sorted({one.no_role for one in found} - {""})
    if given:
        more = f" (and {len(given) - 1} more)" if len(given) > 1 else ""
        yield f"a rule gives the role {given[0]}{more}, which is none, so that {Role.BOTH} is taken"
