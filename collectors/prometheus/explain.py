"""The ledger of a window from a Prometheus alone: its pages become a snapshot, and `explain` reads that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from collectors.explain import explain
from collectors.prometheus.absent import nothing_found
from collectors.prometheus.addresses import Address, longest_interval
from collectors.prometheus.asking import Answering, Asking
from collectors.prometheus.fleet import Observed, arrange
from collectors.prometheus.history import chunks
from collectors.prometheus.labels import NAMESPACE, Rule, first_of
from collectors.prometheus.pages import Page, Pages, fullest_first
from collectors.snapshot import Snapshot
from tierdeck.account import WarmingLimits
from tierdeck.fleet import FLEET, POOL, Target
from tierdeck.naming import full_name

_MOST_MOMENTS = 240
"""Beyond so many the moments are further apart than scrapes: the increases are the same, restarts are looked into."""
_UNKNOWN_INTERVAL_SECONDS = 15.0
Bodies = dict[str, dict[int, dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be explained.

    Attributes:
        end: epoch seconds.
        endpoint: only this one, also as `namespace/name`; all by default.
        cluster: of addresses without a label that names one.
    """

    end: int
    window_seconds: int
    endpoint: str = ""
    cluster: str = "default"


def explain_prometheus(
    server: Answering, asking: Asking, rules: Sequence[Rule], wanted: Wanted, limits: WarmingLimits
) -> dict[str, Any]:
    """The document of docs/cli.md, "explain", with `source`: how labels were understood.

    Raises:
        TierdeckError: the server does not answer, or has nothing of vLLM in the window.
        UsageError: no such endpoint, or several of that short name.
    """
    asking.discover(wanted.end)
    step = _step(asking, wanted.window_seconds)
    start = wanted.end - step * max(1, wanted.window_seconds // step)
    seen: dict[Address, Pages] = {}
    for chunk in chunks(asking, start, wanted.end, step):
        for address, pages in chunk.seen.items():
            into = seen.setdefault(address, Pages())
            instants = {page.at for page in into.pages}
            into.pages += [page for page in pages.pages if page.at not in instants]
            into.falls += pages.falls
    fleet = arrange(fullest_first(seen, seen), rules, wanted.cluster)
    if not fleet.endpoints:
        raise nothing_found(server, wanted.end, asking.match)
    name = _meant(wanted.endpoint, fleet)
    chosen = [one for one in fleet.endpoints if name in ("", one.name)]
    names = {(one.cluster, one.name) for one in chosen}
    document = explain(_snapshot(seen, fleet, names, range(start, wanted.end + 1, step), asking), limits)
    _add_notes(document, fleet, names)
    document["source"] = {
        "endpoints": [one.name for one in chosen],
        "step_seconds": step,
        "guessed": list(fleet.guesses),
        "not_placed": list(fleet.strays),
    }
    return document


def _meant(typed: str, fleet: Observed) -> str:
    """The endpoint's name here (`chat`, `chat.inference`); also by `inference/chat`, as Kubernetes has it.

    Raises:
        UsageError: there is none, or several fit.
    """
    names = {one.name for one in fleet.endpoints}
    if not typed or typed in names:
        return typed
    known: dict[str, str] = {}
    for address, target in fleet.where.items():
        name, namespace = target.key.endpoint, first_of(address.labels, NAMESPACE)
        if name in names:
            known[f"{namespace}/{name.removesuffix(f'.{namespace}')}" if namespace else name] = name
    return known[full_name(typed, known)]


def _step(asking: Asking, window_seconds: int) -> int:
    """Seconds between moments: as long as the longest interval, or longer where that would be too many."""
    longest = longest_interval(asking.catalogue.addresses) or _UNKNOWN_INTERVAL_SECONDS
    return max(1, round(longest), -(-window_seconds // _MOST_MOMENTS))


def _snapshot(
    seen: Mapping[Address, Pages], fleet: Observed, names: set[tuple[str, str]], grid: range, asking: Asking
) -> Snapshot:
    bodies: Bodies = {}
    chosen = {address: target for address, target in fleet.where.items() if address in seen}
    chosen = {one: target for one, target in chosen.items() if target.key.owner in names or target.key.endpoint == POOL}
    falls = {int(fall) for address in chosen for fall in seen[address].falls if grid[0] < fall < grid[-1]}
    moments = sorted({*grid, *falls})
    for address, target in chosen.items():
        owner = _owner(target, len(names) > 1)
        if owner is None:
            continue
        for at in moments:
            page = _page(seen[address], at, grid.step)
            if page is not None:
                bodies.setdefault(owner, {}).setdefault(at, {})[_file(target)] = page.body(asking.help_text)
    roles = {
        name: replica.role
        for endpoint in fleet.endpoints
        for replica in endpoint.replicas
        if (name := _owner(replica.targets[0], len(names) > 1)) in bodies and name is not None
    }
    return Snapshot(tuple(moments), bodies, float(grid[0]), roles=roles)


def _page(pages: Pages, at: int, step: int) -> Page | None:
    """The page that stands for a moment; an end within a second is that second's."""
    page = pages.last(at + 0.999) if any(int(fall) == at for fall in pages.falls) else pages.last(at)
    return page if page is not None and page.is_up and at - page.at < step else None


def _owner(target: Target, is_several: bool) -> str | None:  # noqa: FBT001  # a fact of the caller's
    """The replica's name in the document; None for what several endpoints share one by one."""
    key = target.key
    if key.endpoint == POOL:
        return FLEET
    if key.shared and is_several:
        return None
    return f"{key.endpoint}/{key.replica}" if is_several else key.replica


def _file(target: Target) -> str:
    """Pools are kept apart by their names."""
    return target.name if target.key.endpoint != POOL else f"{target.kind}.{target.key.replica}-{target.name}"


def _add_notes(document: dict[str, Any], fleet: Observed, names: set[tuple[str, str]]) -> None:
    """What this Prometheus can't tell, at the replica and at the fleet."""
    for whose, notes in sorted(fleet.notes.items()):
        name = f"{whose.endpoint}/{whose.replica}" if len(names) > 1 else whose.replica
        if whose.owner not in names or name not in document["replicas"]:
            continue
        for note in sorted(notes):
            told = {key: str(value) for key, value in asdict(note).items()}
            document["replicas"][name]["notes"].append(told)
            document["fleet"]["notes"].append({**told, "replica": name})
