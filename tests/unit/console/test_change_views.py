"""Routing, Tiers and Changes on a real store; the dialog from click to confirmation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from db import Store
from tests.support.console_store import CLUSTER, fill, usual_fleet
from tests.support.made_changes import DIFF, HOLDER, MadeChange, bring_to_preview, make, refuse
from tests.unit.console.test_views import open_view, words
from tierdeck.changes.change import State
from tierdeck.changes.plan import Refusal
from tierdeck.changes.proof import Verdict
from tierdeck.changes.wish import Wish


@pytest.fixture
def now() -> float:
    return time.time()


@pytest.fixture
def endpoint(now: float) -> str:
    return usual_fleet(now)[0].name


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: float) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/tierdeck.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    fill(url, usual_fleet(now), now - 600, now)
    with Store.open(url) as opened:
        opened.beat("controller", HOLDER, "0.1.0", now - 60, now + 60)
        yield opened


def _enabled(app: AppTest) -> dict[str, bool]:
    return {one.key: not one.disabled for one in app.button if one.key}


def test_each_strategy_has_a_card_and_the_current_one_is_not_proved(store: Store, endpoint: str) -> None:
    app = open_view("routing", endpoint=endpoint, cluster=CLUSTER)
    buttons = _enabled(app)
    assert {name for name in buttons if name.startswith("switch-")} == {
        "switch-roundrobin", "switch-session", "switch-prefixaware", "switch-kvaware",
    }  # fmt: skip
    assert not buttons["switch-prefixaware"]  # usual_fleet is configured so
    assert buttons["switch-session"]
    assert "configured, not proved" in "".join(one.proto.body for one in app.get("html"))


def test_without_a_controller_nothing_can_be_switched_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: float
) -> None:
    url = f"sqlite:///{tmp_path}/other.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    fill(url, usual_fleet(now), now - 600, now)
    app = open_view("routing")
    assert not any(_enabled(app)[name] for name in _enabled(app) if name.startswith("switch-"))
    assert "No controller runs that could make changes" in words(app)


def test_a_switch_is_confirmed_on_what_would_be_written(store: Store, endpoint: str, now: float) -> None:
    app = open_view("routing", endpoint=endpoint, cluster=CLUSTER)
    app.button(key="switch-session").click().run()
    (change,) = store.changes(CLUSTER, endpoint)
    assert change.state is State.PROPOSED
    assert change.wish == Wish(strategy="session")
    assert "Nothing is written before you confirm" in words(app)


def test_a_change_under_way_blocks_another_one(store: Store, endpoint: str, now: float) -> None:
    make(store, MadeChange(endpoint, Wish(strategy="session"), State.APPLYING, was="prefixaware"), now - 20)
    app = open_view("routing", endpoint=endpoint, cluster=CLUSTER)
    assert not _enabled(app)["switch-roundrobin"]
    assert "is not over: prefixaware → session, applying" in words(app)


@pytest.mark.parametrize("state", [State.PREVIEWED, State.APPLYING, State.PROVING, State.OBSERVING, State.KEPT])
def test_a_change_is_followed_through_its_states(store: Store, endpoint: str, now: float, state: State) -> None:
    change = make(store, MadeChange(endpoint, Wish(strategy="prefixaware"), state), now - 30)
    app = open_view("changes", change=str(change.id))
    assert not app.exception
    assert DIFF.strip() in "\n".join(one.value for one in app.code)
    assert _enabled(app).get("revert", False) == (state is State.KEPT)
    assert _enabled(app).get("approve", False) == (state is State.PREVIEWED)
    assert _enabled(app).get("cancel", False) == (state is State.PREVIEWED)


def test_a_refused_change_says_each_reason_with_what_to_do(store: Store, endpoint: str, now: float) -> None:
    why = Refusal("memory", "node n1 has 3 GiB, 40 GiB are needed", "Take a smaller L1")
    change = make(store, MadeChange(endpoint, Wish(l1_bytes=2**35), State.REFUSED, refusals=(why,)), now - 30)
    told = words(open_view("changes", change=str(change.id)))
    assert "node n1 has 3 GiB" in told
    assert "Take a smaller L1" in told
    assert "nothing was written" in told


def test_an_approval_writes_who_approved(store: Store, endpoint: str, now: float) -> None:
    change = make(store, MadeChange(endpoint, Wish(strategy="session"), State.PREVIEWED), now - 30)
    app = open_view("changes", change=str(change.id))
    app.button(key="approve").click().run()
    approved = store.change(change.id)
    assert approved is not None
    assert approved.state is State.APPROVED
    assert approved.approved_by


def test_a_proof_that_failed_is_told_with_what_was_seen(store: Store, endpoint: str, now: float) -> None:
    made = MadeChange(endpoint, Wish(strategy="prefixaware"), State.OBSERVING, verdict=Verdict.APPLIED_NOT_EFFECTIVE)
    change = make(store, made, now - 30)
    assert "requests are routed as session" in words(open_view("changes", change=str(change.id)))


def test_the_list_leads_to_each_change(store: Store, endpoint: str, now: float) -> None:
    make(store, MadeChange(endpoint, Wish(strategy="prefixaware"), State.KEPT), now - 90)
    second = make(store, MadeChange(endpoint, Wish(strategy="session"), State.PREVIEWED), now - 30)
    markup = "".join(one.proto.body for one in open_view("changes").get("html"))
    assert f"changes?change={second.id}" in markup
    assert "session → prefixaware" in markup


def test_sizes_that_are_none_are_told_in_a_sentence_and_nothing_is_proposed(store: Store, endpoint: str) -> None:
    app = open_view("tiers", endpoint=endpoint, cluster=CLUSTER)
    app.text_input(key="resize-L1").set_value("a lot")
    app.button[0].click().run()
    assert "'a lot' is not a size" in words(app)
    assert not store.changes(CLUSTER, endpoint)


def test_sizes_are_proposed_as_they_are_typed(store: Store, endpoint: str) -> None:
    app = open_view("tiers", endpoint=endpoint, cluster=CLUSTER)
    app.text_input(key="resize-L1").set_value("40Gi")
    app.button[0].click().run()
    (change,) = store.changes(CLUSTER, endpoint)
    assert change.wish == Wish(l1_bytes=40 * 2**30)


def _answered(app: AppTest) -> AppTest:
    """Run until the dialog shows the controller's answer: what is read is kept for a second."""
    for _ in range(60):
        app.run()
        if "looks at what would be written" not in words(app):
            break
        time.sleep(0.3)
    return app


