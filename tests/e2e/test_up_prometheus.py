"""`tierdeck up --prometheus` on a real Prometheus that has seen a fleet for two hours, in a real Chromium."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from db import Store
from lab.sim.history import Stretch, recording
from lab.sim.scale import small
from tests.support.browser import WAIT_MS, Watch, browser, picture, require_chromium, settle, words
from tests.support.deck import TIERDECK, Deck, tokens, up
from tests.support.processes import wait_until
from tests.support.prometheus import load_openmetrics
from tests.support.scraped import openmetrics, running_lab, scraping

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
HOURS = 2
STEP_SECONDS = 60.0
LEAST_SECONDS = 5.0
"""Between two of a deck's questions, which asks no more often than that."""
STRETCHES = 2
"""In which a day is filled in: the last hour, and what is before it."""
VIEWS = {
    "fleet": ("?window=1h", 10),
    "endpoint": ("endpoint?cluster=default&endpoint=chat&window=6h", 16),
    "admin": ("admin", 0),
}
"""Address and least number of Plotly traces of each view."""
_OLDEST = """() => Math.min(...[...document.querySelectorAll('.js-plotly-plot')].flatMap(
    (chart) => chart._fullData.flatMap((trace) => Array.from(trace.x || []))
).filter((x) => x > 1e12)) / 1000"""
"""Epoch second of the oldest point in any chart."""

pytestmark = pytest.mark.e2e


@dataclass(frozen=True, slots=True)
class Started:
    """A deck whose past is filled in; `at`: epoch seconds when it was started."""

    deck: Deck
    at: float


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    require_chromium()
    folder = tmp_path_factory.mktemp("prometheus")
    end = time.time()
    # the day's events are counted back from `present`: chat-1's restart four hours before it is an hour before the end
    past = Stretch(end - HOURS * 3600, end, STEP_SECONDS, present=end + 3 * 3600)
    load_openmetrics(folder, "".join(openmetrics(recording(small, 1, past))))
    with running_lab(folder, "--warm") as lab, scraping(folder, lab) as server:
        wait_until(lambda: interval(server.url) < LEAST_SECONDS, "more scrapes of the present than of the past")
        at = time.time()
        with up(folder, "--prometheus", server.url) as (deck, _):
            names = ("chat", "rag", "batch")
            wait_until(lambda: all(tokens(deck.ask("status")).get(name, 0) > 0 for name in names), "tokens", deck.log)
            wait_until(lambda: is_filled_in(deck), "the past", deck.log)
            yield Started(deck, at)


def interval(address: str) -> float:
    """Seconds between scrapes, as Tierdeck takes it; infinite before it finds any."""
    command = [str(TIERDECK), "discover", "--prometheus", address, "--json"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    return float(json.loads(done.stdout)["interval_seconds"] or "inf") if done.returncode == 0 else float("inf")


def is_filled_in(deck: Deck) -> bool:
    with Store.open(f"sqlite:///{deck.home / 'deck' / 'tierdeck.db'}") as store:
        told = store.backfills()
    return len(told) == STRETCHES and all(one.is_done for one in told)


def test_the_ledger_reaches_back_before_the_deck(started: Started) -> None:
    for name, pace in (("chat", 2.0), ("rag", 1.2), ("batch", 2.0)):
        whole = started.deck.ask("ledger", name, "--window", "2h")["fleet"]
        tiers = whole["tiers"]
        # `pace` requests a second for two hours, which a day's rhythm makes 0.7 to 1.3 times as many
        assert 0.6 * pace * HOURS * 3600 < whole["requests"] < 1.4 * pace * HOURS * 3600
        assert tiers["L0"]["tokens"] + tiers["L1+L2"]["tokens"] + tiers["miss"]["tokens"] == whole["prompt_tokens"]
        assert all(tiers[tier]["tokens"] > 0 for tier in ("L0", "L1+L2", "miss"))
    chat = started.deck.ask("ledger", "chat", "--window", "2h")["replicas"]
    # where the recording ends another life of the fleet begins, which is a restart of each
    assert {name: one["restarts"] for name, one in chat.items()} == {"chat-0": 1, "chat-1": 2, "chat-2": 1}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", list(VIEWS))
def test_a_view_shows_what_was_before_the_deck(started: Started, view: str, scheme: Literal["light", "dark"]) -> None:
    path, traces = VIEWS[view]
    with browser() as chromium:
        page = chromium.new_page(color_scheme=scheme, viewport={"width": 1440, "height": 900})
        watch = Watch()
        watch.follow(page)
        address = f"{started.deck.address()}/{path}{'&' if '?' in path else '?'}freeze=1"
        page.goto(address, wait_until="domcontentloaded", timeout=WAIT_MS)
        page.locator("table, [data-testid=stDataFrame] canvas").first.wait_for(timeout=WAIT_MS)
        settle(page, traces)
        picture(page, SCREENSHOTS / f"prometheus-{view}-{scheme}.png")
        text = words(page)
        oldest = page.evaluate(_OLDEST) if traces else 0.0
        page.close()
    assert oldest < started.at - 3000
    for word in ("nan", "NaN", "None", "undefined", "Traceback", "Error:"):
        assert not re.search(rf"\b{word}\b", text), word
    assert (watch.errors, watch.outside) == ([], [])
