"""Changes of the lab's simulated fleet, through its own API (`/admin`): strategy, and sizes of all tiers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from controller.changes.changer import DeniedError, DriftedError, Hold, Progress, Verified, unheld
from controller.changes.lab_api import Current, LabApi
from controller.probe.prober import probe
from controller.probe.route import lab_route
from tierdeck.changes.change import Change
from tierdeck.changes.plan import FieldEdit, Plan, Preview, Refusal, Surface, Write
from tierdeck.changes.proof import Proof
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef
from tierdeck.errors import UsageError
from tierdeck.routing import RoutingStrategy
from tierdeck.tiers import Tier

STRATEGY = ("strategy",)
L0, L1, L2 = ("sizes", "l0_bytes"), ("sizes", "l1_bytes"), ("size_bytes",)
_ENDPOINT, _POOL = "LabEndpoint", "LabPool"
_BODY = {STRATEGY: "strategy", L0: "l0", L1: "l1", L2: "l2"}
"""How `POST /admin/strategy` and `/admin/sizes` call the fields."""


class LabChanger:
    """Everything here is the fleet's own word: it is asked anew by every method."""

    def __init__(self, address: str) -> None:
        """
        Args:
            address: of the simulated fleet, such as `http://127.0.0.1:8300`.
        """
        self._address = address.rstrip("/")
        self._api = LabApi(self._address)

    def plan(self, change: Change, reverted: Change | None) -> Plan | tuple[Refusal, ...]:
        now = self._api.current(change.endpoint)
        if now is None:
            known = ", ".join(self._api.endpoints())
            return (Refusal("not_possible", f"The lab has no endpoint {change.endpoint}.", f"It has {known}."),)
        if change.reverts is not None:
            preview = reverted.preview if reverted is not None else None
            if preview is None:
                return (Refusal("not_possible", f"Of change {change.reverts} it is not known what it wrote."),)
            return self._back(preview.plan, now)
        refusals = tuple(_refusals(change.wish))
        return refusals or self._planned(_wanted(change.wish), now)

    def preview(self, plan: Plan, at: float) -> Preview:
        """The lab has no dry run: what would be stored is what is asked for."""
        self._check(plan)
        diff: list[str] = []
        for write in plan.writes:
            before = [f"{edit.where}: {edit.before}" for edit in write.edits]
            after = [f"{edit.where}: {edit.after}" for edit in write.edits]
            diff += difflib.unified_diff(before, after, str(write.ref), str(write.ref), lineterm="")
        return Preview(plan, "\n".join(diff), at)

    def apply(self, plan: Plan, approver: str, hold: Hold = unheld) -> bool:
        is_written = False
        for index, write in enumerate(plan.writes):
            now = self._now(write, written=index)
            edits = [edit for edit in write.edits if now.get(edit.path) != edit.after]
            if not edits:
                continue
            _refuse_foreign(write, now, written=index)
            body = {_BODY[edit.path]: edit.after for edit in edits}
            hold()
            reason = self._api.post(write.address, {"endpoint": write.ref.name, **body})
            if reason:
                raise DeniedError(f"The lab refuses it: {reason}", written=index)
            is_written = True
        return is_written

    def verify(self, plan: Plan, applied_at: float) -> Verified:
        """`GET /admin` shows it, and every replica is up again."""
        for write in plan.writes:
            now = self._now(write)
            for edit in write.edits:
                if now.get(edit.path) != edit.after:
                    words = f"{write.ref}: {edit.where} is {now.get(edit.path)}, not {edit.after}."
                    return Verified(Progress.FAILED, words, "Somebody else changes the lab: look at its /admin.")
        for name in sorted({write.ref.name for write in plan.writes if write.ref.kind == _ENDPOINT}):
            current = self._api.current(name)
            down = [] if current is None else sorted(name for name, is_up in current.replicas.items() if not is_up)
            if current is not None and (down or current.is_rolling):
                who = ", ".join(down) or "the next replica"
                return Verified(Progress.WAITING, f"It waits for {who} to start with the new sizes.")
        return Verified(Progress.DONE, "The lab's /admin shows it, and all replicas are up.")

    def probe(self, endpoint: str, wished: str) -> Proof:
        current = self._api.current(endpoint)
        if current is None:
            raise UsageError(f"The lab has no endpoint {endpoint}", "GET /admin lists them.")
        return probe(lab_route(self._address, endpoint, tuple(current.prefilling)), wished)

    def _planned(self, wanted: Mapping[tuple[str, ...], object], now: Current) -> Plan | tuple[Refusal, ...]:
        edits = [
            FieldEdit(path, now.fields[path], value) for path, value in wanted.items() if now.fields[path] != value
        ]
        if not edits:
            return (Refusal("nothing_to_do", f"{now.name} is as wished already."),)
        endpoint, pool = ObjectRef(_ENDPOINT, "", now.name), ObjectRef(_POOL, "", now.pool)
        places = (
            (endpoint, "strategy", (STRATEGY,)),
            (endpoint, "sizes", (L0, L1)),
            (pool, "sizes", (L2,)),
        )
        writes = tuple(
            Write(ref, f"{self._address}/admin/{action}", "", own, Surface.LAB)
            for ref, action, paths in places
            if (own := tuple(edit for edit in edits if edit.path in paths))
        )
        paths = {edit.path for edit in edits}
        strategy = str(wanted[STRATEGY]) if STRATEGY in paths else ""
        is_restarted = bool(paths & {L0, L1})
        loses = (Tier.L0, Tier.L1) if is_restarted else ()
        return Plan(writes, (), (endpoint,) if is_restarted else (), loses, strategy, tuple(_warnings(paths, now)))

    def _back(self, plan: Plan, now: Current) -> Plan | tuple[Refusal, ...]:
        wanted: dict[tuple[str, ...], object] = {}
        for edit in (edit for write in plan.writes for edit in write.edits):
            found = now.fields.get(edit.path)
            if found not in (edit.before, edit.after):
                reason = f"{edit.where} of {now.name} is {found} by now: somebody else changed it from {edit.after}."
                return (Refusal("changed_meanwhile", reason, "Propose what it should be."),)
            wanted[edit.path] = edit.before
        return self._planned(wanted, now)

    def _check(self, plan: Plan) -> None:
        for write in plan.writes:
            _refuse_foreign(write, self._now(write))

    def _now(self, write: Write, *, written: int | None = None) -> Mapping[tuple[str, ...], object]:
        """Of the object that a write is to.

        Raises:
            DriftedError: it is no longer there.
        """
        if write.ref.kind == _POOL:
            return {L2: self._api.pool_bytes()}
        current = self._api.current(write.ref.name)
        if current is None:
            raise DriftedError(f"The lab has no endpoint {write.ref.name} any more", written=written)
        return current.fields


