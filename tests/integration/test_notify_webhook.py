"""Our webhook against a real receiver: once each, with a key, tried again as the receiver wants it."""

from __future__ import annotations

import base64
import time
from dataclasses import replace

import pytest

from alerting.notify.address import Address
from alerting.notify.channel import SEND_SECONDS
from alerting.notify.sender import CLAIM_SECONDS, GIVE_UP_SECONDS, Sender
from alerting.notify.webhook import Webhook
from db import Store
from tests.support.alerts import firing, resolved, silence
from tests.support.http_replies import Canned, Replies, replying
from tests.support.processes import wait_until
from tests.support.rounds import T0
from tests.support.stores import Postgres, Sqlite
from tierdeck.alerts.alert import Acknowledgement, Alert
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.saying import Audience, Now, compose, incident_key, trial_notice

HOOK = Audience("hook")
FINE = Canned()


def hook(url: str, name: str = "hook") -> Webhook:
    return Webhook(Audience(name), Address.parse(url))


def sender(store: Store, *channels: Webhook, patience_seconds: float = 60.0) -> Sender:
    return Sender(store, channels, "https://deck.example", patience_seconds=patience_seconds)


def say(store: Store, alert: Alert, at: float = T0, *audiences: Audience) -> Alert:
    """Save it with what is to be said of it."""
    said = {alert.id: store.notices(alert_id=alert.id)} if alert.id else {}
    (saved,) = store.save_alerts([alert], compose([alert], said, audiences or (HOOK,), Now(at)), at)
    return saved


def keys(server: Replies) -> list[str]:
    return [one.headers["Idempotency-Key"] for one in server.asked]


def test_a_receiver_gets_an_alert_once_and_its_end_once(store: Store) -> None:
    with replying(FINE) as server:
        alert, ours = say(store, firing()), sender(store, hook(f"{server.url}/in?a=b"))
        for now in (T0, T0 + 1):
            ours.run_once(now)
        say(store, resolved(alert, T0 + 600), T0 + 600)
        ours.run_once(T0 + 600)
        ours.close()
    first, last = server.asked
    assert (first.method, first.target) == ("POST", "/in?a=b")
    body = first.json()
    assert body["key"] == first.headers["Idempotency-Key"]
    assert body["kind"] == "firing"
    assert body["link"] == f"https://deck.example/alerts?alert={alert.id}"
    assert body["alert"]["labels"] == {
        "rule": "hit_ratio_drop",
        "severity": "warning",
        "cluster": "east",
        "endpoint": "inference/chat",
    }
    assert body["alert"]["incident"] == incident_key(alert) == last.json()["alert"]["incident"]
    assert body["alert"]["causes"][0]["replica"] == "vllm-2"
    assert (last.json()["kind"], last.json()["alert"]["state"]) == ("resolved", "resolved")
    assert last.json()["alert"]["resolved_at"].endswith("+00:00")
    assert {one.tries for one in store.notices()} == {1}
    assert all(one.sent_at for one in store.notices())


