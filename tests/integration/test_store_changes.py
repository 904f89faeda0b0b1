"""Changes in the store, on both databases: proposed, approved, cancelled, claimed and moved."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from sqlalchemy import text

from db import Store
from tests.support.any_changes import CHANGE, CHAT
from tests.support.rounds import T0
from tierdeck.changes.change import Change, State, Step
from tierdeck.changes.plan import Plan, Preview
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import Wish
from tierdeck.errors import UsageError
from tierdeck.events import Event, EventKind
from tierdeck.resolution import Resolution

PREVIEW = Preview(Plan(()), "- a\n+ b", T0 + 1)
PROOF = Proof(Verdict.EFFECTIVE, "prefixaware", "prefixaware", ("8 of 8",), 20, 3.5, T0, (("chat-0", 400),))


def step(change: Change, words: str = "…", at: float = T0 + 1) -> Step:
    return Step(change.id, at, change.state, "controller", words)


def moved(store: Store, change: Change, *states: State, holder: str = "a") -> Change:
    """On through these states, by a holder that claims it."""
    assert store.claim_change(change.cluster, holder, T0 + 1, 30) is not None
    for state in states:
        change = replace(change, state=state, preview=PREVIEW)
        assert store.move_change(change, step(change), holder, T0 + 1)
    store.drop_change(change.id, holder)
    found = store.change(change.id)
    assert found is not None
    return found


def test_a_proposal_comes_back_exactly_and_leaves_marks(store: Store) -> None:
    proposed = store.propose(CHANGE)
    assert replace(proposed, id=0) == CHANGE
    assert store.change(proposed.id) == proposed
    assert store.changes("east", CHAT) == store.changes() == store.open_changes("east") == [proposed]
    assert store.changes("west") == store.changes("east", "other") == store.open_changes("west") == []
    assert store.change(proposed.id + 1) is None
    assert [(one.state, one.by) for one in store.change_steps(proposed.id)] == [(State.PROPOSED, "ada")]
    (row,) = store.audit().to_dict("records")
    assert (row["actor"], row["action"], row["subject"]) == ("ada", "propose_change", f"change {proposed.id}")
    assert json.loads(row["detail"])["wish"] == "prefixaware"


def test_the_same_click_twice_is_one_change(store: Store) -> None:
    first = store.propose(CHANGE)
    store.cancel_change(first.id, "bob", T0 + 5)
    again = store.propose(CHANGE)
    assert (again.id, again.state) == (first.id, State.CANCELLED)
    assert store.propose(replace(CHANGE, cluster="west")).id != first.id  # another cluster's click
    assert store.audit()["action"].tolist() == ["propose_change", "cancel_change", "propose_change"]


def test_an_endpoint_has_one_open_change_at_a_time(store: Store) -> None:
    first = store.propose(CHANGE)
    with pytest.raises(UsageError, match=f"change {first.id} of ada, proposed"):
        store.propose(replace(CHANGE, key="click-2", by="bob"))
    store.propose(replace(CHANGE, key="click-3", endpoint="inference/code"))
    store.cancel_change(first.id, "ada", T0 + 1)
    assert store.propose(replace(CHANGE, key="click-2")).id > first.id


def test_many_who_click_at_once_make_one_change(store: Store) -> None:
    found: list[int] = []
    refused: list[str] = []

    def click(key: str) -> None:
        try:
            found.append(store.propose(replace(CHANGE, key=key)).id)
        except UsageError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=click, args=(key,)) for key in ("a", "a", "b", "a", "b", "b")]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert (len(found), len(refused)) == (3, 3)  # three clicks each: one key won, the other was refused
    assert len(set(found)) == 1


def test_a_proposer_says_nothing_but_the_proposal(store: Store) -> None:
    forged = replace(CHANGE, state=State.APPROVED, approved_by="eve", preview=PREVIEW, notes=("not_judged",), id=77)
    found = store.propose(forged)
    assert replace(found, id=0) == CHANGE


def test_a_revert_is_of_a_change_that_was_written(store: Store) -> None:
    first = store.propose(CHANGE)
    revert = replace(CHANGE, key="undo", reverts=first.id)
    store.cancel_change(first.id, "ada", T0)
    for wrong, words in (
        (replace(revert, reverts=99), "no change 99"),
        (revert, "can't be reverted: it is cancelled"),
        (replace(revert, endpoint="inference/code"), f"was one of {CHAT}"),
    ):
        with pytest.raises(UsageError, match=words):
            store.propose(wrong)
    kept = store.propose(replace(CHANGE, key="click-2"))
    kept = moved(store, kept, State.PREVIEWED, State.APPROVED, State.APPLYING, State.PROVING, State.OBSERVING)
    kept = moved(store, kept, State.KEPT)
    assert (kept.state, kept.ended_at) == (State.KEPT, T0 + 1)
    assert store.propose(replace(revert, reverts=kept.id)).reverts == kept.id


def test_an_approval_is_of_the_preview_that_was_looked_at(store: Store) -> None:
    proposed = store.propose(CHANGE)
    moved(store, proposed, State.PREVIEWED)  # of T0 + 1
    with pytest.raises(UsageError, match="another one by now"):
        store.approve_change(proposed.id, "bob", T0 + 2, seen_at=T0)
    found = store.change(proposed.id)
    assert found is not None
    assert found.state is State.PREVIEWED
    approved = store.approve_change(proposed.id, "bob", T0 + 2, seen_at=T0 + 1, reason="it is quiet")
    assert (approved.state, approved.reason) == (State.APPROVED, "it is quiet")


def test_only_what_was_previewed_can_be_approved(store: Store) -> None:
    proposed = store.propose(CHANGE)
    with pytest.raises(UsageError, match="it is proposed") as caught:
        store.approve_change(proposed.id, "bob", T0)
    assert "is it running" in caught.value.hint
    moved(store, proposed, State.PREVIEWED)
    approved = store.approve_change(proposed.id, "bob", T0 + 2)
    assert (approved.state, approved.approved_by, approved.approved_at) == (State.APPROVED, "bob", T0 + 2)
    assert store.change(proposed.id) == approved
    assert [one.by for one in store.change_steps(proposed.id)] == ["ada", "controller", "bob"]
    assert store.audit()["actor"].tolist() == ["bob", "ada"]
    with pytest.raises(UsageError, match="it is approved"):
        store.approve_change(proposed.id, "bob", T0)
    with pytest.raises(UsageError, match="no change 99"):
        store.approve_change(99, "bob", T0)


def test_what_may_only_be_exported_can_not_be_approved(store: Store) -> None:
    proposed = store.propose(CHANGE)
    claimed = store.claim_change("east", "a", T0, 30)
    assert claimed is not None
    preview = replace(PREVIEW, plan=Plan((), exports_only="Argo CD owns the object"))
    previewed = replace(claimed, state=State.PREVIEWED, preview=preview)
    assert store.move_change(previewed, step(previewed), "a", T0)
    with pytest.raises(UsageError, match="Argo CD owns the object") as caught:
        store.approve_change(proposed.id, "bob", T0)
    assert "export-change" in caught.value.hint


def test_a_change_is_cancelled_only_before_anything_is_written(store: Store) -> None:
    one = store.propose(CHANGE)
    one = moved(store, one, State.PREVIEWED, State.APPROVED, State.APPLYING)
    with pytest.raises(UsageError, match="it is applying") as caught:
        store.cancel_change(one.id, "bob", T0)
    assert f"tierdeck revert {one.id}" in caught.value.hint
    moved(store, one, State.FAILED)
    with pytest.raises(UsageError, match="it is failed already"):
        store.cancel_change(one.id, "bob", T0)


def test_a_change_is_one_holders_alone_until_its_lease_runs_out(store: Store) -> None:
    one = store.propose(CHANGE)
    assert store.claim_change("west", "a", T0, 30) is None
    assert store.claim_change("east", "a", T0, 30) == one
    assert store.claim_change("east", "b", T0 + 29, 30) is None
    assert store.claim_change("east", "a", T0 + 29, 30) == one  # its own, until T0 + 59
    assert store.hold_change(one.id, "a", T0 + 50, 30)  # until T0 + 80
    assert not store.hold_change(one.id, "b", T0 + 50, 30)
    assert store.claim_change("east", "b", T0 + 79, 30) is None
    assert not store.hold_change(one.id, "a", T0 + 80, 30)  # it has slept too long
    assert store.claim_change("east", "b", T0 + 80, 30) == one
    store.drop_change(one.id, "a")  # no longer its own
    assert store.claim_change("east", "c", T0 + 81, 30) is None
    store.drop_change(one.id, "b")
    assert store.claim_change("east", "c", T0 + 81, 30) == one


def test_who_slept_past_its_lease_writes_nothing_more(store: Store) -> None:
    one = store.propose(CHANGE)
    store.claim_change("east", "a", T0, 30)
    late = replace(one, state=State.PREVIEWED, preview=PREVIEW)
    assert not store.move_change(late, step(late), "a", T0 + 30)
    store.claim_change("east", "b", T0 + 31, 30)
    assert not store.move_change(late, step(late), "a", T0 + 32)
    assert store.change(one.id) == one
    assert len(store.change_steps(one.id)) == 1
    assert store.move_change(late, step(late), "b", T0 + 32)


def test_a_person_takes_a_change_from_whoever_works_on_it(store: Store) -> None:
    one = store.propose(CHANGE)
    store.claim_change("east", "a", T0, 30)
    store.cancel_change(one.id, "bob", T0 + 1)
    late = replace(one, state=State.PREVIEWED, preview=PREVIEW)
    assert not store.move_change(late, step(late), "a", T0 + 2)
    found = store.change(one.id)
    assert found is not None
    assert (found.state, found.ended_at, found.outcome) == (State.CANCELLED, T0 + 1, "bob cancelled it")
    assert store.claim_change("east", "a", T0 + 3, 30) is None


def test_a_change_moves_only_where_a_way_leads(store: Store) -> None:
    one = store.propose(CHANGE)
    store.claim_change("east", "a", T0, 30)
    wrong = replace(one, state=State.KEPT)
    with pytest.raises(ValueError, match="no way leads from proposed to kept"):
        store.move_change(wrong, step(wrong), "a", T0)
    assert store.change(one.id) == one
    same = replace(one, outcome="waits for the API server")
    assert store.move_change(same, step(same, "waits"), "a", T0, due_at=T0 + 10)
    assert store.change(one.id) == same
    assert store.claim_change("east", "a", T0 + 9, 30) is None
    assert store.claim_change("east", "a", T0 + 10, 30) == same


def test_what_happened_is_written_with_the_move_or_not_at_all(store: Store) -> None:
    one = store.propose(CHANGE)
    event = Event("east", CHAT, "", T0, EventKind.CHANGE, "change 1", "it is refused", "change/1/refused")
    refused = replace(one, state=State.REFUSED)
    assert not store.move_change(refused, step(refused), "a", T0, events=[event])
    assert store.events(T0 - 60, T0 + 60).empty
    store.claim_change("east", "a", T0, 30)
    assert store.move_change(refused, step(refused), "a", T0, events=[event])
    assert store.events(T0 - 60, T0 + 60)["words"].tolist() == ["it is refused"]


def test_the_longest_due_comes_first(store: Store) -> None:
    first = store.propose(replace(CHANGE, key="1", endpoint="b", proposed_at=T0 + 5))  # by a clock that is ahead
    second = store.propose(replace(CHANGE, key="2", endpoint="c"))
    assert store.claim_change("east", "a", T0, 30) == first
    assert store.move_change(first, None, "a", T0, due_at=T0 + 5)
    assert store.claim_change("east", "a", T0 + 9, 30) == second
    assert store.claim_change("east", "b", T0 + 9, 30) == first


@pytest.mark.parametrize("damage", ["facts = '{'", "facts = '{}'", "state = 'judging'"])
def test_a_change_that_can_not_be_read_is_shown_and_left_alone(store: Store, damage: str) -> None:
    one = store.propose(CHANGE)
    other = store.propose(replace(CHANGE, key="2", endpoint="inference/code"))
    with store._database.write() as connection:
        connection.execute(text(f"UPDATE changes SET {damage} WHERE id = {one.id}"))
    listed = store.changes("east")
    assert listed[0] == other
    assert (listed[1].id, listed[1].endpoint, listed[1].by) == (one.id, CHAT, "ada")
    assert listed[1].notes[0].startswith("unreadable: ")
    assert store.claim_change("east", "a", T0, 30) == other
    assert store.claim_change("east", "b", T0, 30) is None
    for act in (store.approve_change, store.cancel_change):
        with pytest.raises(UsageError, match=f"can't read change {one.id}"):
            act(one.id, "bob", T0)
    with pytest.raises(UsageError, match=f"change {one.id} of ada"):
        store.propose(replace(CHANGE, key="3"))


def test_words_that_no_text_can_hold_do_no_harm(store: Store) -> None:
    odd = store.propose(replace(CHANGE, reason="a\0b", wish=Wish(strategy="é∅")))
    assert store.change(odd.id) == odd
    store.claim_change("east", "a", T0, 30)
    assert store.move_change(replace(odd, outcome="x\0"), step(odd, "y\0z"), "a", T0)
    assert [one.words for one in store.change_steps(odd.id)][-1] == "yz"


def test_the_last_proof_of_an_endpoint_is_found(store: Store) -> None:
    assert store.last_proof("east", CHAT) is None
    later = replace(PROOF, at=T0 + 60, verdict=Verdict.CANNOT_TELL)
    for proof in (later, PROOF, later):
        store.save_proof("east", CHAT, proof)
    store.save_proof("west", CHAT, PROOF)
    assert store.last_proof("east", CHAT) == later
    assert store.last_proof("west", CHAT) == PROOF
    assert store.proofs(T0, T0 + 60) == [("east", CHAT, later)]
    assert len(store.proofs(T0 - 1, T0 + 60)) == 3  # the same again is one


def test_changes_stay_and_old_proofs_go(store: Store) -> None:
    one = store.propose(CHANGE)
    store.save_proof("east", CHAT, PROOF)
    store.prune(T0 + 200_000, dict.fromkeys(Resolution, 86400), event_seconds=86400, alert_seconds=86400)
    assert store.change(one.id) == one
    assert store.last_proof("east", CHAT) is None