def _dialog(app: AppTest) -> str:
    return words(app) + " ".join(one.value for one in app.code)


def test_confirming_writes_the_reason_and_who_confirmed(store: Store, endpoint: str, now: float) -> None:
    app = open_view("routing", endpoint=endpoint, cluster=CLUSTER)
    app.button(key="switch-session").click().run()
    bring_to_preview(store)
    _answered(app)
    assert DIFF.strip() in _dialog(app)
    (change,) = store.changes(CLUSTER, endpoint)
    app.text_input(key=f"change_why_{change.id}").set_value("long chats")
    app.text_input(key=f"change_who_{change.id}").set_value("mara")
    app.button(key="change_confirmed").click().run()
    approved = store.change(change.id)
    assert approved is not None
    assert (approved.state, approved.approved_by, approved.reason) == (State.APPROVED, "mara", "long chats")


def test_what_is_refused_is_said_in_the_dialog(store: Store, endpoint: str, now: float) -> None:
    app = open_view("routing", endpoint=endpoint, cluster=CLUSTER)
    app.button(key="switch-kvaware").click().run()
    refuse(store, Refusal("kvaware_chat", "chat requests were seen 4 min ago", "Take prefixaware"))
    _answered(app)
    assert "chat requests were seen 4 min ago" in words(app)
    assert "change_confirmed" not in _enabled(app)


def test_without_a_name_it_is_asked_before_anything_is_proposed(
    store: Store, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERDECK_CONSOLE_ADDRESS", "0.0.0.0")
    app = open_view("routing", endpoint=endpoint, cluster=CLUSTER)
    app.button(key="switch-session").click().run()
    assert not store.changes(CLUSTER, endpoint)
    app.text_input(key="change_who_first").set_value("mara")
    next(one for one in app.button if one.label == "Show what would be written").click().run()
    (change,) = store.changes(CLUSTER, endpoint)
    assert change.by == "mara"


def test_where_a_second_person_is_needed_nobody_confirms_their_own(
    store: Store, endpoint: str, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERDECK_CHANGES_SECOND_PERSON", "true")
    app = open_view("routing", endpoint=endpoint, cluster=CLUSTER)
    app.button(key="switch-session").click().run()
    bring_to_preview(store)
    _answered(app)
    assert not _enabled(app)["change_confirmed"]


def test_a_size_without_its_unit_is_refused_as_the_command_refuses_it(store: Store, endpoint: str) -> None:
    app = open_view("tiers", endpoint=endpoint, cluster=CLUSTER)
    app.text_input(key="resize-L1").set_value("40")
    app.button[0].click().run()
    assert "40 is 40 bytes" in words(app)
    assert not store.changes(CLUSTER, endpoint)


def test_what_waits_for_approval_is_not_called_approved_and_is_there_as_a_patch(
    store: Store, endpoint: str, now: float
) -> None:
    change = make(store, MadeChange(endpoint, Wish(strategy="prefixaware"), State.PREVIEWED), now - 30)
    app = open_view("changes", change=str(change.id))
    course = "".join(one.proto.body for one in app.get("html"))
    assert "◑ waits for approval" in course
    assert "◑ approved" not in course
    assert "tierdeck approve" not in words(app)
    assert any("kind: Kustomization" in one.value for one in app.code)


def test_the_fleet_says_what_was_changed_lately(store: Store, endpoint: str, now: float) -> None:
    change = make(store, MadeChange(endpoint, Wish(strategy="prefixaware"), State.KEPT), now - 30)
    app = open_view("fleet")
    assert "What was changed lately?" in [one.value for one in app.subheader]
    assert f"changes?change={change.id}" in "".join(one.proto.body for one in app.get("html"))
