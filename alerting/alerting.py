"""The process: judges each minute as it is rolled up, writes what changed, and has it said."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import structlog

from alerting import metrics
from alerting.circumstances import circumstances
from alerting.judge import MINUTE, Judge, wants_causes
from alerting.learning import learn, lost_workers
from alerting.notify.configured import Configured
from alerting.notify.notifier import Notifier
from db import JUDGING, Store
from health.pulse import Pulse
from tierdeck.alerts.alert import Alert, Subject
from tierdeck.alerts.cause import LOSSES
from tierdeck.alerts.causes import find_causes
from tierdeck.alerts.causes.unknown import Unknown
from tierdeck.alerts.conditions.cost import L2Costs
from tierdeck.alerts.conditions.l2 import L2Outage
from tierdeck.alerts.conditions.pool import PoolFilling
from tierdeck.alerts.conditions.requests import RequestsDeferred, RequestsFailing
from tierdeck.alerts.conditions.silent import NoData
from tierdeck.alerts.conditions.ttft import TtftBurn
from tierdeck.alerts.hit_ratio import HitRatioDetector
from tierdeck.alerts.hit_ratio_limits import HitRatioLimits
from tierdeck.alerts.judgement import LATE_SECONDS, Detector, Judgement
from tierdeck.alerts.life import LIMITS
from tierdeck.alerts.limits import AlertLimits
from tierdeck.alerts.minute import Scene
from tierdeck.alerts.probes import without_probes
from tierdeck.alerts.rules import DECK_STALE
from tierdeck.errors import TierdeckError
from tierdeck.settings import Settings
from tierdeck.units import format_seconds

log = structlog.get_logger()

_NAME = "alerting"
_TICK_SECONDS = 1.0
_STOP_SECONDS = 5.0
_BEAT_SECONDS = 10.0
_LEASE_SECONDS = 45.0
_REPLAYED_SECONDS = 6 * 3600.0
"""What was judged before is looked at again at a start, so that the longest windows are filled; nothing is said."""
_BEHIND_SECONDS = 1800.0
"""Further behind, minutes are left out: an alert about the past helps nobody."""
_STALE_SECONDS = 300.0
_LOOK_SECONDS = 15.0
_SETTLED_SECONDS = 20.0
"""After a minute's end until its rounds are in the store and rolled up."""


@dataclass(frozen=True, slots=True)
class Told:
    """What files and addresses of the settings say, read once at the start."""

    limits: AlertLimits = field(default_factory=AlertLimits)
    ways: Configured = field(default_factory=Configured)


