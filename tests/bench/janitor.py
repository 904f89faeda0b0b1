"""The janitor on the pool-filling workload, beside the simulator's LRU; and what planning over a million files costs.

Two hours of chats beside a writer of prompts that nobody repeats, on a pool that would be full after some 20 minutes:
with the last time of reading, as a mount that keeps it tells it, and with that of writing alone. The second pool turns
over in five minutes, which is where the two differ. A million files are made up, so that what is measured is the
survey and the plan; walking a mount comes on top of that.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile

import structlog

from db import Store
from lab.sim.scale import GIB
from tests.bench import Measure, measure
from tests.support.janitor_fleet import RULES, Watch, clean, filling

_HALF_SECONDS = 3600.0
_FILES = 1_000_000
_PLAN = """
import re, time
from tierdeck.l2.cleaning import CleaningLimits, Marks, Survey
from tierdeck.l2.pool_file import PoolFile, PoolRoom
def peak():
    return int(re.search("VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
before, began, now = peak(), time.process_time(), 2e9
survey = Survey(CleaningLimits(), now)
for number in range({files}):
    age = float(number * 7_919 % {files})
    name = "qwen@1@0@%016x@bfloat16.data" % number
    survey.add(PoolFile("qwen-%d" % (number % 5), name, 14_680_064, now - age, now - age))
size = survey.size_bytes
plan = survey.plan(PoolRoom(size / 0.78, float(size)), Marks())
assert len(plan.files) == 38_461 + 1, len(plan.files)
print(time.process_time() - began, peak() - before)
"""


def run() -> list[Measure]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    return [*_pool(40, 0.05), *_pool(20, 0.1, is_judged=False), *_million()]


def _pool(size_gib: int, writes: float, *, is_judged: bool = True) -> list[Measure]:
    peer = _watched(size_gib, writes)
    measures = []
    for order, keeps in (("read", True), ("written", False)):
        name, watch = f"{size_gib} GiB, oldest {order} first", _watched(size_gib, writes, keeps_read_times=keeps)
        points, top = 100 * (watch.hit_ratio - peer.hit_ratio), watch.top
        is_held = top < RULES.marks.high and not watch.fleet.pool.refused_chunks
        hit = Measure(f"{name}: hit ratio", 100 * watch.hit_ratio, "%", "simulator's LRU", 100 * peer.hit_ratio, None,
                      "−3 points at most" if is_judged else "", points >= -3 or not is_judged)  # fmt: skip
        used = Measure(f"{name}: most in use", 100 * top, "%", "simulator's LRU", 100 * peer.top, None,
                       f"< {100 * RULES.marks.high:.0f} %" if is_judged else "", is_held or not is_judged)  # fmt: skip
        measures += [hit, used]
    return measures


def _watched(size_gib: int, writes: float, *, keeps_read_times: bool | None = None) -> Watch:
    """None: no janitor, and the pool evicts."""
    fleet = filling(size_gib * GIB, evicts=keeps_read_times is None, writes=writes)
    watch = Watch(fleet)
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/deck.db", migrate=True) as store:
        if keeps_read_times is not None:
            clean(fleet, store, keeps_read_times=keeps_read_times)
        watch.run(_HALF_SECONDS)
        watch.begin()
        watch.run(_HALF_SECONDS)
    return watch


def _million() -> list[Measure]:
    """In a process of its own, so that its memory is the plan's."""
    command = [sys.executable, "-c", _PLAN.format(files=_FILES)]
    seconds, megabytes = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    return [
        measure(f"{_FILES:,} files surveyed and planned", seconds, "CPU s", at_most=30.0),
        measure(f"{_FILES:,} files, memory added", megabytes, "MiB", at_most=100.0),
    ]
