"""`tierdeck up` on the real fleet: every target scraped, the tokens on the terminal, and their tiers on the page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.live.fleet import LiveFleet, prefixes, with_tail
from tests.live.window import settle
from tests.support.browser import WAIT_MS, Watch, browser, picture, require_chromium, words
from tests.support.browser import settle as painted
from tests.support.processes import end_with_us

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
TIERDECK = Path(sys.executable).with_name("tierdeck")
PATIENCE_SECONDS = 240.0
_DRAWN = (("L0", "L0"), ("L1", "L1"), ("L2", "L2"), ("recomputed", "miss"))
"""As the bar calls them, and the ledger."""
Ask = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Deck:
    """A deck that is up."""

    ask: Ask
    """Runs a reading command and gives its document, None where it fails."""
    log: Path

    def address(self) -> str:
        """Of its console; empty before it is known."""
        found = re.search(r"http://127\.0\.0\.1:\d+", self.log.read_text())
        return found[0] if found else ""

    def all_scraped(self) -> bool:
        """Two engines, two cache servers, coordinator, router, embedded engine."""
        rows = (self.ask("targets") or {"targets": []})["targets"]
        return len(rows) == 7 and all(row["ok"] for row in rows)

    def tokens(self, name: str) -> float:
        rows = (self.ask("status") or {"endpoints": []})["endpoints"]
        return next((row["prompt_tokens"] or 0 for row in rows if row["name"] == name), 0)


@contextmanager
def deck_on(config: Path, home: Path) -> Iterator[Deck]:
    """The deck's processes on a configuration file."""
    quick = {"TIERDECK_SCRAPE_INTERVAL_SECONDS": "2", "TIERDECK_SCRAPE_TIMEOUT_SECONDS": "1.9"}
    environment = {**os.environ, "TIERDECK_HOME": str(home), **quick}

    def ask(*args: str) -> Any:
        command = [str(TIERDECK), *args, "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    path = home.parent / "up.txt"
    with path.open("wb") as log:
        command = [str(TIERDECK), "up", "--port", "0", "--config", str(config)]
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=end_with_us,  # noqa: PLW1509  # no thread of ours runs by then
        )
    try:
        yield Deck(ask, path)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        finally:
            process.kill()


def until(ready: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not ready():
        assert time.monotonic() < end, f"waited {PATIENCE_SECONDS:.0f} s for {what}"
        time.sleep(1)


@pytest.fixture(scope="module")
def deck(fleet: LiveFleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    with deck_on(fleet.config, tmp_path_factory.mktemp("deck") / "home") as one:
        until(one.all_scraped, "all targets")
        yield one


def test_the_deck_shows_where_the_tokens_of_real_engines_came_from(fleet: LiveFleet, deck: Deck) -> None:
    (prefix,) = prefixes(1, seed=30)
    fleet.ask("a", with_tail(prefix))
    fleet.ask("a", with_tail(prefix))
    settle(fleet)
    fleet.ask("b", with_tail(prefix))
    until(lambda: deck.tokens("real") >= 3 * 552, "the tokens of three requests")
    # LMCache's counts may come a scrape after vLLM's
    until(lambda: deck.ask("ledger", "real")["replicas"]["b"]["tiers"]["L2"]["tokens"] == 512, "B's tokens from L2")

    document = deck.ask("ledger", "real")
    tiers = {name: one["tiers"] for name, one in document["replicas"].items()}
    assert document["fleet"]["prompt_tokens"] == 3 * 552
    assert (tiers["a"]["L0"]["tokens"], tiers["a"]["L1+L2"]["tokens"]) == (512, 0)
    assert (tiers["b"]["L0"]["tokens"], tiers["b"]["miss"]["tokens"]) == (0, 40)
    (row,) = [one for one in deck.ask("endpoints")["endpoints"] if one["name"] == "real"]
    assert (row["model"], row["replicas"], row["strategy"]) == ("tiny", 2, "roundrobin")
    assert row["sizes"]["l0_tokens"] == 4096


def test_the_deck_records_the_versions_that_real_processes_tell(fleet: LiveFleet, deck: Deck) -> None:
    told = {(row["replica"], row["target"]): row["version"] for row in deck.ask("targets")["targets"]}
    for name, installed in fleet.versions.items():
        # vLLM's CPU build may say so behind a plus sign
        assert (told[name, "vllm"] or "").partition("+")[0] == installed["vllm"]
        assert told[name, "lmcache-mp"] == told["c", "lmcache"] == installed["lmcache"]
    assert told["_fleet", "router"] is told["_fleet", "lmcache-coordinator"] is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_console_draws_the_tiers_of_real_engines(
    fleet: LiveFleet, deck: Deck, say: Callable[[str], None], scheme: Literal["light", "dark"]
) -> None:
    require_chromium()
    before = deck.tokens("real")
    # 12 x 512 tokens fit into A's L1 and not into its L0; B finds them in L2 and then in its L0
    some = prefixes(12, seed=31 + len(scheme))
    for prefix in some * 2:
        fleet.ask("a", with_tail(prefix))
    settle(fleet)
    for prefix in (*some[:6], *some[3:6]):
        fleet.ask("b", with_tail(prefix))
    settle(fleet)
    until(lambda: deck.tokens("real") >= before + 33 * 552, "the tokens of 33 requests")
    with browser() as chromium:
        page = chromium.new_page(color_scheme=scheme, viewport={"width": 1440, "height": 900})
        watch = Watch()
        watch.follow(page)

        def drawn() -> tuple[dict[str, int], str]:
            """Shares by tier, and all words."""
            page.goto(f"{deck.address()}/?freeze=1", wait_until="domcontentloaded", timeout=WAIT_MS)
            page.get_by_role("link", name="real", exact=True).wait_for(timeout=WAIT_MS)
            painted(page, 4)
            bar = " ".join(page.locator(".js-plotly-plot").first.locator("text").all_text_contents())
            return {name: int(share) for share, name in re.findall(r"(\d+) %\s+(L0|L1|L2|recomputed)", bar)}, words(
                page
            )

        def agrees(shares: dict[str, int]) -> bool:
            tiers = deck.ask("ledger", "real")["fleet"]["tiers"]
            return all(shares.get(name) == pytest.approx(100 * tiers[tier]["ratio"], abs=1) for name, tier in _DRAWN)

        seen: list[tuple[dict[str, int], str]] = []

        def is_same() -> bool:
            """A page's window ends at a whole step: the last rounds are on it once that is over."""
            seen[:] = [drawn()]
            return agrees(seen[0][0])

        until(is_same, "a page with the shares of the ledger")
        picture(page, SCREENSHOTS / f"live-fleet-{scheme}.png")
        page.close()
    shares, text = seen[0]
    say(f"console, {scheme}: {shares}")
    assert min(shares.values()) > 0
    for quantile in ("p50", "p95"):
        assert re.search(rf"TTFT {quantile}\D{{0,3}}[\d.]+ m?s", text), quantile
    assert "roundrobin" in text
    for word in ("nan", "NaN", "None", "undefined", "Traceback", "Error:"):
        assert not re.search(rf"\b{word}\b", text), word
    assert (watch.errors, watch.outside) == ([], [])