def test_several_senders_at_once_send_each_notice_once(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    with replying(FINE) as server, Store.open(url) as store:
        for number in range(30):
            store.add_notice(trial_notice("hook", T0 - number))
        crowd = [Store.open(url) for _ in range(4)]
        ours = [sender(one, hook(server.url), patience_seconds=0.0) for one in crowd]
        for one in ours:
            one.run_once(T0)
        for one in ours:
            one.close()
        for other in crowd:
            other.close()
        assert len(keys(server)) == len(set(keys(server))) == 30
        assert store.notices_waiting() == 0


def test_a_busy_receiver_is_left_alone_as_long_as_it_says(store: Store) -> None:
    with replying(Canned(429, headers={"Retry-After": "120"}), FINE) as server:
        store.add_notice(trial_notice("hook", T0))
        store.add_notice(trial_notice("hook", T0 + 1))
        ours = sender(store, hook(server.url))
        for now in (T0 + 2, T0 + 30, T0 + 100):
            ours.run_once(now)
        assert len(server.asked) == 1
        ours.run_once(T0 + 140)
        ours.close()
    assert len(server.asked) == 3
    assert store.notices_waiting() == 0


@pytest.mark.parametrize("status", [500, 502, 503, 401, 403, 404, 408])
def test_what_may_heal_is_tried_for_a_day(store: Store, status: int) -> None:
    with replying(Canned(status)) as server:
        store.add_notice(trial_notice("hook", T0))
        ours = sender(store, hook(server.url))
        ours.run_once(T0)
        (first,) = store.notices()
        assert first.trouble == f"it answered with HTTP {status}"
        assert T0 + 10 <= first.due_at <= T0 + 30
        ours.run_once(T0 + GIVE_UP_SECONDS - 1)
        ours.close()
    assert store.notices()[0].given_up_at is not None
    assert store.notices_waiting() == 0


@pytest.mark.parametrize("status", [400, 410, 413, 422, 301, 307])
def test_what_never_heals_is_given_up_with_its_reason_and_the_next_one_goes_out(store: Store, status: int) -> None:
    with replying(Canned(status, headers={"Location": "http://127.0.0.1:1/elsewhere"}), FINE) as server:
        store.add_notice(trial_notice("hook", T0))
        store.add_notice(trial_notice("hook", T0 + 1))
        ours = sender(store, hook(server.url))
        ours.run_once(T0 + 1)
        ours.close()
    newest, oldest = store.notices()
    assert oldest.given_up_at is not None
    assert oldest.trouble == f"it answered with HTTP {status}"
    assert newest.sent_at is not None


def test_pauses_grow_up_to_a_quarter_of_an_hour(store: Store) -> None:
    with replying(Canned(500)) as server:
        store.add_notice(trial_notice("hook", T0))
        ours, pauses, now = sender(store, hook(server.url)), [], T0
        for _ in range(9):
            ours.run_once(now)
            due_at = store.notices()[0].due_at
            pauses.append(due_at - now)
            now = due_at
        ours.close()
    # 10, 20, 40, 80, 160, 320, 640, 900, 900, and what the sending itself took
    assert [round(pause, -1) for pause in pauses[:4]] == [10, 20, 40, 80]
    assert all(900 <= pause < 930 for pause in pauses[7:])


def test_a_slow_channel_holds_no_other_up(store: Store) -> None:
    with replying(Canned(is_held=True)) as slow, replying(FINE) as quick:
        ours = sender(store, hook(slow.url, "slow"), hook(quick.url, "quick"), patience_seconds=0.5)
        for number in range(3):
            store.add_notice(trial_notice("slow", T0 + number))
            store.add_notice(trial_notice("quick", T0 + number))
            ours.run_once(T0 + number)
        wait_until(lambda: len(quick.asked) == 3, "the quick channel")
        assert len(slow.asked) == 1
        slow.over.set()
        ours.close()


def test_an_end_never_overtakes_its_beginning(store: Store) -> None:
    with replying(Canned(503), FINE) as server:
        alert, ours = say(store, firing()), sender(store, hook(server.url))
        ours.run_once(T0)
        say(store, resolved(alert, T0 + 1), T0 + 1)
        ours.run_once(T0 + 2)
        assert len(server.asked) == 1
        ours.run_once(T0 + 60)
        ours.close()
    assert [one.json()["kind"] for one in server.asked] == ["firing", "firing", "resolved"]
    assert keys(server)[0] == keys(server)[1]


def test_what_is_over_or_acknowledged_by_then_is_not_said_again(store: Store) -> None:
    with replying(FINE) as server:
        alert = say(store, firing())
        again = Notice("again", "hook", NoticeKind.AGAIN, alert, created_at=T0 + 1, due_at=T0 + 1)
        store.add_notice(again)
        store.acknowledge(alert.id, Acknowledgement("ada", T0 + 2))
        ours = sender(store, hook(server.url))
        ours.run_once(T0 + 3)
        ours.close()
    assert [one.json()["kind"] for one in server.asked] == ["firing"]
    assert store.notices()[0].trouble == "the alert is over or acknowledged meanwhile"


def test_what_is_silenced_or_follows_from_another_by_then_is_not_said_again(store: Store) -> None:
    follows = replace(firing(rule="tier_drop"), suppressed_by="l2_outage")
    with replying(FINE) as server:
        alerts = store.save_alerts([firing(), firing(rule="ttft_burn"), follows], [], T0)
        for one in alerts:
            store.add_notice(Notice(one.rule, "hook", NoticeKind.AGAIN, one, created_at=T0 + 1, due_at=T0 + 1))
        store.add_silence(silence(T0, 60, rule="hit_ratio_drop"))
        ours = sender(store, hook(server.url))
        ours.run_once(T0 + 3)
        ours.close()
    assert [one.json()["alert"]["labels"]["rule"] for one in server.asked] == ["ttft_burn"]
    assert {one.key: one.trouble for one in store.notices()} == {
        "hit_ratio_drop": "the alert is silenced meanwhile",
        "ttft_burn": "",
        "tier_drop": "the alert is kept quiet meanwhile",
    }


def test_user_and_password_of_the_address_are_sent_as_such(store: Store) -> None:
    with replying(FINE) as server:
        store.add_notice(trial_notice("hook", T0))
        ours = sender(store, hook(server.url.replace("//", "//ada:p%40ss@")))
        ours.run_once(T0)
        ours.close()
    assert server.asked[0].headers["Authorization"] == f"Basic {base64.b64encode(b'ada:p@ss').decode()}"


def test_what_nobody_knows_the_end_of_is_sent_again_with_its_key(store: Store) -> None:
    with replying(Canned(is_cut=True), FINE) as server:
        store.add_notice(trial_notice("hook", T0))
        ours = sender(store, hook(server.url))
        ours.run_once(T0)
        assert "ended the connection" in store.notices()[0].trouble
        ours.run_once(T0 + 60)
        ours.close()
    assert len(server.asked) == 2
    assert len(set(keys(server))) == 1


def test_a_claim_outlasts_a_sending() -> None:
    assert CLAIM_SECONDS > 2 * SEND_SECONDS


def test_names_of_any_kind_arrive_as_they_are(store: Store) -> None:
    odd = 'a"b\\c\nd<!channel>\u202e@everyone é 漢'
    alert = replace(firing(), subject=replace(firing().subject, endpoint=odd))
    with replying(FINE) as server:
        say(store, alert)
        ours = sender(store, hook(server.url))
        ours.run_once(T0)
        ours.close()
    body = server.asked[0].json()
    assert body["alert"]["labels"]["endpoint"] == odd
    assert "\n" not in body["subject"]


def test_nothing_listens_there_is_said_at_once(store: Store) -> None:
    with replying(FINE) as server:
        url = server.url
    store.add_notice(trial_notice("hook", T0))
    ours, began = sender(store, hook(url)), time.monotonic()
    ours.run_once(T0)
    ours.close()
    assert time.monotonic() - began < SEND_SECONDS
    assert store.notices()[0].trouble == "nothing listens there"
