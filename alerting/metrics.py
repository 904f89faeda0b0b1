"""Alerting's own metrics, for whoever watches the watcher."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

NOTICES = Counter(
    "tierdeck_alerting_notices_total", "Sendings by kind of channel and outcome (sent, failed, given_up).",
    ["kind", "outcome"],
)  # fmt: skip
NOTICES_WAITING = Gauge("tierdeck_alerting_notices_waiting", "Notices in the outbox, neither sent nor given up.")
HEARTBEATS = Counter("tierdeck_alerting_heartbeats_total", "Heartbeats by outcome (sent, failed).", ["outcome"])
LAST_EVALUATION = Gauge(
    "tierdeck_alerting_last_evaluation_timestamp_seconds", "When the rules of a cluster were last judged; 0: not yet.",
    ["cluster"],
)  # fmt: skip
FIRING = Gauge("tierdeck_alerting_firing", "Alerts of a cluster that fire, suppressed ones included.", ["cluster"])
