"""Alerts in simulated days, beside the fixed rule of the field; and what judging a thousand endpoints costs.

Twenty seeds of ten days for each scenario, from CSV lines through the code of `backtest`. The fixed rule fires
where the hit rate is below 30 % for 15 minutes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from tests.bench import Measure, measure
from tests.support.alert_simulations import DROP_12, DROP_25, ISSUE, NOTHING, OTHERS, SLIDE, Outcome, Scenario, outcome
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.hit_ratio import HitRatioDetector
from tierdeck.alerts.lives import Lives
from tierdeck.alerts.minute import Minute, Scene

SEEDS = 20
OTHER_SEEDS = 3
MOST_MINUTES = {DROP_25.name: 10.0, DROP_12.name: 20.0, SLIDE.name: 240.0}
_LEARNT = 5
_PARTS = {"": 1.0, "L0": 0.6, "L1": 0.3, "L2": 0.1}
ENDPOINTS = 1000
_FIXED = "fixed 30 %"


def run() -> list[Measure]:
    measures: list[Measure] = []
    for scenario in ISSUE:
        outcomes = [outcome(scenario, seed) for seed in range(SEEDS)]
        measures += _quiet(scenario, outcomes) if scenario.is_quiet else _caught(scenario, outcomes)
    return [*measures, *_others(), *_start(), *_cost()]


def _quiet(scenario: Scenario, outcomes: Sequence[Outcome]) -> list[Measure]:
    said = sum(one.false + (one.delay is not None) for one in outcomes)
    fixed = sum(one.fixed_false + (one.fixed_delay is not None) for one in outcomes)
    most = 0 if scenario.name == "3-minute blip" else 1
    days = len(outcomes) * scenario.endpoint.days
    name = f"{scenario.name}: false alerts in {days} days"
    return [Measure(name, said, "alerts", _FIXED, fixed, None, f"≤ {most}", said <= most)]


def _caught(scenario: Scenario, outcomes: Sequence[Outcome]) -> list[Measure]:
    delays = [one.delay for one in outcomes if one.delay is not None]
    fixed = [one.fixed_delay for one in outcomes if one.fixed_delay is not None]
    false = sum(one.false for one in outcomes)
    most = MOST_MINUTES[scenario.name]
    # The issue wants the median of drops; of the slow loss, every one.
    name, delay = ("slowest", max(delays)) if scenario.name == SLIDE.name else ("median", median(delays))
    return [
        Measure(
            f"{scenario.name}: caught of {len(outcomes)}",
            len(delays),
            "",
            _FIXED,
            len(fixed),
            None,
            "all",
            len(delays) == len(outcomes),
        ),
        Measure(
            f"{scenario.name}: {name} delay", delay, "min", _FIXED, median(fixed) if fixed else None, None,
            f"≤ {most:g} min", delay <= most,
        ),
        Measure(f"{scenario.name}: alerts of nothing", false, "alerts", limit="≤ 1", ok=false <= 1),
    ]  # fmt: skip


def _others() -> list[Measure]:
    """No limits of the issue: what holds for endpoints of other kinds."""
    measures = []
    for name, endpoint in OTHERS.items():
        for scenario in (NOTHING, DROP_25, DROP_12, SLIDE):
            outcomes = [outcome(replace(scenario, endpoint=endpoint), seed) for seed in range(OTHER_SEEDS)]
            delays = [one.delay for one in outcomes if one.delay is not None]
            false = sum(one.false for one in outcomes)
            if scenario.is_quiet:
                measures.append(measure(f"{name}: no change, false alerts", false, "alerts"))
                continue
            label = f"{name}: {scenario.name}, caught {len(delays)} of {OTHER_SEEDS}, median"
            measures.append(measure(label, median(delays) if delays else float("inf"), "min"))
    return measures


def _start() -> list[Measure]:
    """CPU seconds in which an endpoint's 14 days are learnt; the peer strays from each slot, the old ones too."""
    noise, slots = random.Random(1), 14 * 144
    shares = [0.78 + noise.gauss(0.0, 0.02) for _ in range(slots)]

    def learnt(age: float) -> float:
        detector, started = HitRatioDetector(), time.process_time()
        for number in range(_LEARNT):
            for slot, share in enumerate(shares):
                hits = {name: 1_000_000.0 * share * part for name, part in _PARTS.items()}
                at = 1_772_409_600.0 + 600.0 * slot
                detector.learn(Subject("east", f"chat-{number}"), at, age * (slots - slot), (500.0, 1_000_000.0), hits)
        return (time.process_time() - started) / _LEARNT

    ours, peer = learnt(600.0), learnt(0.0)
    name = "a start, 14 days of one endpoint × 4 series learnt"
    return [Measure(name, ours, "CPU s", "all of it as if new", peer, ours / peer)]


def _cost() -> list[Measure]:
    """CPU seconds of this process for a minute of everything, with a day learnt; ten-minute turns included."""
    detector, lives = HitRatioDetector(), Lives()
    subjects = [Subject("east", f"chat-{number}") for number in range(ENDPOINTS)]
    hits = {"": 780_000.0, "L0": 500_000.0, "L1": 180_000.0, "L2": 100_000.0}
    at = 1_772_409_600.0
    for slot in range(144):
        for subject in subjects:
            detector.learn(subject, at + 600.0 * slot, 86400.0 - 600.0 * slot, (500.0, 1_000_000.0), hits)
    at += 86400.0
    spent = []
    for number in range(80):
        minute = Minute(
            at + 60.0 * number, 100_000.0, 78_000.0, 50.0, l0=50_000.0, l1=18_000.0, l2=10_000.0, replicas=1, readable=1
        )
        started = time.process_time()
        lives.step(
            detector.judge(Scene(minute.at, dict.fromkeys(subjects, minute), firing=lives.firing)), minute.at + 60.0
        )
        spent.append(time.process_time() - started)
    settled = spent[60:]
    name = f"{ENDPOINTS:,} endpoints × 4 series"
    return [
        measure(f"{name}, a minute judged", sum(settled) / len(settled), "CPU s", at_most=5.0),
        measure(f"{name}, the dearest minute", max(settled), "CPU s", at_most=5.0),
    ]
