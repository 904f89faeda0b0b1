"""What an LMCache server holds for engines: L1 by its operator's LMCacheEngine, L2 by its coordinator's quota.

Sources: LMCache, operator/api/v1alpha1/lmcacheengine_types.go (`spec.l1.sizeGB`, GiB of one server, one per node) and
operator/internal/resources/compute.go (`--l1-size-gb %.1f`; `extraArgs` come last; memory follows by itself unless
`resourceOverrides` state it); docs/mp/coordinator.rst (quotas of a node and of the fleet evict each other's data).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from controller.changes.edits.difference import edits_between
from controller.changes.edits.memory import with_memory
from controller.changes.planner import Look
from controller.changes.quotas import LIMIT, Quotas, quota_address
from controller.changes.refused import RefusedError
from controller.changes.workloads.place import place_in, refs_of
from controller.objects import Raw
from controller.reading.commands import Command
from controller.reading.configured import own_server
from controller.reading.fields import field, items, mapping, text, words
from controller.reading.lineage import Found
from controller.reading.lmcache import uses_server
from controller.reading.pods import has_address, is_running
from controller.reading.processes import Process, port_of
from controller.reading.sizes import GIB
from controller.reading.surroundings import coordinators_of
from controller.reading.targets import url
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Json, Plan, Surface, Write
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Component, ObjectRef
from tierdeck.tiers import Tier
from tierdeck.units import format_size

_GROUP = "lmcache.lmcache.ai/"
_SIZE = ("spec", "l1", "sizeGB")
_FLAG = "--l1-size-gb"
_PORT = 9300


def plan_on_server(look: Look, wish: Wish, limit: Callable[[str], Json] | None = None) -> Plan | None:
    """The plan where a custom resource or a coordinator is what is written; None: it is not.

    Args:
        limit: the quota at an address, in GiB; by HTTP where it is not given.

    Raises:
        RefusedError, NotEditableError: it can't be done.
        ApiUnreachableError: the coordinator does not answer.
    """
    refs = refs_of(look, Component.ENGINE) if wish.is_resize else []
    engines = [place_in(look, ref, Component.ENGINE) for ref in refs]
    is_served = bool(engines) and all(uses_server(one.process) for one in engines)
    if wish.l2_bytes is not None:
        namespace = look.deployed.source.namespace
        found = coordinators_of(look.scene, engines[0].process, namespace) if is_served else ()
        if wish.salt and not found:
            reason = f"{look.deployed.source} has no LMCache coordinator, which alone keeps quotas by cache salt"
            raise RefusedError("not_possible", reason)
        if found and (wish.salt or not _unreporting(look)):
            _refuse_others((wish.l0, wish.l1_bytes), "L2 by its quota")
            return _quota(look, found, wish, limit or Quotas().limit)
    if not is_served:
        return None
    if wish.l1_bytes is None or any(own_server(one.spec) is not None for one in engines):
        return None
    made = [(one, owner) for one in look.scene.server_daemons() if (owner := _owner(one[0][1]))]
    if not made:
        return None
    if len(look.scene.server_daemons()) != 1:
        raise RefusedError("not_possible", "Several DaemonSets run LMCache servers: which one is meant is not clear")
    _refuse_others((wish.l0,), "L1 of an LMCacheEngine")
    ((daemon, process), owner), size = made[0], wish.l1_bytes
    return _resource(look, daemon, process, owner, size)


def _refuse_others(others: Sequence[object], what: str) -> None:
    if any(one is not None for one in others):
        raise RefusedError("not_possible", f"{what} restarts no engine: change it by itself", "Propose two changes.")


def _owner(daemon: Raw) -> str:
    """The LMCacheEngine that it was rendered from."""
    owners = items(daemon, "metadata", "ownerReferences")
    return next(
        (
            text(one, "name")
            for one in owners
            if text(one, "kind") == "LMCacheEngine" and text(one, "apiVersion").startswith(_GROUP)
        ),
        "",
    )


def _resource(look: Look, daemon: Found, process: Process, owner: str, size_bytes: int) -> Plan:
    ref = ObjectRef("LMCacheEngine", daemon[0].namespace, owner)
    raw = look.reader.get(ref)
    if raw is None:
        raise RefusedError("unreadable", f"{ref}, which {daemon[0]} was rendered from, can't be found")
    number = size_bytes / GIB
    if not number or abs(number * 10 - round(number * 10)) > 1e-9:
        raise RefusedError(
            "not_possible",
            f"{ref} takes tenths of a GiB above 0, to which its operator rounds, and {number:g} GiB is none",
        )
    if Command(tuple(words(raw, "spec", "extraArgs"))).has(_FLAG):
        raise RefusedError("silent_no_op", f"spec.extraArgs of {ref} state {_FLAG}, which wins", "Take it out there.")
    before = field(raw, *_SIZE)
    if before == number:
        raise RefusedError("nothing_to_do", f"{ref} has {number:g} GiB already")
    after: Json = int(number) if number.is_integer() else round(number, 1)
    edits: tuple[FieldEdit, ...] = (FieldEdit(_SIZE, ABSENT if before is None else before, after),)
    more = size_bytes - int(before * GIB) if isinstance(before, int | float) else size_bytes
    own = {"resources": mapping(raw, "spec", "resourceOverrides")}
    for one in edits_between(own, with_memory(own, more), ("spec",)):
        edits += (FieldEdit(("spec", "resourceOverrides", *one.path[2:]), one.before, one.after),)
    address, version = look.reader.address_of(ref)
    return Plan(
        (Write(ref, address, version, edits),),
        (Carried(daemon[0], process.name, Carrying.ARGUMENT, _FLAG, f"{number:.1f}"),),
        (daemon[0],),
        (Tier.L1,),
        warnings=(
            f"{daemon[0]} runs one LMCache server per node: the size is of each, shared by every engine on its node.",
            "While a node's server restarts, engines there compute what it held; a revert costs the same again.",
        ),
    )


def _quota(look: Look, found: tuple[Found, ...], wish: Wish, limit: Callable[[str], Json]) -> Plan:
    pods = [pod for one in found for pod in look.scene.lineage.pods(one) if is_running(pod[1]) and has_address(pod[1])]
    if len(pods) != 1:
        raise RefusedError(
            "not_possible", f"{found[0][0]} has {len(pods)} running pods, each with quotas of its own: one is needed"
        )
    _refuse_servers(look)
    if "/" in wish.salt:  # seen of LMCache 0.5.6: it is a part of the path, and answered with 404 also where escaped
        raise RefusedError(
            "not_possible", f"The coordinator takes no quota of a cache salt with a slash, and {wish.salt} has one"
        )
    if not wish.l2_bytes:
        raise RefusedError("not_possible", "A quota of 0 deletes everything that these requests keep in L2")
    process = look.scene.pod(pods[0]).of(Component.LMCACHE_COORDINATOR)
    port = (port_of(process.command.value("--port")) or process.port() if process else None) or _PORT
    address = quota_address(url(text(pods[0][1], "status", "podIP"), port, ""), wish.salt)
    before, after = limit(address), wish.l2_bytes / GIB
    if isinstance(before, int | float) and abs(before - after) < 1e-9:
        raise RefusedError("nothing_to_do", f"The quota is {format_size(wish.l2_bytes)} already")
    ref = ObjectRef("LMCacheQuota", found[0][0].namespace, f"{found[0][0].name}/{wish.salt or '_default'}")
    write = Write(ref, address, "", (FieldEdit(LIMIT, before, after),), Surface.LMCACHE_QUOTA)
    return Plan((write,), warnings=tuple(_quota_warnings(wish, before, after)))


def _quota_warnings(wish: Wish, before: Json, after: float) -> Iterator[str]:
    whose = f"requests with the cache salt {wish.salt}" if wish.salt else "requests without a cache salt"
    yield f"It is the quota of {whose}, of all servers together; nothing restarts."
    if before is ABSENT or (isinstance(before, int | float) and after < before):
        yield "The coordinator evicts down to it by itself, and in our lab stopped above it: watch L2's usage."
    yield "A coordinator that restarts without a file for its metadata has forgotten it."


def _refuse_servers(look: Look) -> None:
    """What would make a quota of the fleet do nothing, or harm."""
    for one in _servers(look):
        if one.command.value("--eviction-policy") == "IsolatedLRU":
            raise RefusedError(
                "not_possible",
                f"{one.where} keeps quotas of its own (--eviction-policy IsolatedLRU), and both together delete data",
                "Use one of the two.",
            )
    for one in _unreporting(look):
        raise RefusedError(
            "silent_no_op",
            f"{one.where} does not tell the coordinator what it keeps, so no quota would be enforced on it",
            "Start it with --coordinator-event-reporting.",
        )


def _servers(look: Look) -> list[Process]:
    daemons = [process for _, process in look.scene.server_daemons()]
    return daemons + [process for _, process in look.scene.running(Component.LMCACHE)]


def _unreporting(look: Look) -> list[Process]:
    """Servers that don't tell the coordinator what they keep: it can't hold them to a quota."""
    return [one for one in _servers(look) if not one.command.has("--coordinator-event-reporting")]
