"""What a plan makes of an endpoint: each workload whose pods restart, as it is and as it will be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.api.errors import ForbiddenError, NotServedError
from controller.changes.planner import Look
from controller.changes.preflight.edited import edited
from controller.changes.preflight.held import held_by, holder_of
from controller.changes.preflight.rendered import rendered
from controller.changes.preflight.rollout import Rollout, rollout_of
from controller.objects import Raw
from controller.reading.fields import items, text
from controller.reading.lineage import WORKLOADS, Found, template_spec
from controller.reading.processes import Process
from controller.reading.workloads import read_workload
from tierdeck.changes.plan import Plan
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Component, ObjectRef, StatedSize, Workload

_KINDS = {resource.kind: resource for resource in WORKLOADS}
_MAIN = (Component.ENGINE, Component.LMCACHE, Component.ROUTER)
"""The part that a workload is there for, where it runs several."""


@dataclass(frozen=True, slots=True)
class Restart:
    """One workload whose pods restart.

    Attributes:
        before, after: the object now, and with what is written; of what an operator renders it is an estimate.
        process: what it is there for, as its template states it now; None: it runs no part that is known.
        holder: the process that keeps L1; None: it keeps none.
        held: what L1 takes of one of its pods' memory now, as its template states it.
    """

    workload: Workload
    before: Raw
    after: Raw
    process: Process | None
    holder: Process | None
    held: StatedSize
    pods: tuple[Found, ...]

    @property
    def ref(self) -> ObjectRef:
        return self.workload.ref

    @property
    def component(self) -> Component:
        return Component.OTHER if self.process is None else self.process.component

    @property
    def rollout(self) -> Rollout:
        """As it will be carried out."""
        return rollout_of(self.ref.kind, self.after)

    def container(self, process: Process) -> Raw:
        """A process's container as it will be."""
        spec = template_spec(self.after)
        both = (*items(spec, "containers"), *items(spec, "initContainers"))
        return next((one for one in both if text(one, "name") == process.name), {})


@dataclass(frozen=True, slots=True)
class Ahead:
    """What lies ahead of an endpoint.

    Attributes:
        unread: a sentence for each workload that restarts and can't be read.
    """

    look: Look
    plan: Plan
    wish: Wish
    restarts: tuple[Restart, ...]
    unread: tuple[str, ...] = ()

    @property
    def engines(self) -> tuple[Restart, ...]:
        return tuple(one for one in self.restarts if one.component is Component.ENGINE)

    def listed(self, path: str, what: str) -> list[Raw] | str:
        """A collection that is not watched; a text is the warning that says what is not checked for want of it.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`, for what may work later.
        """
        try:
            return list(self.look.reader.list(path))
        except NotServedError:
            return []
        except ForbiddenError as error:
            return f"{what} is not checked: it may not be read ({error})."


def ahead_of(look: Look, plan: Plan, wish: Wish) -> Ahead:
    """Read what is needed of each workload that restarts.

    Raises:
        TierdeckError: of a kind of `controller.api.errors`, for what may work later.
    """
    found: list[Restart] = []
    unread: list[str] = []
    for ref in _restarting(look, plan):
        raw = _read(look, ref)
        if isinstance(raw, str):
            unread.append(f"What a restart of {ref} needs is not checked: {raw}.")
        else:
            found.append(_restart(look, plan, (ref, raw)))
    return Ahead(look, plan, wish, tuple(found), tuple(unread))


def _restarting(look: Look, plan: Plan) -> list[ObjectRef]:
    """Workloads; a custom resource stands for the engines that are made of it."""
    engines = [one.ref for one in look.deployed.workloads if Component.ENGINE in dict(one.components).values()]
    spread = (list([ref] if ref.kind in _KINDS else engines) for ref in plan.restarts)
    return list(dict.fromkeys(ref for refs in spread for ref in refs))


def _read(look: Look, ref: ObjectRef) -> Raw | str:
    """An object that is watched, else as it is read now; a text is the reason why there is none."""
    found = look.objects.get(_KINDS[ref.kind], ref.namespace, ref.name)
    if found is not None:
        return found
    try:
        return look.reader.get(ref) or "it is not there"
    except (ForbiddenError, NotServedError) as error:
        return str(error)


def _restart(look: Look, plan: Plan, found: Found) -> Restart:
    ref, raw = found
    known = next((one for one in look.deployed.workloads if one.ref == ref), None)
    spec = look.scene.template(found, dict(known.components) if known else None)
    main = next((process for part in _MAIN if (process := spec.of(part)) is not None), None)
    holder = holder_of(spec.of(Component.LMCACHE), spec.of(Component.ENGINE))
    return Restart(
        known or read_workload(found, spec, look.scene.lineage),
        raw,
        _after(plan, found, main),
        main,
        holder,
        held_by(holder, look.deployed.backend),
        tuple(look.scene.lineage.pods(found)),
    )


def _after(plan: Plan, found: Found, main: Process | None) -> Raw:
    ref, raw = found
    own = [edit for write in plan.writes if write.ref == ref for edit in write.edits]
    if own or main is None:
        return edited(raw, own)
    custom = [write for write in plan.writes if write.ref.kind not in _KINDS]
    return rendered(ref, raw, (main.name, main.component), custom)


def namespaces_of(restarts: tuple[Restart, ...]) -> Iterator[tuple[str, Mapping[ObjectRef, Restart]]]:
    """Restarts by namespace, in the order of their names."""
    for namespace in sorted({one.ref.namespace for one in restarts}):
        yield namespace, {one.ref: one for one in restarts if one.ref.namespace == namespace}