class Alerting:
    """One alerting process of one cluster; several of a cluster take turns by a lease."""

    def __init__(self, settings: Settings, store: Store, told: Told, version: str, pulse: Pulse) -> None:
        self._settings = settings
        self._store = store
        self._limits = told.limits
        self._notifier = Notifier(
            store, told.ways, settings.console_url, settings.renotify_seconds, settings.cluster, settings.docs_url
        )
        self._version = version
        self._pulse = pulse
        self._judge: Judge | None = None
        self._ratios: HitRatioDetector | None = None
        self._next_at: float | None = None
        self._judged_at: float | None = None
        self._has_replicas = False
        self._accepted: dict[int, float] = {}
        self._looks_at = 0.0
        self._stayed_at = 0.0
        self._trouble = ""
        self._started_at = time.time()
        self._instance = f"{socket.gethostname()}:{os.getpid()}"
        self._lease = f"{JUDGING}{settings.cluster}"
        store.declare_limits(settings.cluster, told.limits)
        metrics.LAST_EVALUATION.labels(settings.cluster)

    @property
    def trouble(self) -> str:
        """What keeps it from judging; empty: nothing."""
        return self._trouble

    def run(self, stop: threading.Event) -> None:
        """Judge until told to stop; then sign off."""
        threads = [
            threading.Thread(target=loop, args=(stop,), name=name, daemon=True)
            for name, loop in (("beat", self._beats), ("say", self._says))
        ]
        for thread in threads:
            thread.start()
        while not stop.is_set():
            self._pulse.beat(_NAME)
            self.tick(time.time())
            stop.wait(_TICK_SECONDS)
        for thread in threads:
            thread.join(timeout=_STOP_SECONDS)
        self._notifier.close()
        with contextlib.suppress(TierdeckError):
            self._store.drop_lease(self._lease, self._instance)
            self._store.sign_off(_NAME, self._instance, time.time())

    def tick(self, now: float) -> None:
        """Judge what has come in since the last time; a failure is said, and tried again at the next."""
        try:
            if self._store.hold_lease(self._lease, self._instance, now, _LEASE_SECONDS):
                self._judge_until(now)
            else:
                self._judge = None  # another one judges: what it does can't be known here
        except TierdeckError as error:
            self._judge = None  # it may have seen a minute whose outcome was not written: begin anew from the store
            self._say(error.line())
        except Exception as error:  # a fault of ours must not end alerting for all: told as trouble, with its traceback
            log.exception("judging_failed")
            self._trouble = f"a fault of Tierdeck's own, alerts may be missing: {error!r}"
            self._judge = None
        else:
            self._trouble = ""

    def _judge_until(self, now: float) -> None:
        judge = self._judge or self._begin(now)
        rolled = self._store.rolled_up_to()
        self._tell_staleness(judge, rolled, now)
        if rolled is None:
            return
        if self._next_at is None or now - self._next_at > _BEHIND_SECONDS:
            newest = (min(rolled, now) - _SETTLED_SECONDS) // MINUTE * MINUTE - MINUTE
            self._next_at = max(self._next_at or 0.0, newest)  # no minute twice
        while self._next_at + MINUTE + _SETTLED_SECONDS <= min(rolled, now):
            self._note_gap(now)
            self._heed(judge)
            end_at = self._next_at + MINUTE
            scene = self._scene(self._next_at)
            self._has_replicas = any(minute.replicas for minute in scene.minutes.values())
            self._write(judge, judge.step(scene), end_at, said_at=now, judged=self._settings.cluster)
            metrics.LAST_EVALUATION.labels(self._settings.cluster).set(end_at)
            self._next_at += MINUTE

    def _note_gap(self, now: float) -> None:
        """Judging goes on after a time in which nobody did; minutes that are judged now are judged late."""
        if self._judged_at is not None and now - self._judged_at > LATE_SECONDS:
            self._store.note_unjudged(self._settings.cluster, self._judged_at, now)
        self._judged_at = now

    def _begin(self, now: float) -> Judge:
        """With what the store remembers: what is usual, the last hour, and the alerts that are open."""
        cluster, limits = self._settings.cluster, self._limits
        ratios = HitRatioDetector(lambda subject: HitRatioLimits(floor=limits.floor(subject)))
        judged_up_to = self._store.judged_up_to(cluster)
        next_at = judged_up_to if judged_up_to is not None and now - judged_up_to <= _BEHIND_SECONDS else None
        until = next_at if next_at is not None else (now - _SETTLED_SECONDS) // MINUTE * MINUTE - MINUTE
        replayed = until - _REPLAYED_SECONDS
        learn(self._store, ratios, cluster, replayed, lambda: self._stay(now))
        l2 = L2Outage()
        l2.learn(lost_workers(self._store, cluster, until))
        detectors: list[Detector] = [
            ratios,
            TtftBurn(limits.objective),
            l2,
            RequestsFailing(),
            RequestsDeferred(),
            PoolFilling(),
            L2Costs(),
            NoData(),
        ]
        lately = self._store.alerts(until - LIMITS.flap_seconds, now, cluster)
        judge = Judge(detectors, [*lately, *self._store.open_alerts(cluster)], limits.is_on)
        at = replayed
        while at < until:
            self._stay(now)
            scene = self._scene(at)
            self._has_replicas = any(minute.replicas for minute in scene.minutes.values())
            judge.remember(scene)
            at += MINUTE
        self._judge, self._ratios, self._next_at = judge, ratios, until
        self._accepted = {}
        self._judged_at = max(self._judged_at or 0.0, judged_up_to or 0.0) or None
        log.info("alerting_began", judged_up_to=judged_up_to, open=len(judge.lives.open))
        return judge

    def _heed(self, judge: Judge) -> None:
        """What people did about alerts meanwhile."""
        alerts = self._store.open_alerts(self._settings.cluster)
        judge.keep(alerts)
        for alert in alerts:
            at, seen = alert.usual_from, self._accepted.get(alert.id)
            if at is not None and at != seen and alert.rule in LOSSES and self._ratios is not None:
                self._ratios.accept(alert.subject, at)
                self._accepted[alert.id] = at

    def _write(self, judge: Judge, changed: Sequence[Alert], now: float, *, said_at: float, judged: str = "") -> None:
        """With causes, and with what is to be said, in one transaction.

        Args:
            said_at: the present, by which silences count; the minute that is judged ended before it.
            judged: the cluster of which a minute was judged up to `now`.
        """
        explained = [self._explained(alert, now) for alert in changed]
        current = {alert.key: alert for alert in (*judge.lives.open, *explained)}
        notices = self._notifier.compose(current.values(), said_at)
        judge.keep(self._store.save_alerts(explained, notices, now, judged=judged))
        metrics.FIRING.labels(self._settings.cluster).set(len(judge.lives.firing))

    def _explained(self, alert: Alert, now: float) -> Alert:
        if not wants_causes(alert, now):
            return alert
        try:
            found = find_causes(circumstances(self._store, alert, now, self._settings.stale_after_seconds))
        except TierdeckError:
            raise
        except Exception:  # an alert without its causes is better than none
            log.exception("causes_not_found", rule=alert.rule, endpoint=alert.subject.endpoint)
            return alert
        # what was established while it could be seen is not taken back for not being seen any more
        is_better = any(cause.name != Unknown.name for cause in found) or not alert.causes
        return replace(alert, causes=found) if is_better else alert

    def _tell_staleness(self, judge: Judge, rolled: float | None, now: float) -> None:
        """Tierdeck's own: figures that no longer come in. Before the first ones there is nothing to miss.

        The roll-up is every collector's, the newest round this cluster's; without replicas there are no rounds.
        """
        if rolled is None or now < self._looks_at:
            return
        self._looks_at = now + _LOOK_SECONDS
        newest = self._store.last_at(self._settings.cluster) if self._has_replicas else None
        age = max(0.0, now - (rolled if newest is None else min(rolled, newest)))
        judgement = Judgement(
            DECK_STALE.name,
            Subject(self._settings.cluster, ""),
            age > _STALE_SECONDS,
            is_clear=age < _STALE_SECONDS / 2,
            value=age,
            expected=0.0,
            depth=age,
            words=f"The newest figures in the store are {format_seconds(age)} old.",
        )
        changed = judge.tell(judgement, now)
        if changed:
            self._write(judge, changed, now, said_at=now)

    def _stay(self, began_at: float) -> None:
        """While a long start goes on: it is alive, and nobody else is to begin as well."""
        now = time.time()
        self._pulse.beat(_NAME)
        if now - began_at < _LEASE_SECONDS / 3 or now - self._stayed_at < _LEASE_SECONDS / 3:
            return  # also where time is a test's own
        self._stayed_at = now
        self._store.hold_lease(self._lease, self._instance, now, _LEASE_SECONDS)

    def _scene(self, at: float) -> Scene:
        stale = self._settings.stale_after_seconds
        scene = self._store.scene(at, self._settings.cluster, stale_after_seconds=stale)
        scene = without_probes(scene, self._store.proofs(at - MINUTE, at + MINUTE))
        for subject, minute in scene.minutes.items():
            if minute.is_restated:
                self._store.note_restated(subject.cluster, subject.endpoint, at)
        return scene

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.warning("judging_failed", reason=trouble)
        self._trouble = trouble

    def _says(self, stop: threading.Event) -> None:
        """Apart from judging: a channel that is slow holds up no rule."""
        while not stop.is_set():
            self._pulse.beat("say")
            try:
                self._notifier.run_once(time.time(), judged_at=self._store.judged_up_to(self._settings.cluster))
            except TierdeckError as error:
                log.warning("saying_failed", reason=error.line())
            except Exception as error:  # the next round tries again; what was not said is still in the outbox
                log.exception("saying_failed")
                self._pulse.tell("say", type(error).__name__)
            else:
                self._pulse.tell("say", self._notifier.trouble())
            stop.wait(_TICK_SECONDS)

    def _beats(self, stop: threading.Event) -> None:
        while not stop.is_set():
            now = time.time()
            self._pulse.beat("beat")
            trouble = "; ".join(filter(None, (self._trouble, self._notifier.trouble())))
            try:
                self._store.beat(_NAME, self._instance, self._version, self._started_at, now, trouble=trouble)
            except TierdeckError as error:
                log.warning("beat_failed", reason=error.line())
            except Exception as error:  # a thread that ends here would show a live process as dead
                log.exception("beat_failed")
                self._pulse.tell("beat", type(error).__name__)
            else:
                self._pulse.tell("beat", "")
            stop.wait(_BEAT_SECONDS)
