"""The commands about changes, with a controller that makes them on a fleet in memory: on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.changes.changer import Progress, Verified
from controller.changes.memory import MemoryChanger
from db import Store
from tests.support.changed_deck import CHAT, EAST, fill_changeable, tierdeck, working_controller
from tests.support.processes import wait_until
from tests.support.stores import Postgres, Sqlite
from tierdeck.changes.change import State

WAIT = ("--wait", "--timeout", "4m")
CONTRACT = {"id", "endpoint", "state", "from", "to", "preview", "proof", "verdict", "notes"}


@dataclass(frozen=True, slots=True)
class Deck:
    """Where the commands run, and the fleet that they change."""

    url: str
    fleet: MemoryChanger

    @property
    def written(self) -> list[tuple[str, ...]]:
        """The fields of each write, in order."""
        return [fields for _, fields in self.fleet.written]

    def state(self, number: int) -> State:
        with Store.open(self.url) as store:
            found = store.change(number)
        assert found is not None
        return found.state


@pytest.fixture
def deck(stores: Sqlite | Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deck]:
    url = stores.migrated()
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    monkeypatch.setenv("LOGNAME", "marie")
    fill_changeable(url)
    with working_controller(url, tmp_path) as fleet:
        yield Deck(url, fleet)


def test_a_switch_is_previewed_made_proved_and_kept(deck: Deck) -> None:
    done = tierdeck("route", "chat", "prefixaware", "--yes", *WAIT, "--reason", "long prompts", "--json")
    change = done.change
    assert done.code == 0
    assert change.keys() >= CONTRACT
    assert (change["endpoint"], change["state"], change["from"], change["to"]) == (
        CHAT, "kept", "roundrobin", "prefixaware",
    )  # fmt: skip
    assert (change["by"], change["approved_by"], change["reason"]) == ("marie", "marie", "long prompts")
    assert change["proof"]["verdict"] == "effective"
    assert change["proof"]["evidence"] == ["20 of 20 requests landed as prefixaware sends them"]
    assert change["preview"]["diff"]
    assert change["preview"]["cost"] == "Restarts Deployment inference/chat-router. No tier starts empty."
    assert (change["verdict"], [note["code"] for note in change["notes"]]) == (None, ["not_judged"])
    assert [step["state"] for step in change["steps"]] == [
        "proposed", "previewed", "approved", "applying", "proving", "observing", "kept",
    ]  # fmt: skip
    assert deck.written == [("[name=ROUTING_LOGIC]=prefixaware",)]
    told = done.said.splitlines()  # each step, as it came
    assert "◑ applying" in told[3]
    assert "● kept" in told[-1]


def test_a_dry_run_shows_the_preview_and_leaves_nothing_open(deck: Deck) -> None:
    done = tierdeck("resize", "chat", "--l1", "40Gi", "--dry-run", "--json")
    change = done.change
    assert (done.code, change["state"], change["reason"]) == (0, "previewed", "dry run")
    assert change["to"] == "L1 40 GiB"
    assert change["preview"]["loses"] == ["L0", "L1"]
    assert "LMCACHE_MAX_LOCAL_CPU_SIZE" in change["preview"]["diff"]
    assert deck.state(change["id"]) is State.CANCELLED
    assert deck.written == []
    text = tierdeck("route", "chat", "session", "--dry-run", "--reason", "just looking")
    assert text.code == 0
    assert "A dry run: nothing was written, and the change is cancelled." in text.out
    assert tierdeck("changes", "--open", "--json").document == {"changes": []}
    assert tierdeck("changes", "--limit", "1", "--json").document["changes"][0]["reason"] == "dry run: just looking"


def test_without_a_terminal_it_waits_for_somebody_to_approve_it_and_is_reverted_as_easily(deck: Deck) -> None:
    waits = tierdeck("resize", "chat", "--l1", "40Gi")
    assert waits.code == 0
    assert "◇ waits for approval" in waits.out
    assert "`tierdeck approve 1` makes it, `tierdeck cancel 1` ends it." in waits.out
    assert deck.written == []
    done = tierdeck("approve", "1", *WAIT, "--by", "grace", "--json")
    assert (done.code, done.change["state"], done.change["approved_by"]) == (0, "kept", "grace")
    back = tierdeck("revert", "1", "--yes", *WAIT, "--json")
    assert (back.code, back.change["state"], back.change["reverts"]) == (0, "kept", 1)
    assert deck.written == [("[name=LMCACHE_MAX_LOCAL_CPU_SIZE]=40",), ("[name=LMCACHE_MAX_LOCAL_CPU_SIZE]=5",)]
    assert "(reverts 1)" in tierdeck("changes").out


def test_an_approval_without_waiting_says_how_to_follow(deck: Deck) -> None:
    tierdeck("route", "chat", "session")
    done = tierdeck("approve", "1")
    assert done.code == 0
    assert "`tierdeck change 1 --wait` follows it." in done.out
    followed = tierdeck("change", "1", *WAIT, "--json")
    assert (followed.code, followed.change["state"]) == (0, "kept")
    assert tierdeck("change", "1", "--json").change["can"] == {"approve": False, "cancel": False, "revert": True}
    assert "proof: effective" in tierdeck("change", "1").out


def test_what_is_refused_says_every_reason_and_is_no(deck: Deck) -> None:
    done = tierdeck("resize", "chat", "--l1", "128Gi", "--l0", "0.99", "--yes", *WAIT, "--json")
    assert (done.code, done.change["state"], done.change["preview"]) == (1, "refused", None)
    assert [one["code"] for one in done.change["refusals"]] == ["not_allowed", "not_allowed"]
    text = tierdeck("route", "chat", "roundrobin", "--yes").out
    assert "⊘ refused" in text
    assert deck.written == []


def test_what_fails_says_why_and_what_to_do(deck: Deck) -> None:
    deck.fleet.faults.verified = [Verified(Progress.FAILED, "pod chat-0, container vllm: OOMKilled")]
    done = tierdeck("resize", "chat", "--l1", "60Gi", "--yes", *WAIT)
    assert done.code == 1
    assert "✕ failed" in done.out
    assert "pod chat-0, container vllm: OOMKilled. `tierdeck revert 1` takes it back." in done.out


def test_a_write_that_is_denied_says_what_was_written(deck: Deck) -> None:
    deck.fleet.faults.denied = {"chat-router": "policy forbids it"}
    done = tierdeck("route", "chat", "session", "--yes", *WAIT, "--json")
    assert (done.code, done.change["state"]) == (1, "failed")
    assert "policy forbids it" in done.change["words"]
    assert deck.written == []


def test_longer_than_it_may_take_is_unreachable_and_the_change_goes_on(deck: Deck) -> None:
    waiting = Verified(Progress.WAITING, "1 of 2 pods is ready")
    deck.fleet.faults.verified = [waiting] * 10
    done = tierdeck("route", "chat", "session", "--yes", "--wait", "--timeout", "2s")
    assert (done.code, done.out) == (3, "")
    assert "is still " in done.said
    assert "`tierdeck change 1 --wait` follows it" in done.said
    deck.fleet.faults.verified.clear()
    assert tierdeck("change", "1", *WAIT).code == 0


def test_somebody_else_has_to_approve_where_that_is_asked(
    stores: Sqlite | Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = stores.migrated()
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    fill_changeable(url)
    with working_controller(url, tmp_path, changes_second_person=True):
        waits = tierdeck("route", "chat", "session", "--yes", *WAIT, "--by", "ada", "--json")
        assert (waits.code, waits.change["state"]) == (1, "previewed")
        own = tierdeck("approve", "1", "--by", "ada", *WAIT, "--json")
        assert (own.code, own.change["state"]) == (1, "previewed")
        assert "somebody else has to approve it" in own.change["words"]
        assert tierdeck("approve", "1", "--by", "grace", *WAIT).code == 0


def test_a_change_is_exported_as_a_patch(deck: Deck, tmp_path: Path) -> None:
    tierdeck("route", "chat", "session")
    found = tierdeck("export-change", "1", "--json").document
    assert (found["change"], found["form"], found["written_to"]) == (1, "kustomize", None)
    assert [one["name"] for one in found["files"]] == ["kustomization.yaml", "deployment-inference-chat-router.yaml"]
    assert "value: session" in found["files"][1]["content"]
    folder = tmp_path / "patch"
    done = tierdeck("export-change", "1", "--kustomize", "--output", str(folder))
    assert done.out.startswith("Wrote kustomization.yaml, deployment-inference-chat-router.yaml to ")
    assert sorted(path.name for path in folder.iterdir()) == [
        "deployment-inference-chat-router.yaml", "kustomization.yaml",
    ]  # fmt: skip
    again = tierdeck("export-change", "1", "--output", str(folder))
    assert (again.code, "is there already" in again.said) == (2, True)
    no_chart = tierdeck("export-change", "1", "--helm")
    assert (no_chart.code, "not made by production-stack's chart" in no_chart.said) == (1, True)


def test_the_endpoints_say_whether_the_strategy_is_proved(deck: Deck) -> None:
    def proof() -> dict[str, object]:
        rows = tierdeck("endpoints", "--json").document["endpoints"]
        found: dict[str, object] = next(one["proof"] for one in rows if one["name"] == CHAT)
        return found

    assert proof() == {"proved": False, "words": "configured, not proved", "last": None}
    with Store.open(deck.url) as store:
        probe = deck.fleet.probe(CHAT, "roundrobin")
        store.save_proof(EAST, CHAT, probe)
    found = proof()
    assert found["proved"] is True
    assert str(found["words"]).startswith("proved ")
    assert "roundrobin (proved " in tierdeck("endpoints").out


def test_approved_beforehand_it_is_made_without_anybody_waiting(deck: Deck) -> None:
    deck.fleet.faults.verified = [Verified(Progress.WAITING, "1 of 2 pods is ready")] * 3
    done = tierdeck("route", "east:chat", "session", "--yes")
    assert done.code == 0
    assert "`tierdeck change 1 --wait` follows it." in done.out
    wait_until(lambda: deck.state(1) is State.KEPT, "the change to be kept")
    assert deck.written == [("[name=ROUTING_LOGIC]=session",)]
