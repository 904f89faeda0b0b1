"""Other tier sizes of an endpoint whose workloads are written themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from controller.changes.edits.errors import NotEditableError
from controller.changes.planner import Look
from controller.changes.refused import RefusedError, refusal_of
from controller.changes.workloads.draft import Draft
from controller.changes.workloads.l0 import set_l0
from controller.changes.workloads.l1 import set_l1, set_server_l1
from controller.changes.workloads.l2 import set_l2
from controller.changes.workloads.place import Place, place_in, refs_of
from controller.changes.workloads.server_l2 import set_server_l2
from controller.reading.configured import own_server
from controller.reading.lmcache import uses_server
from controller.reading.processes import is_server
from tierdeck.changes.plan import Plan, Refusal
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Component
from tierdeck.tiers import Tier


def resize(look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
    """The plan; or each reason against it.

    Raises:
        RefusedError: there is nothing to plan on, or nothing to do.
    """
    draft = Draft()
    engines = [place_in(look, ref, Component.ENGINE) for ref in refs_of(look, Component.ENGINE)]
    if not engines:
        raise RefusedError("not_possible", f"{look.deployed.source} has no workload that runs an engine")
    refusals: list[Refusal] = []

    for place in engines:
        for edit in _edits(look, draft, place, wish):
            try:
                edit()
            except (RefusedError, NotEditableError) as error:
                refusals.append(refusal_of(error, place.process.where))
    if refusals:
        return tuple(dict.fromkeys(refusals))
    return _with_price(look, draft, engines, wish)


def _edits(look: Look, draft: Draft, place: Place, wish: Wish) -> Iterator[Callable[[], None]]:
    """One for each tier that is wished."""
    if wish.l0 is not None:
        yield partial(set_l0, draft, place, wish.l0)
    if wish.l1_bytes is not None:
        yield partial(_set_l1, look, draft, place, wish.l1_bytes)
    if wish.l2_bytes is not None:
        yield partial(_set_l2, look, draft, place, wish.l2_bytes)


def _set_l1(look: Look, draft: Draft, engine: Place, size_bytes: int) -> None:
    if uses_server(engine.process):
        set_server_l1(draft, _server(look, draft, engine), size_bytes)
    else:
        set_l1(draft, engine, size_bytes)


def _set_l2(look: Look, draft: Draft, engine: Place, size_bytes: int) -> None:
    if uses_server(engine.process):
        server = _server(look, draft, engine)
        set_server_l2(draft, server, size_bytes, look.scene.storage(server.ref.namespace))
    else:
        set_l2(draft, engine, size_bytes)


def _server(look: Look, draft: Draft, engine: Place) -> Place:
    """The LMCache server that an engine uses: in its pod, else the one DaemonSet's.

    Raises:
        RefusedError: which it is, is not clear.
    """
    if own_server(engine.spec) is not None:
        return place_in(look, engine.ref, Component.LMCACHE)
    daemons = [one[0] for one, process in look.scene.server_daemons() if is_server(process.command)]
    if len(daemons) != 1:
        found = ", ".join(str(one) for one in daemons) or "none"
        raise RefusedError(
            "not_possible", f"{engine.process.where}: which LMCache server it uses is not clear ({found})"
        )
    draft.warn(
        f"{daemons[0]} runs one LMCache server per node: the size is of each, shared by every engine on its node.",
        "While a node's server restarts, engines there compute what it held.",
    )
    return place_in(look, daemons[0], Component.LMCACHE)


def _with_price(look: Look, draft: Draft, engines: list[Place], wish: Wish) -> Plan:
    """What restarts, and what that empties: L0 and L1 live in the engine's process, L1 of a server in the server's."""
    refs = {place.ref for place in engines}
    written = {one.ref for one in draft.plan(already=wish.text).writes}
    holds_l1 = any(not uses_server(place.process) or own_server(place.spec) is not None for place in engines)
    if written & refs:
        draft.lose(Tier.L0, *([Tier.L1] if holds_l1 else []))
        wanted = look.deployed.wanted
        draft.warn(
            f"Every engine pod restarts{f' ({wanted})' if wanted else ''}, and what it held of "
            f"{'L0 and L1' if holds_l1 else 'L0'} is lost; a revert costs the same again."
        )
    if written - refs:
        draft.lose(Tier.L1)
    return draft.plan(already=wish.text)
