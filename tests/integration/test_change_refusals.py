"""Changes that can't be proposed, approved, cancelled or reverted: one sentence, the right exit code, no row."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from db import Store
from tests.support.changed_deck import CHAT, EAST, RAG, fill_changeable, tierdeck
from tierdeck.changes.change import Change
from tierdeck.changes.wish import Wish
from tierdeck.fleet import Endpoint


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
        (["resize", "chat", "--l1", "40"], 2, "--l1 40 is 40 bytes. Write the unit too, such as 40Gi."),
        (["resize", "chat", "--l1", "-40Gi"], 2, "'-40Gi' is not a size"),
        (["resize", "chat", "--l1", "nan"], 2, "'nan' is not a size"),
        (["resize", "chat", "--l1", "1e3Gi"], 2, "'1e3Gi' is not a size"),
        (["resize", "chat", "--l0", "1.5"], 2, "'1.5' is no size of L0. Give a share of the GPU's memory (0.85)"),
        (["resize", "chat", "--l0", "0blocks"], 2, "'0blocks' is not a size"),
        (["resize", "chat", "--l2", "all"], 2, "'all' is not a size"),
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


def _propose(url: str, endpoint: str) -> int:
    with Store.open(url) as store:
        wish = Wish(strategy="session")
        return store.propose(
            Change(EAST, endpoint, wish, "ada", "", f"key-{endpoint}", time.time(), {"strategy": "roundrobin"})
        ).id
