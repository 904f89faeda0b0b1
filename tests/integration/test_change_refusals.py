"""Changes that can't be proposed, approved, cancelled or reverted: one sentence, the right exit code, no row."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from console.change_commands import Who, approve, propose
from console.change_queries import offers
from db import Store
from tests.support.changed_deck import CHAT, EAST, POOL, RAG, fill_changeable, tierdeck
from tierdeck.changes.change import Change, State, Step
from tierdeck.changes.plan import Plan, Preview
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Sighting
from tierdeck.errors import UsageError
from tierdeck.fleet import Endpoint
from tierdeck.tiers import Tier


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    found = f"sqlite:///{tmp_path}/tierdeck.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", found)
    monkeypatch.setenv("LOGNAME", "marie")
    fill_changeable(found)
    return found


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["route", "chatt", "prefixaware"], 2, "there is no endpoint 'chatt'. Did you mean inference/chat? Known: "),
        (["route", "", "prefixaware"], 2, "there is no endpoint ''"),
        (["route", "chat", "fastest"], 2, "has no strategy 'fastest'. It has: roundrobin, session, prefixaware, kvaw"),
        (["route", "chat", "cache_aware"], 2, "has no strategy 'cache_aware'"),
        (["route", "chat", "  "], 2, "no strategy is named"),
        (["resize", "chat"], 2, "no size is given. Give --l0, --l1 or --l2, such as --l1 40Gi."),
        (["resize", "chat", "--l1", "forty"], 2, "'forty' is not a size"),
        (["resize", "chat", "--l1", "40"], 2, "L1 40 is 40 bytes. Write the unit too, such as 40Gi."),
        (["resize", "chat", "--l1", "-40Gi"], 2, "'-40Gi' is not a size"),
        (["resize", "chat", "--l1", "nan"], 2, "'nan' is not a size"),
        (["resize", "chat", "--l1", "1e3Gi"], 2, "'1e3Gi' is not a size"),
        (["resize", "chat", "--l0", "1.5"], 2, "'1.5' is no size of L0. Give a share of the GPU's memory (0.85)"),
        (["resize", "chat", "--l0", "0blocks"], 2, "'0blocks' is not a size"),
        (["resize", "chat", "--l2", "all"], 2, "'all' is not a size"),
        (["resize", "chat", "--l1", "40Gi", "--salt", "a"], 2, "--salt is about --l2"),
        (["resize", "main", "--l1", "40Gi"], 2, "curvine/main is a pool, which has a size of L2 and nothing else"),
        (["route", "curvine/main", "session"], 2, "curvine/main is a pool"),
        (["route", "chat", "session", "--dry-run", "--yes"], 2, "a dry run ends with its preview"),
        (["route", "chat", "session", "--dry-run", "--wait"], 2, "a dry run ends with its preview"),
        (["route", "chat", "session", "--wait", "--timeout", "soon"], 2, "'soon' is not a duration"),
        (["changes", "--endpoint", "chatt"], 2, "there is no endpoint 'chatt'. Did you mean inference/chat?"),
        (["change", "999"], 2, "there is no change 999. `tierdeck changes` lists them."),
        (["change", "999", "--wait"], 2, "there is no change 999"),
        (["approve", "999"], 2, "there is no change 999"),
        (["cancel", "999"], 2, "there is no change 999"),
        (["revert", "999"], 2, "there is no change 999"),
        (["export-change", "999"], 2, "there is no change 999"),
        (["export-change", "999", "--helm", "--kustomize"], 2, "--kustomize and --helm are two forms"),
    ],
)
def test_what_can_t_be_asked_is_one_line_and_leaves_nothing(url: str, args: list[str], code: int, says: str) -> None:
    done = tierdeck(*args)
    assert (done.code, done.out) == (code, "")
    assert says in done.said
    assert "\n" not in done.said
    assert tierdeck("changes", "--json").document == {"changes": []}


@pytest.mark.parametrize("args", [["change", "0"], ["change", "twelve"], ["cancel", "-1"], ["changes", "--limit", "0"]])
def test_what_is_no_number_is_wrong_usage(url: str, args: list[str]) -> None:
    assert tierdeck(*args).code == 2


def test_with_no_controller_nothing_is_proposed_and_that_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERDECK_DATABASE_URL", f"sqlite:///{tmp_path}/tierdeck.db")
    fill_changeable(f"sqlite:///{tmp_path}/tierdeck.db", is_controller_alive=False)
    for args in (("route", "chat", "session", "--yes", "--wait"), ("resize", "chat", "--l1", "60Gi", "--dry-run")):
        done = tierdeck(*args)
        assert (done.code, done.out) == (3, "")
        assert done.said.startswith("tierdeck: nothing was proposed: no controller runs that could make changes")
        assert "python -m controller" in done.said
    assert tierdeck("changes", "--json").document == {"changes": []}


def test_without_a_store_it_is_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERDECK_DATABASE_URL", f"sqlite:///{tmp_path}/nowhere/tierdeck.db")
    for args in (("route", "chat", "session"), ("changes",), ("change", "1"), ("approve", "1"), ("export-change", "1")):
        assert tierdeck(*args).code == 3


def test_an_endpoint_has_one_open_change_at_a_time(url: str) -> None:
    _propose(url, CHAT)
    done = tierdeck("route", "chat", "prefixaware", "--yes")
    assert (done.code, done.out) == (2, "")
    assert "inference/chat has a change that is not over: change 1 of ada, proposed" in done.said
    assert [one["id"] for one in tierdeck("changes", "--open", "--json").document["changes"]] == [1]


def test_a_name_in_two_clusters_has_to_say_which(url: str) -> None:
    with Store.open(url) as store:
        store.declare("west", [Endpoint("west", CHAT, (), strategy="session")], [], "test", "a test")
    done = tierdeck("route", "chat", "prefixaware")
    assert done.code == 2
    assert "exists in several clusters: east, west. Write east:inference/chat." in done.said


def test_an_open_change_is_not_approved_before_its_preview_nor_reverted(url: str) -> None:
    number = str(_propose(url, CHAT))
    assert "can't be approved: it is proposed" in tierdeck("approve", number).said
    assert "can't be reverted: it is proposed, and not over" in tierdeck("revert", number).said
    done = tierdeck("cancel", number, "--by", "grace", "--json")
    assert (done.code, done.change["state"], done.change["outcome"]) == (0, "cancelled", "grace cancelled it")
    again = tierdeck("cancel", number)
    assert (again.code, again.out) == (2, "")
    assert "it is cancelled already" in again.said
    assert "can't be reverted: nothing of it was written" in tierdeck("revert", number).said


def test_changes_are_listed_newest_first_and_chosen_by_endpoint(url: str) -> None:
    numbers = [_propose(url, CHAT), _propose(url, RAG)]
    found = tierdeck("changes", "--json").document["changes"]
    assert [one["id"] for one in found] == numbers[::-1]
    assert {"id", "endpoint", "state", "from", "to", "proof", "verdict", "notes"} <= set(found[0])
    assert [one["endpoint"] for one in tierdeck("changes", "--endpoint", "rag", "--json").document["changes"]] == [RAG]
    assert [one["id"] for one in tierdeck("changes", "--limit", "1", "--json").document["changes"]] == numbers[1:]
    text = tierdeck("changes").out
    assert "inference/rag" in text
    assert "roundrobin → session" in text


def test_a_pool_is_resized_by_its_own_name(url: str) -> None:
    with Store.open(url) as store:
        who = Who("ada", "", "click-1")
        change = propose(store, "east:main", Wish(l2_bytes=2**40), who, time.time())
        assert (change.cluster, change.endpoint, change.was) == (EAST, POOL, {"L2": "500 GiB"})
        assert propose(store, "main", Wish(l2_bytes=2**40), who, time.time()).id == change.id  # the same click
    assert [one["to"] for one in tierdeck("changes", "--endpoint", POOL, "--json").document["changes"]] == ["L2 1 TiB"]


def test_what_an_endpoint_can_be_changed_to_is_known_before_anybody_looks(url: str) -> None:
    with Store.open(url) as store:
        free = offers(store, EAST, CHAT, time.time())
        assert [(one.strategy, one.is_current, one.why_not) for one in free.strategies] == [
            ("roundrobin", True, "it is configured already"),
            ("session", False, ""),
            ("prefixaware", False, ""),
            ("kvaware", False, ""),
        ]
        assert (free.why_not, free.proof_words, free.is_proved) == ("", "configured, not proved", False)
        assert set(free.no_resize) == {Tier.L2}
        _propose(url, CHAT)
        busy = offers(store, EAST, CHAT, time.time())
        assert busy.open_change is not None
        assert busy.why_not == "change 1 of this endpoint is not over: roundrobin → session, looking"
        assert [one.why_not == busy.why_not for one in busy.strategies] == [False, True, True, True]
        later = offers(store, EAST, RAG, time.time() + 600)
        assert later.why_not.startswith("No controller runs any more")


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        (None, "the controller only observes: TIERDECK_CHANGES_FILE names no file"),
        (("- {a}", "- {b}"), "the controller lacks the right to change it: 2 rules are missing"),
    ],
)
def test_what_the_controller_may_not_do_is_not_offered(url: str, rules: tuple[str, ...] | None, says: str) -> None:
    with Store.open(url) as store:
        seen = [replace(one, write_rules=rules) for one in store.deployed(EAST)]
        store.sight(Sighting(EAST, time.time() + 1, tuple(seen)), lambda *_: [])
        found = offers(store, EAST, CHAT, time.time())
    assert found.why_not.startswith(says)
    assert found.missing_rules == (rules or ())


def test_a_frozen_endpoint_says_until_when_by_whom_and_why(url: str) -> None:
    tierdeck("maintenance", "start", "chat", "--why", "new drives", "--by", "ada")
    with Store.open(url) as store:
        assert re.match(
            r"changes are frozen until .* by ada: new drives", offers(store, EAST, CHAT, time.time()).why_not
        )


def test_an_approval_is_of_the_preview_that_was_seen(url: str) -> None:
    number = _propose(url, CHAT)
    with Store.open(url) as store:
        claimed = store.claim_change(EAST, "a", time.time(), 60)
        assert claimed is not None
        preview = Preview(Plan(()), "", 100.0)
        moved = replace(claimed, state=State.PREVIEWED, preview=preview)
        store.move_change(
            moved, Step(number, time.time(), State.PREVIEWED, "controller", "previewed"), "a", time.time()
        )
        with pytest.raises(UsageError, match="is another one by now"):
            approve(store, number, "ada", time.time(), seen_at=99.0)
        assert approve(store, number, "ada", time.time(), seen_at=100.0).state is State.APPROVED


def _propose(url: str, endpoint: str) -> int:
    with Store.open(url) as store:
        wish = Wish(strategy="session")
        return store.propose(
            Change(EAST, endpoint, wish, "ada", "", f"key-{endpoint}", time.time(), {"strategy": "roundrobin"})
        ).id
