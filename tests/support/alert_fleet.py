"""A store with alerts as an on-call engineer meets them: firing, acknowledged, pending, kept quiet, over; made through
the store's own face.
"""

from __future__ import annotations

from dataclasses import dataclass

from db import JUDGING, Store
from tests.support.console_store import CLUSTER, Habit, Made, fill
from tierdeck.alerts.alert import Acknowledgement, Alert, AlertState, FoundCause, Subject
from tierdeck.alerts.limits import AlertLimits
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.rules import BY_NAME
from tierdeck.alerts.silence import Silence
from tierdeck.deployed import Sighting
from tierdeck.events import Event, EventKind

CHAT, RAG, BATCH = "chat-70b", "rag-32b", "batch-7b"
ONSET_SECONDS = 1620.0
"""How long ago chat's hit ratio dropped."""


@dataclass(frozen=True, slots=True)
class Seeded:
    """Numbers of what a test wants to name."""

    drop: int
    deferred: int
    pending: int
    inhibited: int
    over: int
    silence: int


def seed(url: str, now: float, *, seconds: float = 7200.0, is_alive: bool = True) -> Seeded:
    """Fill an empty place with three endpoints and everything that alerting can have to say."""
    onset = now - ONSET_SECONDS
    chat = [Habit(), Habit(), Habit(restarts_at=onset, drops_at=onset, dropped=0.15)]
    made = [
        Made(CHAT, [*chat[:2], chat[2]]),
        Made(RAG, [Habit(l0=0.25, l1=0.3, ttft=0.5), Habit(ttft=0.6)], model="Qwen2.5-32B", strategy="kvaware"),
        Made(BATCH, [Habit(l0=0.3, l1=0, l2=0, ttft=2.0), Habit(silent_after=now - 300)], model="Qwen2-7B",
             strategy="roundrobin"),
    ]  # fmt: skip
    fill(url, made, now - seconds, now, step=30.0)
    with Store.open(url) as store:
        if is_alive:
            store.beat("alerting", "host-1:77", "0.1.0", now - seconds, now)
            store.hold_lease(f"{JUDGING}{CLUSTER}", "host-1:77", now, 86400.0)
            store.declare_limits(CLUSTER, AlertLimits())
        store.sight(Sighting(CLUSTER, now - 5, (), (), ()), lambda *_: _events(onset))
        drop, deferred, quiet, pending, batch, over, _ = store.save_alerts(_alerts(now), (), now)
        store.acknowledge(deferred.id, Acknowledgement("ada", now - 100, "restarting its cache server"))
        silence = store.add_silence(
            Silence({"cluster": CLUSTER, "endpoint": BATCH, "rule": batch.rule}, now - 3600, now + 4 * 3600,
                    "nightly job has new prompts", "grace")
        )  # fmt: skip
        window = Silence({"cluster": CLUSTER, "endpoint": RAG}, now + 7200, now + 10800, "new drives", "ada",
                         is_maintenance=True)  # fmt: skip
        store.add_silence(window)
        store.declare_channels(CLUSTER, [("on-call", "pagerduty"), ("ops", "slack")])
        _say(store, drop, now)
    return Seeded(drop.id, deferred.id, pending.id, quiet.id, over.id, silence.id)


def _alerts(now: float) -> list[Alert]:
    onset = now - ONSET_SECONDS
    causes = (
        FoundCause("restart", "chat-70b-2 restarted, and its L0 and L1 are cold",
                   "hit ratio of chat-70b-2 80 % → 12 %, the others as before", points=-22.4, replica="chat-70b-2",
                   at=onset),
        FoundCause("mix", "Prompts got longer", "1,840 → 2,210 tokens a request", points=-1.2),
    )  # fmt: skip
    return [
        _alert("hit_ratio_drop", CHAT, onset + 60, onset + 300, value=0.57, expected=0.81, depth=24.0,
               words="The hit ratio of chat-70b is 57 %, and 81 % is usual at this time of day.", causes=causes,
               evidence={"15 minutes": "57 % (robust z −9.1)", "5 minutes": "56 %", "requests": "27 k in 15 minutes"}),
        _alert("requests_deferred", RAG, now - 300, now - 240, value=14.0, expected=0.0, depth=14.0,
               words="14 requests of rag-32b wait for the cache server of rag-32b-0."),
        _alert("tier_drop", CHAT, onset + 60, onset + 700, part="L1", value=0.14, expected=0.2, depth=6.0,
               words="L1 serves 14 % of the prompt tokens of chat-70b, and 20 % is usual.", quiet="hit_ratio_drop"),
        _alert("ttft_burn", BATCH, now - 90, None, value=9.0, expected=1.0, depth=9.0,
               words="The error budget of batch-7b is spent 9 times too fast."),
        _alert("hit_ratio_drift", BATCH, now - 3000, now - 3000, value=0.3, expected=0.38, depth=8.0,
               words="The hit ratio of batch-7b sank by 8 points over 5 hours."),
        _alert("hit_ratio_drop", RAG, now - 6300, now - 6060, now - 3900, value=0.61, expected=0.74, depth=13.0,
               words="The hit ratio of rag-32b was 61 %, and 74 % is usual.",
               causes=(FoundCause("routing", "Routing changed to roundrobin", "event of 07:12", points=-11.0),)),
        _alert("deck_stale", "", now - 40000, now - 40000, now - 39000, value=420.0, expected=300.0,
               words="No new figures came for 7 minutes."),
    ]  # fmt: skip


def _alert(
    rule: str,
    endpoint: str,
    pending_at: float,
    fired_at: float | None,
    resolved_at: float | None = None,
    *,
    part: str = "",
    quiet: str = "",
    value: float,
    expected: float,
    words: str,
    depth: float | None = None,
    causes: tuple[FoundCause, ...] = (),
    evidence: dict[str, str] | None = None,
) -> Alert:
    state = AlertState.PENDING if fired_at is None else AlertState.FIRING
    return Alert(
        rule, Subject(CLUSTER, endpoint, part), state if resolved_at is None else AlertState.RESOLVED,
        BY_NAME[rule].severity, pending_at, fired_at, resolved_at, value, expected, depth, words, evidence or {},
        causes, suppressed_by=quiet,
    )  # fmt: skip


def _events(onset: float) -> list[Event]:
    return [
        Event(CLUSTER, CHAT, "chat-70b-2", onset, EventKind.OOM, "Pod chat-70b-2",
              "chat-70b-2: vllm ran out of memory and restarted", "oom-1"),
        Event(CLUSTER, RAG, "", onset - 1500, EventKind.ROUTING_CHANGED, "Deployment rag-32b",
              "routing roundrobin → kvaware, by argocd-controller", "routing-1"),
    ]  # fmt: skip


def _say(store: Store, drop: Alert, now: float) -> None:
    """One message arrived, another did not."""
    fired = drop.fired_at or now
    for channel in ("on-call", "ops"):
        store.add_notice(Notice(f"{channel}:{drop.id}", channel, NoticeKind.FIRING, drop, fired, fired))
    for _ in range(2):
        taken = store.take_notice(now, ["on-call", "ops"], 60.0)
        assert taken is not None
        if taken.channel == "on-call":
            store.notice_sent(taken.id, fired + 2)
        else:
            store.notice_failed(taken.id, now, "hooks.slack.test: 503 Service Unavailable", now + 60)