def _refuse_foreign(write: Write, now: Mapping[tuple[str, ...], object], *, written: int | None = None) -> None:
    for edit in write.edits:
        if now.get(edit.path) not in (edit.before, edit.after):
            words = f"{write.ref}: {edit.where} is {now.get(edit.path)} by now, not {edit.before}"
            raise DriftedError(words, written=written)


def _wanted(wish: Wish) -> dict[tuple[str, ...], object]:
    asked = {
        STRATEGY: wish.strategy or None,
        L0: wish.l0.size_bytes if wish.l0 is not None else None,
        L1: wish.l1_bytes,
        L2: wish.l2_bytes,
    }
    return {path: value for path, value in asked.items() if value is not None}


def _refusals(wish: Wish) -> Iterator[Refusal]:
    if wish.strategy and wish.strategy not in set(RoutingStrategy):
        known = ", ".join(RoutingStrategy)
        yield Refusal("unknown_strategy", f"The lab's routers know no strategy {wish.strategy}.", f"They know {known}.")
    if wish.l0 is not None and wish.l0.size_bytes is None:
        reason = "The lab's replicas have no GPU of which L0 could be a share, and no blocks that are overridden."
        yield Refusal("not_possible", reason, "Give L0 as a size: 6GiB.")
    for tier, size in (("L1", wish.l1_bytes), ("L2", wish.l2_bytes)):
        if size == 0:
            yield Refusal("not_possible", f"The lab has no {tier} that is off.", "Give a size above 0.")


def _warnings(paths: Sequence[tuple[str, ...]] | set[tuple[str, ...]], now: Current) -> Iterator[str]:
    if STRATEGY in paths:
        yield "The router forgets what it sent where."
    if L0 in paths or L1 in paths:
        yield (
            f"All {len(now.replicas)} replicas restart one after the other; L0 and L1 begin empty, and a revert costs "
            "the same again."
        )
    if L2 in paths:
        yield f"The pool {now.pool} serves all endpoints of the lab; a smaller one loses what no longer fits."
