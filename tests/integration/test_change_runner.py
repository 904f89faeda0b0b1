"""A change from its proposal to its end, on both databases, with a fleet in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from controller.api.errors import ApiUnreachableError, ForbiddenError
from controller.changes.seam import NoSeam
from db import Store
from tests.support.alerts import silence
from tests.support.any_changes import CHANGE, CHAT
from tests.support.change_bench import Bench
from tests.support.rounds import T0
from tierdeck.changes.change import Change, State
from tierdeck.changes.proof import Verdict
from tierdeck.changes.wish import L0Wish, Wish

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


def test_a_warning_that_nobody_saw_is_looked_at_first(bench: Bench) -> None:
    bench.fleet.warnings = ("With 3 requests that run, 2 of 3 replicas remain.",)
    proposed = bench.propose()
    bench.work()
    bench.fleet.warnings = ("With 1 request that runs, 1 of 2 replicas remain.", "helm owns args until now.")
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    back = bench.now(proposed.id)
    assert (back.state, back.approved_by, bench.fleet.written) == (State.PREVIEWED, "", [])
    assert "a warning that nobody has seen: helm owns args until now" in back.outcome
    bench.fleet.warnings = ("With 9 requests that run, 2 of 3 replicas remain.", "helm owns args until now.")
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    assert bench.now(proposed.id).state is State.KEPT  # other numbers are no other warning


def test_in_a_window_that_began_before_the_first_write_nothing_is_written(bench: Bench) -> None:
    bench.fleet.faults.raising["apply"] = [ApiUnreachableError("the API server does not answer")]
    proposed = bench.propose()
    bench.work()
    bench.store.approve_change(proposed.id, "bob", T0)
    bench.work()
    bench.store.add_silence(silence(T0, 600, is_maintenance=True, endpoint=CHAT))
    bench.clock.now += 60
    bench.work()
    failed = bench.now(proposed.id)
    assert (failed.state, bench.fleet.written) == (State.FAILED, [])
    assert "inference/chat is frozen until" in failed.outcome


def test_what_may_have_been_written_is_not_called_nothing(bench: Bench) -> None:
    """The first answer was lost; then the object may not be read any more."""
    bench.fleet.faults.raising["apply"] = [ApiUnreachableError("no answer"), ForbiddenError("who asks may not")]
    proposed = bench.propose()
    bench.work()
    bench.store.approve_change(proposed.id, "bob", T0)
    failed = bench.until(proposed.id, lambda one: one.state.is_over)
    assert failed.state is State.FAILED
    assert "nothing was written" not in failed.outcome
    assert f"`tierdeck revert {proposed.id}`" in failed.next_step


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


@dataclass
class Slept(NoSeam):
    """A controller that sleeps past its lease right before its second write, while another one takes the change."""

    bench: Bench | None = None
    is_over: bool = False

    def at(self, point: str) -> None:
        if point == "writing 1" and self.bench is not None and not self.is_over:
            self.is_over = True
            self.bench.clock.now += 31
            assert self.bench.store.claim_change("east", "b", self.bench.clock.now, 30) is not None


def test_who_slept_past_its_lease_between_two_writes_writes_no_more(store: Store, tmp_path: Path) -> None:
    seam = Slept()
    seam.bench = bench = Bench(store, tmp_path, seam=seam)
    proposed = bench.propose(RESIZE)
    bench.work()
    bench.store.approve_change(proposed.id, "bob", bench.clock.now)
    bench.work()
    assert [subject for subject, _ in bench.fleet.written] == ["Deployment inference/chat-engine"]
    assert bench.now(proposed.id).state is State.APPLYING
    bench.work(bench.started("b"))
    assert bench.now(proposed.id).state is State.KEPT
    assert [subject for subject, _ in bench.fleet.written] == [
        "Deployment inference/chat-engine",
        "Deployment inference/chat-pool",
    ]
