"""A change from its proposal to its end, on both databases, with a fleet in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.api.errors import ApiFailingError, ApiUnreachableError, ConflictError, CredentialsError, ForbiddenError
from controller.changes.changer import DeniedError, DriftedError, Progress, Verified
from db import Store
from tests.support.alerts import silence
from tests.support.any_changes import CHANGE, CHAT
from tests.support.change_bench import Bench
from tests.support.rounds import T0
from tierdeck.changes.change import Change, State
from tierdeck.changes.proof import Verdict
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.errors import TierdeckError

GIB = 2**30
RESIZE = replace(CHANGE, wish=Wish(l1_bytes=40 * GIB, l2_bytes=100 * GIB), key="resize")
ROUTER = ("Deployment inference/chat-router", ("[name=ROUTING_LOGIC]=prefixaware",))


@pytest.fixture
def bench(store: Store, tmp_path: Path) -> Bench:
    return Bench(store, tmp_path)


def states(bench: Bench, change: Change) -> list[str]:
    return [f"{one.state} {one.by}" for one in bench.steps(change.id)]


def test_a_change_goes_through_all_its_states_and_is_kept(bench: Bench) -> None:
    proposed = bench.propose()
    bench.work()
    previewed = bench.now(proposed.id)
    assert previewed.state is State.PREVIEWED
    assert previewed.preview is not None
    assert "roundrobin -> prefixaware" in previewed.preview.diff
    assert previewed.next_step == f"`tierdeck approve {proposed.id}`"
    assert bench.fleet.written == []  # nothing before it is approved
    bench.clock.now += 60
    bench.store.approve_change(proposed.id, "bob", bench.clock.now)
    bench.work()
    kept = bench.now(proposed.id)
    assert (kept.state, kept.applied_at, kept.ended_at) == (State.KEPT, T0 + 60, T0 + 60)
    assert kept.proof is not None
    assert kept.proof.verdict is Verdict.EFFECTIVE
    assert kept.notes == ("not_judged: this version compares nothing before and after",)
    assert "prefixaware is in effect: 20 of 20" in kept.outcome
    assert (bench.fleet.written, bench.fleet.approvers) == ([ROUTER], ["bob"])
    assert states(bench, kept) == [
        "proposed ada",
        "previewed controller",
        "approved bob",
        "applying controller",
        "proving controller",
        "observing controller",
        "kept controller",
    ]
    assert bench.store.last_proof("east", CHAT) == kept.proof
    (event,) = bench.store.events(T0, T0 + 90).to_dict("records")
    assert (event["kind"], event["subject"], event["endpoint"]) == ("change", f"change {kept.id}", CHAT)
    assert event["words"].startswith(f"change {kept.id} (prefixaware) is made: kept: ")


def test_a_resize_writes_each_object_once_and_proves_nothing(bench: Bench) -> None:
    kept = bench.made(RESIZE)
    assert kept.state is State.KEPT
    assert [subject for subject, _ in bench.fleet.written] == [
        "Deployment inference/chat-engine",
        "Deployment inference/chat-pool",
    ]
    assert bench.fleet.written[0][1] == ("[name=LMCACHE_MAX_LOCAL_CPU_SIZE]=40",)
    assert (bench.fleet.probes, kept.proof) == (0, None)


def test_a_revert_writes_back_what_was_there(bench: Bench) -> None:
    before = dict(bench.fleet.fields)
    kept = bench.made(RESIZE)
    undone = bench.made(replace(CHANGE, reverts=kept.id, wish=Wish(l1_bytes=5 * GIB), key="undo"))
    assert undone.state is State.KEPT
    assert bench.fleet.fields == before  # what was not there is not there again
    again = bench.made(replace(CHANGE, reverts=undone.id, key="redo"))
    assert again.state is State.KEPT
    assert bench.fleet.fields != before


def test_a_strategy_is_proved_after_a_revert_too(bench: Bench) -> None:
    kept = bench.made()
    undone = bench.made(replace(CHANGE, reverts=kept.id, wish=Wish(strategy="roundrobin"), key="undo"))
    assert undone.proof is not None
    assert (undone.proof.wished, undone.proof.verdict) == ("roundrobin", Verdict.EFFECTIVE)


def test_a_revert_is_refused_where_somebody_wrote_since(bench: Bench) -> None:
    kept = bench.made()
    (key,) = [one for one in bench.fleet.fields if one[0].name == "chat-router"]
    bench.fleet.fields[key] = "kvaware"
    undo = bench.propose(replace(CHANGE, reverts=kept.id, key="undo"))
    bench.work()
    assert bench.now(undo.id).refusals[0].code == "changed_meanwhile"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (replace(CHANGE, wish=Wish(strategy="fastest")), "unknown_strategy"),
        (replace(CHANGE, wish=Wish(strategy="roundrobin")), "nothing_to_do"),
        (replace(CHANGE, endpoint="inference/none"), "not_possible"),
        (replace(CHANGE, endpoint="kube-system/dns"), "not_allowed"),
        (replace(CHANGE, wish=Wish(l1_bytes=65 * GIB)), "not_allowed"),
        (replace(CHANGE, wish=Wish(l0=L0Wish(share=0.96))), "not_allowed"),
        (replace(CHANGE, wish=Wish(l2_bytes=2 * 2**40)), "not_allowed"),
    ],
)
def test_what_can_not_or_must_not_be_is_refused_with_the_reason(bench: Bench, change: Change, code: str) -> None:
    proposed = bench.propose(change)
    bench.work()
    refused = bench.now(proposed.id)
    assert (refused.state, refused.ended_at) == (State.REFUSED, T0)
    assert refused.refusals[0].code == code
    assert refused.outcome
    assert bench.fleet.written == []
    assert bench.store.events(T0 - 1, T0 + 60).empty  # nothing happened to the fleet


def test_without_a_file_everything_is_refused_and_the_setting_is_named(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path, {"changes_file": None})
    proposed = bench.propose()
    bench.work()
    (refusal,) = bench.now(proposed.id).refusals
    assert refusal.code == "observe_only"
    assert "TIERDECK_CHANGES_FILE" in refusal.reason


def test_what_is_allowed_is_read_anew_before_it_is_applied(bench: Bench) -> None:
    proposed = bench.propose()
    bench.work()
    bench.allow.write_text("namespaces: [other]\nkinds: [Deployment]\n")
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    refused = bench.now(proposed.id)
    assert (refused.state, refused.refusals[0].code) == (State.REFUSED, "not_allowed")
    again = bench.propose(replace(CHANGE, key="2"))
    bench.allow.write_text("namespaces: 3\n")
    bench.work()
    assert bench.now(again.id).refusals[0].code == "observe_only"
    assert bench.fleet.written == []


def test_a_change_without_a_second_look_goes_on_by_itself(bench: Bench) -> None:
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))
    bench.work()
    kept = bench.now(proposed.id)
    assert (kept.state, kept.approved_by) == (State.KEPT, "ada")
    assert bench.store.audit()["action"].tolist() == ["approve_change", "propose_change"]


def test_somebody_else_has_to_approve_where_that_is_asked_for(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path, {"changes_second_person": True})
    proposed = bench.propose(replace(CHANGE, is_approved_at_once=True))
    bench.work()
    assert bench.now(proposed.id).state is State.PREVIEWED
    bench.store.approve_change(proposed.id, " Ada", T0)
    bench.work()
    back = bench.now(proposed.id)
    assert (back.state, back.approved_by, back.approved_at) == (State.PREVIEWED, "", None)
    assert "somebody else has to approve it" in back.outcome
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    assert bench.now(proposed.id).state is State.KEPT


def test_nothing_is_changed_in_a_maintenance_window(bench: Bench) -> None:
    window = bench.store.add_silence(silence(T0, 600, is_maintenance=True, endpoint=CHAT))
    early = bench.propose()
    bench.work()
    (refusal,) = bench.now(early.id).refusals
    assert refusal.code == "frozen"
    assert f"tierdeck silence end {window.id}" in refusal.fix
    bench.store.end_silence(window.id, "ada", T0)
    late = bench.propose(replace(CHANGE, key="2"))
    bench.work()
    bench.store.add_silence(silence(T0, 600, is_maintenance=True, cluster="east"))
    bench.store.approve_change(late.id, "bob", T0)
    bench.work()
    back = bench.now(late.id)
    assert (back.state, back.approved_at) == (State.PREVIEWED, None)
    assert "is frozen until" in back.outcome
    assert bench.fleet.written == []


def test_an_approval_is_of_what_was_previewed_and_of_nothing_else(bench: Bench) -> None:
    proposed = bench.propose()
    bench.work()
    (key,) = [one for one in bench.fleet.fields if one[0].name == "chat-router"]
    bench.fleet.fields[key] = "session"
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    back = bench.now(proposed.id)
    assert back.state is State.PREVIEWED
    assert "no longer what was approved" in back.outcome
    assert back.preview is not None
    assert "session -> prefixaware" in back.preview.diff  # what it would do now
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    assert bench.now(proposed.id).state is State.KEPT


def test_what_is_so_already_when_it_is_approved_is_not_written_again(bench: Bench) -> None:
    proposed = bench.propose()
    bench.work()
    (key,) = [one for one in bench.fleet.fields if one[0].name == "chat-router"]
    bench.fleet.fields[key] = "prefixaware"
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    assert bench.now(proposed.id).refusals[0].code == "nothing_to_do"
    assert bench.fleet.written == []


def test_an_approval_that_came_to_nothing_for_an_hour_has_to_be_given_again(bench: Bench) -> None:
    proposed = bench.propose()
    bench.work()
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.clock.now += 3600  # no controller ran
    bench.work()
    back = bench.now(proposed.id)
    assert back.state is State.PREVIEWED
    assert "more than an hour old" in back.outcome
    assert bench.fleet.written == []


def test_what_nobody_approves_is_cancelled_after_a_day(bench: Bench) -> None:
    proposed = bench.propose()
    bench.work()
    bench.clock.now = T0 + 86399
    bench.work()
    assert bench.now(proposed.id).state is State.PREVIEWED
    bench.clock.now = T0 + 86400
    bench.work()
    cancelled = bench.now(proposed.id)
    assert (cancelled.state, cancelled.outcome) == (State.CANCELLED, "nobody approved it within 24 h")


def test_what_could_not_be_previewed_for_a_day_is_cancelled_with_the_reason(bench: Bench) -> None:
    proposed = bench.propose()
    bench.fleet.faults.raising["plan"] = [ApiUnreachableError("the API server does not answer")] * 2000
    bench.work()
    bench.clock.now = T0 + 86400
    bench.work()
    cancelled = bench.now(proposed.id)
    assert cancelled.state is State.CANCELLED
    assert "the API server does not answer" in cancelled.outcome


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
    bench.fleet.faults.raising["apply"] = [error]
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


def test_what_can_not_be_told_is_kept_and_said(bench: Bench) -> None:
    bench.fleet.faults.cannot_tell = True
    kept = bench.made()
    assert kept.state is State.KEPT
    assert kept.notes[0] == "cannot_tell: there is one replica"
    assert "can't be told" in kept.outcome


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
