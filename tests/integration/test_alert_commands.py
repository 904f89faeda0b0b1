"""The commands about alerts on a real store: what they print, what they change, what they refuse."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from console.cli.app import app
from db import Store
from tests.support.alert_fleet import BATCH, CHAT, RAG, Seeded, seed
from tests.support.console_store import CLUSTER
from tierdeck.errors import UsageError

ALERT_KEYS = {
    "id", "rule", "title", "severity", "state", "cluster", "endpoint", "part", "pending_at", "fired_at", "resolved_at",
    "unit", "value", "expected", "depth", "words", "evidence", "causes", "suppressed_by", "quiet_because",
    "acknowledged",
}  # fmt: skip


@pytest.fixture
def seeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seeded:
    monkeypatch.setenv("TIERDECK_DATABASE_URL", f"sqlite:///{tmp_path}/tierdeck.db")
    return seed(f"sqlite:///{tmp_path}/tierdeck.db", time.time(), seconds=2400)


def run(*args: str) -> str:
    """What a command prints.

    Raises:
        TierdeckError: as the command's own `main` turns into a line and an exit code.
    """
    done = CliRunner().invoke(app, list(args), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def document(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*args, "--json"))
    return found


def test_alerts_are_those_that_fire_and_all_are_all(seeded: Seeded) -> None:
    shown = document("alerts")["alerts"]
    assert [one["id"] for one in shown] == [seeded.drop, seeded.deferred]  # the acknowledged one comes last
    assert set(shown[0]) == ALERT_KEYS
    everything = {one["id"]: one for one in document("alerts", "--all")["alerts"]}
    assert everything[seeded.inhibited]["quiet_because"].startswith("it follows from")
    assert everything[seeded.over]["state"] == "resolved"
    assert [one["endpoint"] for one in document("alerts", "--all", "--endpoint", RAG)["alerts"]] == [RAG, RAG]
    assert seeded.over not in [one["id"] for one in document("alerts", "--since", "5m")["alerts"]]
    text = run("alerts")
    assert "▲ warning" in text
    assert "acknowledged by ada" in text


def test_one_alert_tells_everything(seeded: Seeded) -> None:
    one = document("alert", str(seeded.drop))
    assert set(one) == ALERT_KEYS | {"meaning", "advice", "steps", "notices"}
    assert [cause["points"] for cause in one["causes"]] == [-22.4, -1.2]
    assert {notice["channel"] for notice in one["notices"]} == {"on-call", "ops"}
    text = run("alert", str(seeded.drop))
    assert "−22 points: chat-70b-2 restarted" in text
    assert "1. Begin with the first cause" in text


def test_an_alert_that_is_not_there_is_wrong_usage(seeded: Seeded) -> None:
    for args in (("alert", "999"), ("ack", "999"), ("silence", "end", "999"), ("ack", str(seeded.over))):
        with pytest.raises(UsageError) as caught:
            run(*args)
        assert "\n" not in caught.value.line()


def test_acknowledging_says_who_and_leaves_an_audit_row(seeded: Seeded) -> None:
    done = document("ack", str(seeded.drop), "--by", "grace", "--note", "draining it")
    assert (done["acknowledged"]["by"], done["acknowledged"]["note"]) == ("grace", "draining it")
    assert "acknowledged by grace" in run("alerts")


def test_without_a_name_the_one_who_is_logged_in_does_it(seeded: Seeded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "marie")
    assert document("ack", str(seeded.drop))["acknowledged"]["by"] == "marie"


def test_a_silence_is_added_listed_and_ended(seeded: Seeded) -> None:
    made = document("silence", "add", "--matcher", f"endpoint={CHAT}", "--for", "2h", "--why", "drives", "--by", "ada")
    assert made["matchers"] == {"endpoint": CHAT}
    assert [one["id"] for one in document("alerts")["alerts"]] == [seeded.deferred]
    assert made["id"] in [one["id"] for one in document("silence", "list")["silences"]]
    assert "ended" in run("silence", "end", str(made["id"]), "--by", "ada")
    assert seeded.drop in [one["id"] for one in document("alerts")["alerts"]]


@pytest.mark.parametrize(
    ("matcher", "said"),
    [
        ("chat", "is not a matcher"),
        ("endpoint=", "is not a matcher"),
        ("model=llama", "alerts have no label 'model'"),
        ("endpoint=nobody", "there is no endpoint 'nobody'"),
        ("rule=everything", "there is no rule 'everything'"),
        ("severity=bad", "there is no severity 'bad'"),
    ],
)
def test_a_matcher_that_matches_nothing_is_refused(seeded: Seeded, matcher: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run("silence", "add", "--matcher", matcher, "--why", "x")


def test_a_silence_needs_a_reason(seeded: Seeded) -> None:
    with pytest.raises(UsageError, match="no reason is given"):
        run("silence", "add", "--matcher", f"endpoint={CHAT}", "--why", "  ")


def test_maintenance_is_one_act_silence_freeze_and_mark(seeded: Seeded) -> None:
    made = document("maintenance", "start", CHAT, "--for", "2h", "--why", "drives", "--by", "ada")
    assert made["maintenance"]
    with Store.open(_url()) as store:
        frozen = store.frozen(CLUSTER, CHAT, time.time())
    assert frozen is not None
    assert frozen.why == "drives"
    assert seeded.drop not in [one["id"] for one in document("alerts")["alerts"]]
    with pytest.raises(UsageError, match="under maintenance already, by ada: drives"):
        run("maintenance", "start", CHAT, "--why", "again")
    assert [one["id"] for one in document("maintenance", "end", CHAT)["ended"]] == [made["id"]]
    with pytest.raises(UsageError, match="is not under maintenance"):
        run("maintenance", "end", CHAT)


def test_rules_tell_whether_they_are_judged(seeded: Seeded) -> None:
    rules = {one["name"]: one for one in document("rules")["rules"]}
    assert rules["hit_ratio_drop"]["judged"]
    assert not rules["pool_filling"]["judged"]
    assert "No pool tells how full it is." in run("rules")


def test_the_handover_has_every_section(seeded: Seeded) -> None:
    told = document("handover", "--since", "8h")
    assert seeded.drop in [one["id"] for one in told["firing"]]
    assert seeded.over in [one["id"] for one in told["resolved"]]
    assert [one["id"] for one in told["silences_ending"]] == [seeded.silence]
    assert [one["kind"] for one in told["events"]] == ["oom", "routing_changed"]
    text = run("handover")
    assert text.startswith("# Handover, ")
    assert BATCH in text


def test_that_nobody_judges_is_said_above_the_alerts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERDECK_DATABASE_URL", f"sqlite:///{tmp_path}/tierdeck.db")
    seed(_url(), time.time(), seconds=300, is_alive=False)
    assert run("alerts").startswith("Nothing is judged, and nobody is told of anything")


def _url() -> str:
    from tierdeck.settings import load_settings  # noqa: PLC0415  # the variable is set by then

    return load_settings().store_url
