"""Changes of Curvine pools: more workers; everything else that would change their size is refused with its reason.

Sources: CurvineIO/curvine (worker_map.rs: one hostPath is one worker; no drain of blocks; a worker's configuration is
read once at its start), curvine-helm (the ConfigMap is mounted by `subPath`, and a change of it rolls masters and
workers together), curvine-csi (a claim's size is echoed, never held to, and never expanded).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.planner import Look
from controller.injector.places import nodes_for
from controller.objects import Raw
from controller.reading.fields import field, items, mapping, whole
from controller.reading.lineage import Found, template_spec
from controller.reading.pool_format import format_flags
from controller.reading.pools import Pool
from controller.resources import NODES
from tierdeck.changes.plan import FieldEdit, Plan, Refusal, Write
from tierdeck.changes.wish import Wish
from tierdeck.units import format_size

_PATH = ("spec", "replicas")


class CurvinePlanner:
    """One write: the number of workers."""

    names = ("curvine",)

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        """See `Planner`."""
        pool = next((one for one in look.scene.pools if one.name == look.deployed.name), None)
        if pool is None:
            return (
                Refusal("unreadable", f"Pool {look.deployed.name} is no longer there.", "Look at the pools again."),
            )
        if wish.salt:
            reason = f"Pool {pool.name} keeps no quota by cache salt: only LMCache's coordinator does."
            return (Refusal("not_possible", reason),)
        if wish.l2_bytes is None or wish.l0 is not None or wish.l1_bytes is not None:
            return (Refusal("not_possible", f"Pool {pool.name} is L2: it has no strategy, no L0 and no L1."),)
        if len(pool.workers) != 1:
            return (_no_set(pool),)
        ref = pool.workers[0][0]
        raw = look.reader.get(ref)
        count = whole(raw, *_PATH)
        if raw is None or count is None:
            return (Refusal("unreadable", f"{ref} does not say how many workers it has.", "Look at the pools again."),)
        return _workers(look, pool, (ref, raw), count, wish.l2_bytes)


def _workers(look: Look, pool: Pool, found: Found, count: int, wanted_bytes: int) -> Plan | tuple[Refusal, ...]:
    size = pool.worker_size(look.objects)
    if not size.size_bytes:
        return (Refusal("not_possible", f"How much a worker of pool {pool.name} brings is not known: {size.reason}."),)
    wanted, rest = divmod(wanted_bytes, size.size_bytes)
    if rest:
        return (_between(pool, size.size_bytes, wanted_bytes),)
    if wanted == count:
        return (
            Refusal("nothing_to_do", f"Pool {pool.name} has {_workers_of(count)}, {_all(count, size.size_bytes)}."),
        )
    if wanted < count:
        return (_smaller(found, count - wanted),)
    refusals = tuple(_nodes(look, found, wanted))
    if refusals:
        return refusals
    address, version = look.reader.address_of(found[0])
    write = Write(found[0], address, version, (FieldEdit(_PATH, count, wanted),))
    more = wanted - count
    back = (f"{_workers_of(more)} less: every chunk there is lost, while its file stays, so that reading it fails.",)
    return Plan((write,), warnings=tuple(_warnings(look, pool, found, more)), back_warnings=back)


def _no_set(pool: Pool) -> Refusal:
    return Refusal(
        "not_possible",
        f"Pool {pool.name} has {len(pool.workers)} apps/v1 StatefulSets of workers, and exactly one can be scaled "
        "(OpenKruise's are not read).",
        "Scale it where it is deployed (Helm's worker.replicas).",
    )


def _between(pool: Pool, each: int, wanted: int) -> Refusal:
    """Only whole workers."""
    below = wanted // each
    choices = f"{_all(below, each)} ({_workers_of(below)}) or " if below else ""
    return Refusal(
        "not_possible",
        f"A worker of pool {pool.name} brings {format_size(each)}, so L2 can be {choices}"
        f"{_all(below + 1, each)} ({_workers_of(below + 1)}), and not {format_size(wanted)}; another size per "
        "worker is Helm's worker.storage.dataDirs, which restarts all masters and workers at once.",
        "Take one of these sizes.",
    )


def _smaller(found: Found, fewer: int) -> Refusal:
    return Refusal(
        "not_possible",
        f"{found[0]}: Curvine has no drain, so all chunks of {_workers_of(fewer)} would be lost, while "
        "their files stay: LMCache would find them, and reading them would fail.",
        "Delete what can go from the pool first (docs/janitor.md), then scale it down where it is deployed.",
    )


def _nodes(look: Look, found: Found, wanted: int) -> Iterator[Refusal]:
    """With hostPath, a node is a worker: two in one folder share an id, and one of them is thrown out."""
    spec = template_spec(found[1])
    if not _host_paths(spec) or not look.objects.sees(NODES):
        return
    places = [ref.name for ref, _ in nodes_for(look.objects, spec)]
    if len(places) < wanted:
        yield Refusal(
            "not_possible",
            f"{found[0]} keeps its data in {', '.join(_host_paths(spec))} of its node, and {wanted} workers need as "
            f"many nodes: they may go to {len(places)} ({', '.join(places[:5])}{'…' if len(places) > 5 else ''}).",
            "Add nodes with such a disk first.",
        )


def _warnings(look: Look, pool: Pool, found: Found, more: int) -> Iterator[str]:
    yield f"{_workers_of(more)} more, and empty: chunks that are there stay where they are, only new ones are spread."
    yield "A revert takes them away again, and every chunk that they hold by then is lost: Curvine has no drain."
    yield "A worker brings no more than its disk has, whatever its data directories say."
    spec = template_spec(found[1])
    if _host_paths(spec) and not field(
        spec, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    ):
        yield (
            f"Nothing keeps two workers of {found[0]} from one node, where they would share one folder and one id: "
            "require podAntiAffinity."
        )
    if not look.objects.sees(NODES):
        yield "Nodes can't be seen, so whether there is a place for them is not known."
    for flag in format_flags(look.objects, pool):
        if flag.component == "worker" and flag.is_on is not False:
            yield f"{flag.where}: {flag.said}: a new worker erases what its data directories hold."


def _host_paths(spec: Raw) -> list[str]:
    """Folders of the node that it keeps data in."""
    found = [mapping(volume, "hostPath").get("path") for volume in items(spec, "volumes")]
    return [one for one in found if isinstance(one, str)]


def _workers_of(count: int) -> str:
    return f"{count} worker{'' if count == 1 else 's'}"


def _all(count: int, each: int) -> str:
    return format_size(count * each)


CURVINE = CurvinePlanner()
