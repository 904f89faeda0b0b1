"""Whether a change took effect: what was written stays, is rolled out, and every running pod carries it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from controller.changes.changer import Progress, Verified
from controller.changes.kube.carried import wrong
from controller.changes.kube.fetching import Fetch, fetch
from controller.changes.kube.fields import get, same
from controller.changes.kube.ownership import holders
from controller.changes.kube.reader import KubeReader
from controller.changes.kube.rollout import Patience, Rollout, objects_of
from controller.changes.kube.told import of_engines, of_routers
from controller.changes.kube.writer import in_words
from controller.objects import Objects, Raw
from controller.reading.fields import items, mapping, text, whole
from controller.resources import CONFIG_MAPS, CONTROLLER_REVISIONS, PODS, REPLICA_SETS, Resource, path_of
from tierdeck.changes.plan import Carried, Plan, Surface, Write
from tierdeck.deployed import ObjectRef

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
_BELOW = (PODS, REPLICA_SETS, CONTROLLER_REVISIONS)
_FAILED_STATES = ("DeploymentFailed", "DeletionFailed")
_UNDO = "Revert the change."


@dataclass(frozen=True, slots=True)
class Verifier:
    """Reads back what a plan wrote.

    Attributes:
        clock: epoch seconds.
        fetch: pages of pods.
        around: the cluster's objects as the watches keep them: for ConfigMaps that arguments come from.
        routers: the workloads of routers of the endpoint that a plan is about.
    """

    reader: KubeReader
    clock: Callable[[], float]
    around: Callable[[], Objects]
    routers: Callable[[Plan], Sequence[ObjectRef]] = field(default=lambda _plan: ())
    fetch: Fetch = fetch
    patience: Patience = field(default_factory=Patience)

    def verify(self, plan: Plan, applied_at: float) -> Verified:
        """How far it has come; what waits for too long has failed."""
        now = self.clock()
        found = self._look(plan, applied_at, now)
        if found.progress is Progress.WAITING and now - applied_at > self.patience.rolling:
            minutes = self.patience.rolling / 60
            return Verified(Progress.FAILED, f"not through after {minutes:.0f} min: {found.words}", _UNDO)
        return found

    def _look(self, plan: Plan, applied_at: float, now: float) -> Verified:
        span = (applied_at, now)
        for write in plan.writes:
            if write.surface is Surface.KUBERNETES:
                one = self._written(write)
                if one is not None:
                    return one
        rollouts = [self._rollout(ref, span) for ref in _workloads(plan)]
        for judged in (self._rolled(one, span) for one in rollouts):
            if judged is not None:
                return judged
        known = {one.workload[0]: one for one in rollouts if isinstance(one, Rollout)}
        objects = self.around()
        is_young = now - applied_at <= self.patience.rendering
        for carried in plan.carries:
            renderer = _renderer(plan, carried.workload)
            words = wrong(carried, known[carried.workload].running, objects, renderer)
            if words and renderer and is_young:
                return Verified(Progress.WAITING, words)
            if words:
                return Verified(Progress.FAILED, words, f"{_UNDO} What is written stays without effect otherwise.")
        return self._told(plan, known, objects, is_young=is_young)

    def _told(self, plan: Plan, known: dict[ObjectRef, Rollout], objects: Objects, *, is_young: bool) -> Verified:
        told = [of_engines(_carries(plan, ref), one.running, objects, self.fetch) for ref, one in known.items()]
        if plan.strategy and CONFIG_MAPS.kind in plan.kinds:
            pods = [pod for ref in self.routers(plan) for one in [self._rollout(ref, (0.0, 0.0))]
                    if isinstance(one, Rollout) for pod in one.running]  # fmt: skip
            told.append(of_routers(plan.strategy, pods, objects, self.fetch))
        for one in told:
            if one.wrong:
                progress = Progress.WAITING if is_young else Progress.FAILED
                return Verified(progress, one.wrong, "" if is_young else _UNDO)
        pods = [pod for one in known.values() for pod in one.running]
        said = [f"written and rolled out; {len(pods)} running pods carry it" if pods and plan.carries else "written"]
        return Verified(Progress.DONE, "; ".join([*said, *(one.words for one in told if one.words)]))

    def _written(self, write: Write) -> Verified | None:
        """None: all of it is there, and its controller has seen it."""
        live = self.reader.get(write.ref)
        if live is None:
            return Verified(Progress.FAILED, f"{write.ref} is gone", "Make it again, or look who deleted it.")
        for edit in write.edits:
            now = get(live, edit.path)
            if not same(now, edit.after, edit.path):
                who = [one.manager for one in holders(live, edit.path)]
                by = who[-1] if who else "somebody"
                what = "back" if same(now, edit.before, edit.path) else in_words(edit, now)
                return Verified(
                    Progress.FAILED,
                    f"{by} wrote {edit.where} of {write.ref} {what} after the change was applied",
                    f"Find out what {by} does, and change it there.",
                )
        return _observed(write.ref, live)

    def _rollout(self, ref: ObjectRef, span: tuple[float, float]) -> Rollout | ObjectRef:
        """The ref itself where there is no such workload."""
        raw = self.reader.get(ref)
        if raw is None:
            return ref
        pods, sets, revisions = (
            self._all(kind, ref.namespace, raw) for kind in (PODS, REPLICA_SETS, CONTROLLER_REVISIONS)
        )
        return Rollout.of((ref, raw), objects_of("", pods, sets, revisions), span)

    def _all(self, kind: Resource, namespace: str, workload: Raw) -> Sequence[Raw]:
        matches = mapping(workload, "spec", "selector", "matchLabels")
        query = {"labelSelector": ",".join(f"{name}={value}" for name, value in matches.items())}
        return self.reader.list(path_of(kind, namespace, "").rstrip("/"), query if matches else None)

    def _rolled(self, one: Rollout | ObjectRef, span: tuple[float, float]) -> Verified | None:
        """None: it is through."""
        if isinstance(one, Rollout):
            judged = one.judge(self.patience)
            return None if judged.progress is Progress.DONE else judged
        is_young = span[1] - span[0] <= self.patience.rendering
        progress = Progress.WAITING if is_young else Progress.FAILED
        return Verified(progress, f"{one} is not there", "" if is_young else _UNDO)


def _observed(ref: ObjectRef, live: Raw) -> Verified | None:
    """Whether the object's controller has taken it, where its kind tells that."""
    observed, generation = whole(live, "status", "observedGeneration"), whole(live, "metadata", "generation")
    if observed is not None and generation is not None and observed < generation:
        return Verified(Progress.WAITING, f"the controller of {ref} has not seen the change yet")
    state = text(live, "status", "state")
    if state in _FAILED_STATES:
        told = [text(one, "message") for one in items(live, "status", "conditions") if text(one, "message")]
        reason = text(live, "status", "deploymentStatus", "message") or next(iter(told), "no reason is told")
        return Verified(Progress.FAILED, f"{ref} is in the state {state}: {reason}", _UNDO)
    return None


def _workloads(plan: Plan) -> list[ObjectRef]:
    """All that are to be rolled out, each once: written, restarted, or looked into."""
    return list(dict.fromkeys(ref for ref in _named(plan) if ref.kind in _WORKLOADS))


def _named(plan: Plan) -> Iterator[ObjectRef]:
    yield from (write.ref for write in plan.writes)
    yield from plan.restarts
    yield from (one.workload for one in plan.carries)


def _renderer(plan: Plan, workload: ObjectRef) -> str:
    """Who makes a workload of what was written; empty: it was written itself, or it only watches a ConfigMap."""
    kinds = [write.ref for write in plan.writes if write.ref.kind not in (*_WORKLOADS, CONFIG_MAPS.kind)]
    return "" if workload in [write.ref for write in plan.writes] or not kinds else f"the operator of {kinds[0]}"


def _carries(plan: Plan, workload: ObjectRef) -> list[Carried]:
    return [one for one in plan.carries if one.workload == workload]
