"""The changer of a Kubernetes cluster: plans by the endpoint's backend, writes as `tierdeck`, and reads back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller.api.client import Api
from controller.changes.changer import DeniedError, Hold, Progress, StoppedError, Verified, unheld
from controller.changes.kube.claims import claims_of, scaled
from controller.changes.kube.diff import diff
from controller.changes.kube.named import deployed_in, named
from controller.changes.kube.parts import Elsewhere, Parts
from controller.changes.kube.reader import KubeReader
from controller.changes.kube.revert import plan_back
from controller.changes.kube.rights import WriteRights
from controller.changes.kube.rollout import Patience
from controller.changes.kube.verify import Verifier
from controller.changes.kube.writer import Writer, as_person, version_of
from controller.changes.planner import Look
from controller.objects import Objects
from controller.reading.fields import items, text
from controller.reading.lineage import WORKLOADS, template_spec
from controller.reading.scene import Scene
from controller.resources import CONFIG_MAPS
from tierdeck.changes.change import Change
from tierdeck.changes.plan import Plan, Preview, Refusal, Surface, Write
from tierdeck.changes.proof import Proof
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Component, ObjectRef
from tierdeck.routing import RoutingStrategy


class KubernetesChanger:
    """One cluster's changer; remembers nothing between two calls."""

    def __init__(
        self, api: Api, parts: Parts, verifier: Verifier | None = None, *, rolling_seconds: float = 3600.0
    ) -> None:
        """
        Args:
            verifier: None: one that reads from this API server, with the usual patience.
            rolling_seconds: the longest that a rollout may take.
        """
        self._parts = parts
        self._reader = KubeReader(api)
        self._writer = Writer(api, parts.by_hand)
        self._rights = WriteRights(api)
        patience = Patience(rolling=rolling_seconds)
        reads = Verifier(self._reader, parts.clock, parts.objects, self._routers, patience=patience)
        self._verifier = verifier or reads

    def plan(self, change: Change, reverted: Change | None) -> Plan | tuple[Refusal, ...]:
        objects = self._parts.objects()
        deployed = named(objects, change.endpoint, self._parts.clock())
        if deployed is None:
            reason = f"there is no endpoint {change.endpoint} in the cluster now, or it can't be seen"
            return (Refusal("unreadable", reason, "See `tierdeck inventory` for what can't be seen."),)
        load = self._parts.load(change.endpoint)
        if reverted is None and change.wish.strategy == RoutingStrategy.KVAWARE:
            load = self._parts.with_chats(change.endpoint, load)
        look = Look(objects, Scene(objects), deployed, self._reader, self._parts.clock(), load)
        plan = self._of_planner(look, change.wish) if reverted is None else plan_back(reverted, self._reader)
        if not isinstance(plan, Plan):
            return plan
        claimed = self._claimed(plan, objects)
        if not isinstance(claimed, Plan):
            return claimed
        checked = self._parts.preflight(look, claimed, change.wish)
        if checked.refusals and reverted is None:
            return tuple(checked.refusals)
        # going back is never refused for what would forbid going there: it is said instead
        against = [f"As a change of its own it would be refused: {one.reason}" for one in checked.refusals]
        return replace(claimed, warnings=tuple(dict.fromkeys((*claimed.warnings, *checked.warnings, *against))))

    def preview(self, plan: Plan, at: float) -> Preview:
        diffs, versions = [], {}
        for write in plan.writes:
            if write.surface is not Surface.KUBERNETES:
                diffs.append(self._elsewhere(write).preview(write))
                continue
            answered = self._writer.dry_run(write)
            diffs.append(diff(write.ref, answered.live, answered.stored))
            versions[str(write.ref)] = version_of(answered.live)
        return Preview(plan, "\n".join(one for one in diffs if one), at, versions)

    def apply(self, plan: Plan, approver: str, hold: Hold = unheld) -> bool:
        if plan.exports_only:
            raise DeniedError(plan.exports_only, "Take `tierdeck export-change`.", written=0)
        person = as_person(approver) if self._parts.impersonates else None
        self._check(plan)
        is_written = False
        for count, write in enumerate(plan.writes):
            try:
                if write.surface is Surface.KUBERNETES:
                    is_written |= self._writer.apply(write, person, hold)
                else:
                    hold()
                    is_written |= self._elsewhere(write).apply(write)
            except StoppedError as error:
                raise type(error)(str(error), error.hint, written=count) from error
        return is_written

    def _check(self, plan: Plan) -> None:
        """Before anything is written, so that nothing is half done that could have been known.

        Raises:
            DriftedError: of the first write that can't be made, with how many are there already.
        """
        there, stopped = 0, None
        for write in plan.writes:
            if write.surface is Surface.KUBERNETES:
                try:
                    there += not self._writer.check(write)
                except StoppedError as error:
                    stopped = stopped or error
        if stopped is not None:
            raise type(stopped)(str(stopped), stopped.hint, written=there) from stopped

    def verify(self, plan: Plan, applied_at: float) -> Verified:
        for write in plan.writes:
            if write.surface is not Surface.KUBERNETES:
                told = self._elsewhere(write).verify(write)
                if told.progress is not Progress.DONE:
                    return told
        return self._verifier.verify(plan, applied_at)

    def probe(self, endpoint: str, wished: str) -> Proof:
        return self._parts.probe(endpoint, wished)

    def may_write(self, endpoint: str) -> tuple[str, ...]:
        """The rules that the controller lacks to change an endpoint; empty: it lacks none, or there is none.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`.
        """
        found = named(self._parts.objects(), endpoint, self._parts.clock())
        return self._rights.missing(found) if found is not None else ()

    def _of_planner(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        backend = look.deployed.backend
        planner = next((one for one in self._parts.planners if backend in one.names), None)
        if planner is None:
            return (Refusal("not_possible", f"endpoints of {backend} can't be changed by this version"),)
        return planner.plan(look, wish)

    def _claimed(self, plan: Plan, objects: Objects) -> Plan | tuple[Refusal, ...]:
        """The plan with what others have in its fields; or why it must not be."""
        refusals: list[Refusal] = []
        warnings, exports_only = list(plan.warnings), plan.exports_only
        for write in plan.writes:
            if write.surface is not Surface.KUBERNETES:
                continue
            live = self._reader.get(write.ref)
            if live is None:
                refusals.append(Refusal("changed_meanwhile", f"{write.ref} is not there any more"))
                continue
            claims = claims_of(write, live, self._parts.by_hand)
            refusals += [*claims.refusals, *scaled(write, objects)]
            warnings += claims.warnings
            exports_only = exports_only or claims.exports_only
        if refusals:
            return tuple(dict.fromkeys(refusals))
        return replace(plan, warnings=tuple(dict.fromkeys(warnings)), exports_only=exports_only)

    def _routers(self, plan: Plan) -> Sequence[ObjectRef]:
        """The routers that watch a ConfigMap which a plan writes."""
        objects = self._parts.objects()
        written = {write.ref for write in plan.writes if write.ref.kind == CONFIG_MAPS.kind}
        workloads = [workload for one in deployed_in(objects, self._parts.clock()) for workload in one.workloads]
        routers = [one.ref for one in workloads if any(part is Component.ROUTER for _, part in one.components)]
        return [ref for ref in routers if written & _mounted(objects, ref)]

    def _elsewhere(self, write: Write) -> Elsewhere:
        if write.surface not in self._parts.elsewhere:
            raise DeniedError(f"this controller can't write to {write.surface.value} ({write.ref})")
        return self._parts.elsewhere[write.surface]


def _mounted(objects: Objects, ref: ObjectRef) -> set[ObjectRef]:
    """The ConfigMaps that a workload's pods mount."""
    found = (one for kind in WORKLOADS if kind.kind == ref.kind for one in [objects.get(kind, ref.namespace, ref.name)])
    volumes = [volume for raw in found for volume in items(template_spec(raw or {}), "volumes")]
    return {ObjectRef(CONFIG_MAPS.kind, ref.namespace, text(volume, "configMap", "name")) for volume in volumes}
