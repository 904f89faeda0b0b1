"""What goes wrong with a change ends in a state with a reason and a next step; nothing is written twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.api.errors import ApiFailingError, ApiUnreachableError, ConflictError, CredentialsError, ForbiddenError
from controller.changes.changer import DeniedError, DriftedError, Progress, Verified
from db import Store
from tests.support.any_changes import CHANGE
from tests.support.change_bench import Bench
from tests.support.rounds import T0
from tierdeck.changes.change import State
from tierdeck.changes.proof import Verdict
from tierdeck.changes.wish import Wish
from tierdeck.errors import TierdeckError

GIB = 2**30
RESIZE = replace(CHANGE, wish=Wish(l1_bytes=40 * GIB, l2_bytes=100 * GIB), key="resize")
ROUTER = ("Deployment inference/chat-router", ("[name=ROUTING_LOGIC]=prefixaware",))


@pytest.fixture
def bench(store: Store, tmp_path: Path) -> Bench:
    return Bench(store, tmp_path)


@pytest.mark.parametrize(
    "error",
    [
        ApiUnreachableError("the API server does not answer"),
        ApiFailingError("the API server is busy (429)"),
        ConflictError("the object is another than the one that was read"),
        CredentialsError("the server does not know who asks"),
    ],
)
@pytest.mark.parametrize("method", ["plan", "preview", "apply", "verify"])
def test_what_may_work_later_is_tried_again_and_told_once(bench: Bench, method: str, error: TierdeckError) -> None:
    bench.fleet.faults.raising[method] = [error] * 5
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))
    kept = bench.until(proposed.id, lambda one: one.state.is_over)
    assert kept.state is State.KEPT
    told = [one.words for one in bench.steps(proposed.id) if str(error) in one.words]
    assert told == [f"it waits and tries again: {error}"]
    assert bench.clock.now == T0 + 31  # 1 + 2 + 4 + 8 + 16 seconds
    assert bench.fleet.written == [ROUTER]


def test_what_the_cluster_denies_at_the_preview_is_refused(bench: Bench) -> None:
    bench.fleet.faults.raising["preview"] = [DeniedError("the webhook says no", "Ask its owner.")]
    proposed = bench.propose()
    bench.work()
    (refusal,) = bench.now(proposed.id).refusals
    assert (refusal.code, refusal.reason, refusal.fix) == ("denied", "the webhook says no.", "Ask its owner.")


def test_a_right_that_is_missing_is_named(bench: Bench) -> None:
    error = ForbiddenError("deployments may not be patched in inference", "Grant patch on deployments.")
    bench.fleet.faults.raising["preview"] = [error]
    first = bench.propose()
    bench.work()
    (refusal,) = bench.now(first.id).refusals
    assert (refusal.code, refusal.fix) == ("not_allowed", "Grant patch on deployments.")
    bench.fleet.faults.raising["apply"] = [DeniedError(str(error), error.hint)]  # as a changer tells a refused write
    failed = bench.made(replace(CHANGE, key="2"))
    assert failed.state is State.FAILED
    assert failed.outcome == "deployments may not be patched in inference; nothing was written"
    assert failed.next_step == "Grant patch on deployments. Then propose it again."


def test_what_is_denied_half_way_is_told_as_half_made(bench: Bench) -> None:
    bench.fleet.faults.denied["chat-pool"] = "its quota is used up"
    failed = bench.made(RESIZE)
    assert failed.state is State.FAILED
    assert (
        failed.outcome == "Deployment inference/chat-pool is refused: its quota is used up; 1 of 2 objects are written"
    )
    assert failed.next_step == f"`tierdeck revert {failed.id}` takes it back."
    assert len(bench.store.events(T0 - 1, T0 + 600)) == 1
    bench.fleet.faults.denied.clear()
    undone = bench.made(replace(CHANGE, reverts=failed.id, key="undo"))
    assert undone.state is State.KEPT
    assert [one.edits[0].after for one in undone.preview.plan.writes] == ["5"]  # type: ignore[union-attr]


def test_what_somebody_else_wrote_between_is_never_written_over(bench: Bench) -> None:
    bench.fleet.faults.raising["apply"] = [DriftedError("args were written by kubectl-edit", written=0)]
    failed = bench.made()
    assert (failed.state, bench.fleet.written) == (State.FAILED, [])
    assert failed.outcome == "args were written by kubectl-edit; nothing was written"


def test_what_the_rollout_waits_for_is_told_as_it_changes(bench: Bench) -> None:
    waits = [Verified(Progress.WAITING, words) for words in ("1 of 2 pods", "1 of 2 pods", "2 of 2 pods, 1 is ready")]
    bench.fleet.faults.verified = waits
    kept = bench.made()
    assert kept.state is State.KEPT
    told = [one.words for one in bench.steps(kept.id) if one.state is State.PROVING]
    assert told == ["it is written; what runs has to carry it", "1 of 2 pods", "2 of 2 pods, 1 is ready"]


def test_a_pod_that_never_becomes_ready_is_a_failure_with_a_next_step(bench: Bench) -> None:
    bench.fleet.faults.verified = [Verified(Progress.WAITING, "pod chat-0 is not ready")] * 5000
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))
    failed = bench.until(proposed.id, lambda one: one.state.is_over)
    assert failed.state is State.FAILED
    assert failed.outcome == "it is written, and not in effect after 1 h: pod chat-0 is not ready"
    assert failed.next_step == f"`tierdeck revert {failed.id}` takes it back."
    assert T0 + 3600 <= bench.clock.now <= T0 + 3640


def test_a_server_that_is_away_while_it_is_proved_does_not_hold_it_for_ever(bench: Bench) -> None:
    bench.fleet.faults.raising["verify"] = [ApiUnreachableError("the API server does not answer")] * 5000
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))
    failed = bench.until(proposed.id, lambda one: one.state.is_over)
    assert failed.outcome == "it is written, and not in effect after 1 h: the API server does not answer"


def test_what_reading_back_finds_wrong_fails_at_once(bench: Bench) -> None:
    bench.fleet.faults.verified = [Verified(Progress.FAILED, "chat-0/vllm was OOM-killed", "Give it more memory.")]
    failed = bench.made()
    assert (failed.state, failed.outcome, failed.next_step) == (
        State.FAILED, "chat-0/vllm was OOM-killed", "Give it more memory."
    )  # fmt: skip


def test_a_strategy_that_is_applied_but_not_in_effect_is_probed_twice_and_fails(bench: Bench) -> None:
    bench.fleet.faults.behaves = "roundrobin"
    failed = bench.made()
    assert failed.state is State.FAILED
    assert failed.outcome.startswith("prefixaware is applied but not in effect: it behaves like roundrobin")
    assert failed.next_step == f"`tierdeck revert {failed.id}` takes it back."
    assert bench.fleet.probes == 2
    assert bench.clock.now == T0 + 10
    assert len(bench.store.proofs(0, T0 + 60)) == 2


def test_a_router_that_takes_its_time_is_proved_at_the_second_try(bench: Bench) -> None:
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))
    bench.fleet.faults.behaves = "roundrobin"
    bench.work()
    assert bench.now(proposed.id).state is State.PROVING
    bench.fleet.faults.behaves = None
    kept = bench.until(proposed.id, lambda one: one.state.is_over)
    assert kept.state is State.KEPT


def test_what_the_first_probe_can_not_tell_the_second_one_may(bench: Bench) -> None:
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))
    bench.fleet.faults.told_nothing = "too close to tell apart", 20
    bench.work()
    now = bench.now(proposed.id)
    assert now.state is State.PROVING
    assert now.outcome == "whether prefixaware is in effect can't be told: too close to tell apart"
    bench.fleet.faults.told_nothing = None
    kept = bench.until(proposed.id, lambda one: one.state.is_over)
    assert kept.proof is not None
    assert (kept.state, kept.proof.verdict, bench.fleet.probes) == (State.KEPT, Verdict.EFFECTIVE, 2)
    assert [note.partition(":")[0] for note in kept.notes] == ["not_judged"]


def test_what_can_not_be_told_is_kept_and_said(bench: Bench) -> None:
    bench.fleet.faults.told_nothing = "there is one replica", 0
    kept = bench.made()
    assert kept.state is State.KEPT
    assert (kept.notes[0], bench.fleet.probes) == ("cannot_tell: there is one replica", 1)
    assert "can't be told" in kept.outcome


def test_what_two_probes_can_not_tell_is_kept_and_said(bench: Bench) -> None:
    bench.fleet.faults.told_nothing = "too close to tell apart", 20
    kept = bench.made()
    assert (kept.state, kept.notes[0]) == (State.KEPT, "cannot_tell: too close to tell apart")
    assert (bench.fleet.probes, bench.clock.now) == (2, T0 + 10)


def test_a_probe_that_comes_to_nothing_is_said(bench: Bench) -> None:
    bench.fleet.faults.raising["probe"] = [ApiUnreachableError("the router does not answer")]
    kept = bench.made()
    assert (kept.state, kept.notes[0]) == (State.KEPT, "cannot_tell: the router does not answer")


def test_no_probe_is_sent_where_that_is_off(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path, {"probe_routing": False})
    kept = bench.made()
    assert (kept.state, bench.fleet.probes, kept.proof) == (State.KEPT, 0, None)
    assert kept.notes[0].startswith("probe_off: ")


def test_two_changes_of_one_object_are_not_made_at_the_same_time(bench: Bench) -> None:
    bench.fleet.shared["inference/code"] = "inference/chat"  # both have one router
    bench.fleet.faults.verified = [Verified(Progress.WAITING, "1 of 2 pods")] * 100
    first = bench.propose(replace(CHANGE, is_approved_at_once=True))
    bench.work()
    assert bench.now(first.id).state is State.PROVING
    second = bench.propose(replace(CHANGE, endpoint="inference/code", wish=Wish(strategy="session"), key="2"))
    bench.work()
    (refusal,) = bench.now(second.id).refusals
    assert (refusal.code, refusal.fix) == ("busy", f"Wait for the end of change {first.id}, then propose it again.")
    assert "Deployment inference/chat-router too" in refusal.reason


def test_a_fault_of_our_own_is_told_and_tried_again(bench: Bench) -> None:
    bench.fleet.faults.raising["plan"] = [ZeroDivisionError("by zero")]  # type: ignore[list-item]
    proposed = bench.propose()
    bench.work()
    assert "a fault of Tierdeck's own: ZeroDivisionError('by zero')" in bench.now(proposed.id).outcome
    assert bench.until(proposed.id, lambda one: one.state is State.PREVIEWED)


def test_a_fault_of_our_own_that_stays_ends_refused(bench: Bench) -> None:
    bench.fleet.faults.raising["plan"] = [ZeroDivisionError("by zero")] * 100  # type: ignore[list-item]
    proposed = bench.propose()
    ended = bench.until(proposed.id, lambda one: one.state.is_over)
    (refusal,) = ended.refusals
    assert (ended.state, refusal.code, bench.clock.now) == (State.REFUSED, "fault", T0 + 31)
    assert refusal.reason == "6 times a fault of Tierdeck's own: ZeroDivisionError('by zero'); nothing was written."
    assert ended.next_step == "Report it with what the controller logged."
    bench.fleet.faults.raising["plan"] = []
    assert bench.made(replace(CHANGE, key="again")).state is State.KEPT


def test_a_controller_that_slept_past_its_lease_writes_nothing(bench: Bench) -> None:
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))

    class Sleeps:
        def at(self, point: str) -> None:
            if point == "moved applying":
                bench.clock.now += 31
                assert bench.store.claim_change("east", "b", bench.clock.now, 30) is not None

    sleeper = bench.started("a")
    sleeper._seam = Sleeps()
    bench.work(sleeper)
    assert bench.fleet.written == []
    assert bench.now(proposed.id).state is State.APPLYING
    kept = bench.until(proposed.id, lambda one: one.state.is_over, bench.started("b"))
    assert (kept.state, bench.fleet.written) == (State.KEPT, [ROUTER])
