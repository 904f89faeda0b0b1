"""Rules on Tierdeck's own processes, and the alert that always fires: who watches the watcher."""

from __future__ import annotations

from alerting.export.alerts import Alerting
from alerting.export.options import Windows
from alerting.export.promql import window
from tierdeck.alerts.alert import Severity
from tierdeck.alerts.rule import Rule
from tierdeck.alerts.rules import DECK_STALE

LAST_SEEN = {
    "collectors": "tierdeck_collectors_last_write_timestamp_seconds",
    "alerting": "tierdeck_alerting_last_evaluation_timestamp_seconds",
}
"""Gauges by process: when it last did its work; 0 until it first did."""
DROPPED = "tierdeck_collectors_rounds_dropped_total"
_REMEMBERED_SECONDS = 86_400.0

WATCHDOG = Rule(
    name="watchdog",
    title="Alerts arrive",
    severity=Severity.INFO,
    meaning="Always fires. Where it stops, Prometheus, Alertmanager or the way between them is broken: route it to "
    "something that tells when nothing comes.",
    advice=("Look at Prometheus and at Alertmanager: one of them is down, or doesn't reach the other.",),
    unit="",
    hold_seconds=0,
    clear_seconds=0,
)


def _about(process: str, sign: str) -> dict[str, str]:
    return {"part": process, "sign": sign}


def own_alerts(windows: Windows) -> list[Alerting]:
    """For each process: its last work is too old, or it is gone; rounds that were dropped; the watchdog.

    Of several clusters each for itself: the alerting process has the label `cluster`, collectors that of their target.
    """
    remembered = window(max(_REMEMBERED_SECONDS, windows.memory))
    found = []
    for process, gauge in LAST_SEEN.items():
        # 0 after a start is no instant: what was before it counts, and a process that never wrote is not judged
        last = f"max by (cluster) (max_over_time({gauge}[{remembered}]) > 0)"
        old = f"time() - {last} > {windows.stale:g}\nand\nmax by (cluster) ({gauge})"
        gone = f"max by (cluster) (present_over_time({gauge}[{remembered}])) unless max by (cluster) ({gauge})"
        found += [
            Alerting(
                DECK_STALE,
                old,
                f"Tierdeck's {process}: last work {{{{ $value | humanizeDuration }}}} ago.",
                _about(process, "stale"),
            ),
            Alerting(
                DECK_STALE,
                gone,
                f"Tierdeck's {process} can't be read: down, gone, or no longer scraped.",
                _about(process, "gone"),
                hold_seconds=windows.stale,
            ),
        ]
    lost = f"sum by (cluster) (increase({DROPPED}[{window(windows.stale)}])) > 0"
    found.append(
        Alerting(
            DECK_STALE,
            lost,
            "{{ $value | humanize }} rounds were dropped: the store was away too long.",
            _about("collectors", "dropped"),
        )
    )
    found.append(Alerting(WATCHDOG, "vector(1)", WATCHDOG.meaning))
    return found
