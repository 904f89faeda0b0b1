"""Changes in a store, brought to a state as the controller would bring them, for the console's tests."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from db import Store
from tests.support.console_store import CLUSTER
from tierdeck.changes.change import Change, State, Step
from tierdeck.changes.plan import FieldEdit, Plan, Preview, Refusal, Write
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

HOLDER = "a-controller"
ROUTER = ObjectRef("Deployment", "inference", "chat-router")
DIFF = """\
--- Deployment inference/chat-router
+++ Deployment inference/chat-router (dry run)
@@ -12,7 +12,7 @@
           args:
           - --routing-logic
-          - session
+          - prefixaware
           - --k8s-label-selector
"""
_WAY = (State.PREVIEWED, State.APPROVED, State.APPLYING, State.PROVING, State.OBSERVING, State.KEPT)
_WORDS = {
    State.PREVIEWED: "previewed: one object would be written",
    State.APPLYING: "writes Deployment inference/chat-router",
    State.PROVING: "written; waits until every pod carries it",
    State.OBSERVING: "prefixaware is in effect",
    State.KEPT: "kept; whether it helped is not judged",
}


@dataclass(frozen=True, slots=True)
class MadeChange:
    """What is asked, and how far it came."""

    endpoint: str
    wish: Wish
    state: State
    was: str = "session"
    refusals: tuple[Refusal, ...] = ()
    verdict: Verdict = Verdict.EFFECTIVE


def make(store: Store, one: MadeChange, at: float) -> Change:
    """Propose it and bring it there, a second a step."""
    key = f"{one.endpoint}-{at:.3f}-{one.state}"
    asked = Change(CLUSTER, one.endpoint, one.wish, "mara", "long system prompts", key, at, {"strategy": one.was})
    change = store.propose(asked)
    if one.state is State.PROPOSED:
        return change
    claimed = store.claim_change(CLUSTER, HOLDER, at, 60)
    assert claimed is not None
    assert claimed.id == change.id
    if one.state is State.REFUSED:
        return _move(store, replace(claimed, refusals=one.refusals, ended_at=at + 1), State.REFUSED, at + 1)
    for number, state in enumerate(_WAY, 1):
        when = at + number
        if state is State.APPROVED:
            change = store.approve_change(change.id, "mara", when)
            claimed = store.claim_change(CLUSTER, HOLDER, when, 60)
            assert claimed is not None
        else:
            change = _move(store, _filled(replace(claimed), one, state, when), state, when)
            claimed = change
        if state is one.state:
            break
    return change


def bring_to_preview(store: Store) -> Change:
    """What was proposed just now, as a controller would that is well."""
    at = time.time()
    claimed = store.claim_change(CLUSTER, HOLDER, at, 60)
    assert claimed is not None
    made = replace(claimed, preview=preview(claimed.wish.strategy or "prefixaware", at))
    return _move(store, made, State.PREVIEWED, at)


def refuse(store: Store, why: Refusal) -> Change:
    """What was proposed just now."""
    at = time.time()
    claimed = store.claim_change(CLUSTER, HOLDER, at, 60)
    assert claimed is not None
    return _move(store, replace(claimed, refusals=(why,), ended_at=at), State.REFUSED, at)


def _filled(change: Change, one: MadeChange, state: State, at: float) -> Change:
    if state is State.PREVIEWED:
        return replace(change, preview=preview(one.wish.strategy or "prefixaware", at))
    if state is State.OBSERVING:
        return replace(change, proof=proof(one.wish.strategy, one.verdict, at))
    if state is State.KEPT:
        return replace(change, notes=("not_judged",), ended_at=at)
    return change


def _move(store: Store, change: Change, state: State, at: float) -> Change:
    after = replace(change, state=state)
    step = Step(change.id, at, state, "controller", _WORDS.get(state, f"it is {state}"))
    assert store.move_change(after, step, HOLDER, at)
    return after


def preview(strategy: str, at: float) -> Preview:
    """Of a router's arguments."""
    path = ("spec", "template", "spec", "containers", "[name=router]", "args")
    edit = FieldEdit(path, ["--routing-logic", "session"], ["--routing-logic", strategy])
    address = "/apis/apps/v1/namespaces/inference/deployments/chat-router"
    plan = Plan(
        (Write(ROUTER, address, "apps/v1", (edit,)),),
        restarts=(ROUTER,),
        loses=(),
        strategy=strategy,
        warnings=("helm owns these arguments until now: the next helm upgrade conflicts, or writes them back.",),
    )
    return Preview(plan, DIFF, at)


def proof(strategy: str, verdict: Verdict, at: float) -> Proof:
    """Of twelve requests."""
    seen = strategy if verdict is Verdict.EFFECTIVE else "session" if verdict is Verdict.APPLIED_NOT_EFFECTIVE else ""
    evidence = ("4 of 4 prompts with one beginning went to chat-1", "2 sessions were spread over 3 replicas")
    return Proof(verdict, strategy, seen, evidence, 12, 6.4, at)
