"""First warm paint of the Fleet view beside a bare Streamlit page: same run, same browser, a new context each time."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser

from tests.bench import Measure, measure
from tests.support.browser import PAINTED, WAIT_MS, browser, console, served
from tests.support.console_store import Habit, Made, fill

_ROUNDS = 7
_MOST = 1.5
_ENDPOINTS, _REPLICAS = 12, 5
_FLEET_TRACES = 12
"""Traces of the Fleet view's three charts on this store: 4 of the bar, 5 of the tiers, 4 of TTFT; one in reserve."""
_AHEAD_SECONDS = 900
"""Rounds are there before their time, so that every visit sees fresh data."""
_TABLE = "table[aria-label=Endpoints]"


def run() -> list[Measure]:
    """Medians of interleaved visits; nobody has visited either page before the first."""
    with tempfile.TemporaryDirectory() as folder:
        home, now = Path(folder), time.time()
        made = [Made(f"svc-{number:02d}", [Habit()] * _REPLICAS) for number in range(_ENDPOINTS)]
        fill(f"sqlite:///{home}/tierdeck.db", made, now - 1200, now + _AHEAD_SECONDS)
        bare_server = served(["-m", "tests.bench._bare", "{port}"], "/_stcore/health", {}, home / "bare.log")
        with (
            bare_server as bare,
            console(f"sqlite:///{home}/tierdeck.db", home / "console.log", {}) as fleet,
            browser() as chromium,
        ):
            visits = [(_visit(chromium, bare, 1), _visit(chromium, f"{fleet}/", _FLEET_TRACES)) for _ in range(_ROUNDS)]
    peer = statistics.median(painted for (painted, _), _ in visits)
    painted = statistics.median(painted for _, (painted, _) in visits)
    whole = statistics.median(whole for _, (_, whole) in visits)
    bare_page = ("bare Streamlit page with one chart", peer)
    return [
        measure("Fleet view: all charts painted", painted, "s", peer=bare_page, at_most=_MOST),
        measure("Fleet view: charts and table painted", whole, "s", peer=bare_page),
    ]


def _visit(chromium: Browser, url: str, traces: int) -> tuple[float, float]:
    """Seconds from navigation until the charts are painted, and until the table is, too."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    started = time.perf_counter()
    page.goto(url, wait_until="commit", timeout=WAIT_MS)
    page.wait_for_function(PAINTED, arg=traces, timeout=WAIT_MS, polling="raf")
    painted = time.perf_counter() - started
    if traces > 1:
        page.wait_for_selector(_TABLE, timeout=WAIT_MS)
    whole = time.perf_counter() - started
    context.close()
    return painted, whole
