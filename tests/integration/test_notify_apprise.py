"""Slack, PagerDuty and e-mail through apprise, each heard by a receiver of ours: what arrives, and what is a repeat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from alerting.notify.channel import UndeliveredError
from alerting.notify.through_apprise import ThroughApprise, harmless
from tests.support.alerts import firing, resolved
from tests.support.certificates import make_certificates
from tests.support.http_replies import Canned
from tests.support.https_elsewhere import Elsewhere, answering_elsewhere
from tests.support.mail import running_mail_server
from tests.support.rounds import T0
from tierdeck.alerts.alert import Alert, Severity
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.saying import Audience, incident_key, trial_notice
from tierdeck.alerts.wording import word

CONSOLE = "https://deck.example"
SLACK = "https://hooks.slack.com/services/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"
PAGERDUTY = "pagerduty://CANARYrouting@CANARYkey"
ALERT = replace(firing(), id=7, severity=Severity.CRITICAL)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(
        tmp_path_factory.mktemp("certificates"), server="DNS:hooks.slack.com,DNS:events.pagerduty.com"
    )


@pytest.fixture
def lead_to(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> LeadTo:
    return LeadTo(certificates, monkeypatch)


class LeadTo:
    """All HTTPS of this process goes to a server of ours."""

    def __init__(self, certificates: Path, environment: pytest.MonkeyPatch) -> None:
        self._certificates, self._environment = certificates, environment

    def __call__(self, server: Elsewhere) -> None:
        self._environment.setenv("HTTPS_PROXY", server.url)
        self._environment.setenv("REQUESTS_CA_BUNDLE", str(self._certificates / "ca.pem"))
        self._environment.delenv("NO_PROXY", raising=False)
        self._environment.delenv("no_proxy", raising=False)


def send(url: str, alert: Alert, kind: NoticeKind = NoticeKind.FIRING) -> None:
    notice = Notice("k", "way", kind, alert, created_at=T0, due_at=T0)
    ThroughApprise.parse(Audience("way"), url).send(notice, word(notice, CONSOLE))


def trouble(url: str) -> UndeliveredError:
    with pytest.raises(UndeliveredError) as caught:
        send(url, ALERT)
    assert "CANARY" not in repr(caught.value.trouble)
    return caught.value


def test_slack_gets_a_title_and_a_text(certificates: Path, lead_to: LeadTo) -> None:
    odd = replace(ALERT, subject=replace(ALERT.subject, endpoint="<!channel> @here *x*"))
    with answering_elsewhere(certificates, Canned(200, "ok")) as server:
        lead_to(server)
        send(SLACK, odd)
    assert server.hosts == ["hooks.slack.com:443"]
    assert server.asked[0].target == "/services/T0CANARY0/B0CANARY0/CANARYcanaryCANARYcanary"
    body = server.asked[0].body.decode()
    assert "[CRITICAL] The hit ratio dropped" in body
    assert f"{CONSOLE}/alerts?alert=7" in body
    assert "<!channel>" not in body
    assert "@here" not in body


def test_pagerduty_makes_one_incident_of_what_is_said_of_one_alert(certificates: Path, lead_to: LeadTo) -> None:
    with answering_elsewhere(certificates, Canned(202, '{"status": "success"}')) as server:
        lead_to(server)
        send(PAGERDUTY, ALERT)
        send(PAGERDUTY, ALERT, NoticeKind.AGAIN)
        send(PAGERDUTY, resolved(ALERT, T0 + 60), NoticeKind.RESOLVED)
    assert set(server.hosts) == {"events.pagerduty.com:443"}
    first, again, last = (asked.json() for asked in server.asked)
    assert (first["event_action"], again["event_action"], last["event_action"]) == ("trigger", "trigger", "resolve")
    assert {one["dedup_key"] for one in (first, again, last)} == {incident_key(ALERT)}
    assert first["routing_key"] == "CANARYrouting"
    assert first["links"] == [{"href": f"{CONSOLE}/alerts?alert=7"}]
    payload = first["payload"]
    assert payload["severity"] == "critical"
    assert payload["summary"] == "[CRITICAL] The hit ratio dropped: inference/chat (east)"
    assert (payload["source"], payload["group"], payload["class"]) == ("inference/chat", "east", "hit_ratio_drop")
    assert "vllm-2 restarted" in payload["custom_details"]["text"]


@pytest.mark.parametrize(("status", "may_heal"), [(429, True), (500, True), (404, True), (410, False), (400, False)])
def test_a_refusal_is_told_by_its_status_alone(
    certificates: Path, lead_to: LeadTo, status: int, may_heal: bool
) -> None:
    with answering_elsewhere(certificates, Canned(status, "no CANARY")) as server:
        lead_to(server)
        found = trouble(SLACK).trouble
    assert found.words == f"it answered with HTTP {status}"
    assert found.may_heal is may_heal


def test_a_redirect_is_not_followed(certificates: Path, lead_to: LeadTo) -> None:
    moved = Canned(307, headers={"Location": "https://hooks.slack.com/elsewhere"})
    with answering_elsewhere(certificates, moved) as server:
        lead_to(server)
        assert not trouble(SLACK).trouble.may_heal
    assert len(server.asked) == 1


def test_what_can_not_be_reached_may_have_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    found = trouble(SLACK).trouble
    assert found.may_heal
    assert found.is_unsure


def test_a_mail_has_its_subject_on_one_line_and_says_what_to_do() -> None:
    odd = replace(ALERT, subject=replace(ALERT.subject, endpoint="chat\r\nBcc: eve@evil.example"))
    with running_mail_server() as server:
        to = f"mailto://127.0.0.1:{server.port}?from=deck@deck.example&to=oncall@team.example&mode=insecure"
        send(to, odd)
        send(to, ALERT, NoticeKind.AGAIN)
    first, again = server.messages
    assert first["Subject"] == "[CRITICAL] The hit ratio dropped: chat Bcc: eve@\u200bevil.example (east)"
    assert first["Bcc"] is None
    assert first["To"].addresses[0].addr_spec == "oncall@team.example"
    part = first.get_body(("plain", "html"))
    assert part is not None
    text = part.get_content()
    assert "What to do first" in text
    assert "vllm-2 restarted" in text
    assert again["Subject"].startswith("Still firing: [CRITICAL]")


def test_a_mail_server_that_refuses_is_tried_again() -> None:
    with running_mail_server("451 CANARY not now") as server:
        found = trouble(f"mailto://127.0.0.1:{server.port}?from=a@deck.example&to=b@team.example&mode=insecure")
    assert found.trouble.may_heal


def test_only_pagerduty_knows_a_repeat() -> None:
    assert ThroughApprise.parse(Audience("way"), PAGERDUTY).can_confirm
    slack = ThroughApprise.parse(Audience("way"), SLACK)
    assert (slack.kind, slack.can_confirm) == ("slack", False)


@pytest.mark.parametrize("url", ["CANARY", "nowhere://CANARY", "https://CANARY.example/x", "slack://CANARY", ""])
def test_an_address_that_apprise_does_not_know_is_refused_unseen(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="apprise knows no such address") as caught:
        ThroughApprise.parse(Audience("way"), url)
    assert "CANARY" not in f"{caught.value!r} {capfd.readouterr()}"


def test_a_trial_is_sent_too(certificates: Path, lead_to: LeadTo) -> None:
    with answering_elsewhere(certificates, Canned(202, "{}")) as server:
        lead_to(server)
        notice = trial_notice("way", T0)
        ThroughApprise.parse(Audience("way"), PAGERDUTY).send(notice, word(notice))
    assert server.asked[0].json()["payload"]["severity"] == "info"


def test_what_chats_take_for_calls_is_broken_up() -> None:
    assert harmless("@here a@b <!channel> 1 < 2 @ x") == "@\u200bhere a@\u200bb <\u200b!channel> 1 < 2 @ x"
