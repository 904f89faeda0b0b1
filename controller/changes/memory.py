"""A way to change deployments that exist in memory only: for trying out what drives changes, with faults to set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from controller.changes.changer import DeniedError, DriftedError, Hold, Progress, Verified, unheld
from controller.changes.seam import NoSeam, Seam
from tierdeck.changes.change import Change
from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Plan, Preview, Refusal, Write
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef
from tierdeck.errors import TierdeckError
from tierdeck.tiers import Tier

_ENGINE = ("spec", "template", "spec", "containers", "[name=vllm]")
_ROUTER = ("spec", "template", "spec", "containers", "[name=router]", "env", "[name=ROUTING_LOGIC]", "value")
_L1 = (*_ENGINE, "env", "[name=LMCACHE_MAX_LOCAL_CPU_SIZE]", "value")
_L0 = (*_ENGINE, "env", "[name=VLLM_GPU_MEMORY_UTILIZATION]", "value")
STRATEGIES = ("roundrobin", "session", "prefixaware", "kvaware")


@dataclass(slots=True)
class Faults:
    """What goes wrong from now on; each may be set at any time.

    Attributes:
        raising: by method (`plan`, `preview`, `apply`, `verify`, `probe`), errors that its next calls raise, one each.
        denied: objects whose write is refused, by name, with the reason.
        verified: what `verify` answers, one a call; then all is done.
        behaves: the strategy that the router behaves by; None: the one that is written.
        told_nothing: why the probe can't tell, and the requests that it sent; None: it can.
    """

    raising: dict[str, list[TierdeckError]] = field(default_factory=dict)
    denied: dict[str, str] = field(default_factory=dict)
    verified: list[Verified] = field(default_factory=list)
    behaves: str | None = None
    told_nothing: tuple[str, int] | None = None


class MemoryChanger:
    """Endpoints (`namespace/name`), each with a router and engines whose fields are kept in a dict.

    Attributes:
        fields: by object and path, what is there; a field that is missing is not there.
        written: every write in its order, as (object, paths).
        approvers: on whose behalf.
        probes: how often it was asked.
        seam: told between its writes.
        shared: endpoints whose objects are another's, by name.
        warnings: what every plan warns of from now on.
    """

    def __init__(self, *endpoints: str, seam: Seam | None = None, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.fields: dict[tuple[ObjectRef, tuple[str, ...]], Json] = {}
        self.written: list[tuple[str, tuple[str, ...]]] = []
        self.approvers: list[str] = []
        self.probes = 0
        self.shared: dict[str, str] = {}
        self.warnings: tuple[str, ...] = ()
        self.faults = Faults()
        self.seam = seam or NoSeam()
        self._clock = clock
        for name in endpoints:
            self.fields[_object(name, "router"), _ROUTER] = "roundrobin"
            self.fields[_object(name, "engine"), _L1] = "5"

    def plan(self, change: Change, reverted: Change | None) -> Plan | tuple[Refusal, ...]:
        self._fail("plan")
        if (self._object(change.endpoint, "router"), _ROUTER) not in self.fields:
            return (Refusal("not_possible", f"there is no endpoint {change.endpoint}"),)
        if reverted is not None and reverted.preview is not None:
            return self._back(reverted.preview.plan)
        wished = _wished(self.shared.get(change.endpoint, change.endpoint), change.wish)
        if change.wish.strategy and change.wish.strategy not in STRATEGIES:
            return (Refusal("unknown_strategy", f"the router knows no strategy {change.wish.strategy}"),)
        return self._planned(wished, change.wish.strategy)

    def preview(self, plan: Plan, at: float) -> Preview:
        self._fail("preview")
        self._check(plan)
        lines = [
            f"{write.ref} {one.where}: {one.before} -> {one.after}" for write in plan.writes for one in write.edits
        ]
        return Preview(plan, "\n".join(lines), at)

    def apply(self, plan: Plan, approver: str, hold: Hold = unheld) -> bool:
        self._fail("apply")
        self._check(plan)
        is_new = False
        for index, write in enumerate(plan.writes):
            if all(self._now(write, edit) == edit.after for edit in write.edits):
                continue
            if write.ref.name in self.faults.denied:
                raise DeniedError(f"{write.ref} is refused: {self.faults.denied[write.ref.name]}", written=index)
            self.seam.at(f"writing {index}")
            hold()
            self._write(write, approver)
            self.seam.at(f"written {index}")
            is_new = True
        return is_new

    def verify(self, plan: Plan, applied_at: float) -> Verified:
        self._fail("verify")
        if self.faults.verified:
            return self.faults.verified.pop(0)
        back = next(
            (edit for write in plan.writes for edit in write.edits if self._now(write, edit) != edit.after), None
        )
        if back is not None:
            return Verified(Progress.FAILED, f"somebody wrote {back.where} back")
        return Verified(Progress.DONE, "every pod carries it")

    def probe(self, endpoint: str, wished: str) -> Proof:
        self._fail("probe")
        self.probes += 1
        behaves = self.faults.behaves or str(self.fields[self._object(endpoint, "router"), _ROUTER])
        verdict = Verdict.EFFECTIVE if behaves == wished else Verdict.APPLIED_NOT_EFFECTIVE
        if self.faults.told_nothing is not None:
            reason, requests = self.faults.told_nothing
            return Proof(Verdict.CANNOT_TELL, wished, "", (reason,), requests, 0.0, self._clock())
        words = f"20 of 20 requests landed as {behaves} sends them"
        return Proof(verdict, wished, behaves, (words,), 20, 0.0, self._clock())

    def _planned(
        self, wished: dict[tuple[ObjectRef, tuple[str, ...]], Json], strategy: str
    ) -> Plan | tuple[Refusal, ...]:
        edits: dict[ObjectRef, list[FieldEdit]] = {}
        for (ref, path), after in wished.items():
            before = self.fields.get((ref, path), ABSENT)
            if before != after:
                edits.setdefault(ref, []).append(FieldEdit(path, before, after))
        if not edits:
            return (Refusal("nothing_to_do", "it is so already"),)
        writes = tuple(Write(ref, _address(ref), "apps/v1", tuple(some)) for ref, some in edits.items())
        loses = (Tier.L0, Tier.L1) if any(ref.name.endswith("-engine") for ref in edits) else ()
        return Plan(writes, restarts=tuple(edits), loses=loses, strategy=strategy, warnings=self.warnings)

    def _back(self, plan: Plan) -> Plan | tuple[Refusal, ...]:
        """What `plan` wrote, written back."""
        written = [(write, one) for write in plan.writes for one in write.edits]
        foreign = [one for write, one in written if self._now(write, one) not in (one.after, one.before)]
        if foreign:
            return (Refusal("changed_meanwhile", f"{foreign[0].where} was written by somebody else since"),)
        strategies = [one.before for _, one in written if one.path == _ROUTER]
        return self._planned({(write.ref, one.path): one.before for write, one in written}, str(*strategies))

    def _object(self, endpoint: str, part: str) -> ObjectRef:
        return _object(self.shared.get(endpoint, endpoint), part)

    def _now(self, write: Write, edit: FieldEdit) -> Json:
        return self.fields.get((write.ref, edit.path), ABSENT)

    def _check(self, plan: Plan) -> None:
        """Raises where somebody else wrote."""
        done = 0
        for write in plan.writes:
            foreign = [one for one in write.edits if self._now(write, one) not in (one.before, one.after)]
            done += all(self._now(write, one) == one.after for one in write.edits)
            if foreign:
                raise DriftedError(f"{foreign[0].where} of {write.ref} was written by somebody else", written=done)

    def _write(self, write: Write, approver: str) -> None:
        for edit in write.edits:
            if edit.after is ABSENT:
                self.fields.pop((write.ref, edit.path), None)
            else:
                self.fields[write.ref, edit.path] = edit.after
        self.written.append((str(write.ref), tuple(f"{edit.path[-2]}={edit.after}" for edit in write.edits)))
        self.approvers.append(approver)

    def _fail(self, method: str) -> None:
        waiting = self.faults.raising.get(method)
        if waiting:
            raise waiting.pop(0)


def _object(endpoint: str, part: str) -> ObjectRef:
    namespace, _, name = endpoint.rpartition("/")
    return ObjectRef("Deployment", namespace or "lab", f"{name}-{part}")


def _address(ref: ObjectRef) -> str:
    return f"/apis/apps/v1/namespaces/{ref.namespace}/deployments/{ref.name}"


def _wished(endpoint: str, wish: Wish) -> dict[tuple[ObjectRef, tuple[str, ...]], Json]:
    found: dict[tuple[ObjectRef, tuple[str, ...]], Json] = {}
    if wish.strategy:
        found[_object(endpoint, "router"), _ROUTER] = wish.strategy
    if wish.l0 is not None:
        found[_object(endpoint, "engine"), _L0] = wish.l0.text
    if wish.l1_bytes is not None:
        found[_object(endpoint, "engine"), _L1] = f"{wish.l1_bytes / 2**30:g}"
    if wish.l2_bytes is not None:
        found[_object(endpoint, "pool"), (*_ENGINE, "env", "[name=LMCACHE_MAX_LOCAL_DISK_SIZE]", "value")] = (
            f"{wish.l2_bytes / 2**30:g}"
        )
    return found
