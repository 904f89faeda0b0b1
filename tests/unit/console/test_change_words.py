"""Changes in words: from and to, where one is, what it costs, what its proof means now."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from console.change_words import (
    asks_words,
    cost_words,
    is_proved,
    note_words,
    progress_words,
    proof_words,
    refusal_words,
    state_words,
    verdict_words,
)
from tests.support.any_changes import CHANGE, changes
from tierdeck.changes.change import State
from tierdeck.changes.plan import Plan, Preview, Refusal
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

ENGINE, ROUTER = ObjectRef("Deployment", "inference", "chat"), ObjectRef("Deployment", "inference", "router")
PROOF = Proof(Verdict.EFFECTIVE, "prefixaware", "prefixaware", ("8 of 8 landed on chat-0",), 12, 3.2, at=1000.0)
GIB = 2**30


def test_a_switch_says_from_which_strategy_to_which() -> None:
    assert asks_words(CHANGE) == "session → prefixaware"
    assert asks_words(replace(CHANGE, was={})) == "not known → prefixaware"


def test_a_resize_says_what_was_there_of_what_it_asks_for_alone() -> None:
    was = {"strategy": "session", "L0": "--gpu-memory-utilization 0.9", "L1": "40 GiB", "L2": "500 GiB"}
    wish = Wish(l0=L0Wish(share=0.85), l1_bytes=60 * GIB)
    assert asks_words(replace(CHANGE, wish=wish, was=was)) == (
        "L0 --gpu-memory-utilization 0.9, L1 40 GiB → L0 0.85, L1 60 GiB"
    )
    assert asks_words(replace(CHANGE, wish=wish, was={"L1": "40 GiB"})) == (
        "L0 not known, L1 40 GiB → L0 0.85, L1 60 GiB"
    )


def test_every_state_has_a_shape_of_words() -> None:
    told = [state_words(state) for state in State]
    assert len(set(told)) == len(State)
    assert state_words(State.PREVIEWED) == "◇ waits for approval"


@given(changes)
def test_whatever_a_change_is_it_says_where_it_is(change: object) -> None:
    assert progress_words(change)  # type: ignore[arg-type]
    assert asks_words(change)  # type: ignore[arg-type]


def test_how_it_ended_and_what_to_do_come_before_what_is_usual() -> None:
    failed = replace(CHANGE, state=State.FAILED, outcome="pod chat-0 was OOMKilled", next_step="`tierdeck revert 12`")
    assert progress_words(failed) == "pod chat-0 was OOMKilled. `tierdeck revert 12`."


def test_a_refused_change_says_each_reason_and_its_fix() -> None:
    refusals = (Refusal("memory", "node a lacks 8 GiB", "Ask for 32Gi."), Refusal("gpus", "no GPU is free"))
    refused = replace(CHANGE, state=State.REFUSED, refusals=refusals)
    assert progress_words(refused) == "node a lacks 8 GiB. Ask for 32Gi. no GPU is free."
    assert refusal_words(refusals[1]) == "no GPU is free."


def test_what_a_gitops_tool_owns_is_said_to_be_exported() -> None:
    preview = Preview(Plan((), exports_only="argo-cd chat owns it"), "", 1.0)
    waits = replace(CHANGE, state=State.PREVIEWED, preview=preview)
    assert progress_words(waits) == "It is not written here: argo-cd chat owns it. Export it as a patch."


def test_one_that_was_approved_at_once_does_not_ask_for_approval() -> None:
    waits = replace(CHANGE, state=State.PREVIEWED)
    assert progress_words(waits) == "It waits to be approved; nothing is written yet."
    assert progress_words(replace(waits, is_approved_at_once=True)) == "It goes on by itself; nothing is written yet."


def test_its_cost_is_what_restarts_and_which_tiers_are_lost() -> None:
    assert cost_words(Plan(())) == ("Nothing restarts.", "No tier starts empty.")
    assert cost_words(Plan((), restarts=(ENGINE,), loses=(Tier.L0, Tier.L1))) == (
        "Restarts Deployment inference/chat.",
        "L0 and L1 start empty again.",
    )
    assert cost_words(Plan((), restarts=(ENGINE, ROUTER), loses=(Tier.L1,))) == (
        "Restarts Deployment inference/chat and Deployment inference/router.",
        "L1 starts empty again.",
    )


def test_a_proof_counts_for_the_strategy_that_it_proved() -> None:
    assert proof_words(PROOF, "prefixaware", 1180.0) == "proved 3 min ago"
    assert proof_words(PROOF, "session", 1180.0) == "configured, not proved"
    assert proof_words(None, "session", 1180.0) == "configured, not proved"
    assert [is_proved(PROOF, "prefixaware"), is_proved(PROOF, "session"), is_proved(None, "session")] == [
        True, False, False,
    ]  # fmt: skip


def test_a_probe_that_proved_nothing_is_said_with_what_it_saw() -> None:
    other = replace(PROOF, verdict=Verdict.APPLIED_NOT_EFFECTIVE, seen="roundrobin")
    said = "applied, but requests are routed as roundrobin"
    assert verdict_words(other) == said
    assert proof_words(other, "prefixaware", 1060.0) == f"configured, not proved; the probe 60 s ago: {said}"
    assert proof_words(other, "roundrobin", 1060.0) == "configured, not proved"  # it was not what was asked
    unsure = replace(PROOF, verdict=Verdict.CANNOT_TELL, seen="")
    assert proof_words(unsure, "prefixaware", 1060.0) == "configured, not proved; the probe 60 s ago: cannot tell"


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("not_judged", "Whether it helped was not judged."),
        ("not_judged: no judge yet", "Whether it helped was not judged: no judge yet."),
        ("of_another_version: words", "Of another version: words."),
    ],
)
def test_a_note_is_a_sentence(note: str, said: str) -> None:
    assert note_words(note) == said
