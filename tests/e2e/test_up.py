"""`tierdeck up` with nothing configured, in a real Chromium: the first thing that a new user sees."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from db import Store
from tests.support.browser import PAINTED, WAIT_MS, Watch, browser, require_chromium
from tests.support.deck import Deck, l0_share, tokens, up
from tests.support.processes import running, wait_until

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


def children(process: subprocess.Popen[bytes]) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, check=False).stdout
    return [int(pid) for pid in found.split()]


TIERS = ("L0 · GPU", "L1 · CPU", "L2 · Curvine", "recomputed")


def fleet_text(deck: Deck, name: str, endpoint: str) -> tuple[str, str]:
    """(text, text in charts) of the Fleet view, which is photographed in light and dark."""
    text = svg = ""
    with browser() as chromium:
        for scheme in ("light", "dark"):
            page = chromium.new_page(color_scheme=scheme, viewport={"width": 1440, "height": 1220})
            watch = Watch()
            watch.follow(page)
            page.goto(f"{deck.address()}/?freeze=1", wait_until="domcontentloaded")
            page.wait_for_function(PAINTED, arg=4, timeout=WAIT_MS)
            page.get_by_text(endpoint, exact=False).first.wait_for(state="attached", timeout=WAIT_MS)
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SCREENSHOTS / f"{name}-{scheme}.png", full_page=True)
            text = page.text_content("body") or ""
            svg = " ".join(page.locator(".js-plotly-plot svg text").all_text_contents())
            assert watch.outside == []
            assert watch.errors == []
            page.close()
    for word in ("Traceback", "NaN", "None", "undefined"):
        assert word not in text
    return text, svg


@pytest.mark.e2e
def test_a_new_user_sees_a_simulated_fleet_with_all_tiers_and_its_past(tmp_path: Path) -> None:
    require_chromium()
    with up(tmp_path, "--history", "40m") as (deck, _):
        names = ("chat", "rag", "batch")
        wait_until(lambda: all(tokens(deck.ask("status")).get(name, 0) > 0 for name in names), "tokens", deck.log)
        wait_until(lambda: "history is filled in" in deck.log.read_text(), "the history", deck.log)
        for name in names:
            whole = deck.ask("ledger", name, "--window", "1h")["fleet"]
            tiers = whole["tiers"]
            # more than the last minutes: 2, 1.2 and 2 requests a second for 40 minutes, less in the night
            assert whole["requests"] > 1000
            assert tiers["L0"]["tokens"] + tiers["L1+L2"]["tokens"] + tiers["miss"]["tokens"] == whole["prompt_tokens"]
            assert all(tiers[tier]["tokens"] > 0 for tier in ("L0", "L1+L2", "miss"))
        text, svg = fleet_text(deck, "up-fleet", "chat")
        assert all(tier in svg for tier in TIERS)
        assert "TTFT" in text
        assert "filling in" not in text


def test_another_strategy_shows_in_the_ledger(tmp_path: Path) -> None:
    with up(tmp_path, "--speed", "10", "--history", "0") as (deck, _):
        wait_until(lambda: tokens(deck.ask("status")).get("chat", 0) > 1_000_000, "five simulated minutes", deck.log)
        before = l0_share(deck, "chat", "5m")
        state = deck.change("strategy", {"endpoint": "chat", "strategy": "prefixaware"})
        assert state["endpoints"]["chat"]["strategy"] == "prefixaware"
        wait_until(lambda: l0_share(deck, "chat", "20s") >= before + 0.10, "ten points more from L0", deck.log)
        # the deck's inventory follows
        strategies = {one["name"]: one["strategy"] for one in deck.ask("endpoints")["endpoints"]}
        assert strategies["chat"] == "prefixaware"


def replayed(home: Path) -> tuple[str, ...]:
    """Arguments of a replay of the captures, whose configuration file is given to the deck."""
    return ("replay", "--demo", "--config-out", str(home / "fleet.yaml"))


@pytest.mark.e2e
def test_recorded_engines_show_where_their_tokens_came_from(tmp_path: Path) -> None:
    require_chromium()
    config = tmp_path / "fleet.yaml"
    with running("lab", *replayed(tmp_path), log=tmp_path / "replay.txt"):
        wait_until(config.exists, "the replay", tmp_path / "replay.txt")
        with up(tmp_path, "--config", str(config)) as (deck, _):
            wait_until(lambda: tokens(deck.ask("status")).get("pressure", 0) > 200_000, "a lap of the captures")
            b = deck.ask("ledger", "cross-replica")["replicas"]["B"]["tiers"]
            # what A wrote and B read is B's L2: 2,048 of every 2,208 tokens (lab/captures/README.md)
            assert b["L2"]["tokens"] % 2048 == 0
            assert b["L2"]["tokens"] > 0
            assert b["L0"]["tokens"] == b["L1"]["tokens"] == 0
            text, svg = fleet_text(deck, "replay-fleet", "pressure")
            assert all(tier in svg for tier in TIERS)
            assert "TTFT" in text


def test_it_ends_all_that_it_started(tmp_path: Path) -> None:
    with up(tmp_path) as (_, process):
        # the fleet, the collectors, the console, and the two ends of the pipe that fills the past in
        wait_until(lambda: len(children(process)) == 5, "five children")
        pids = children(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_its_children_end_even_when_it_is_killed(tmp_path: Path) -> None:
    with up(tmp_path) as (_, process):
        pids = children(process)
        process.kill()
        process.wait()
        wait_until(lambda: not [pid for pid in pids if _runs(pid)], "the children's end")


def test_a_past_that_was_cut_off_is_gone_on_with(tmp_path: Path) -> None:
    with up(tmp_path, "--history", "70m") as (deck, process):
        history = deck.home / "deck" / "logs" / "history.log"
        wait_until(lambda: history.exists() and " 50 %" in history.read_text(), "half of the last minutes", deck.log)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    with Store.open(f"sqlite:///{tmp_path / 'deck' / 'tierdeck.db'}") as store:
        before = store.backfills()[-1]
    with up(tmp_path, "--history", "70m") as (deck, _):
        wait_until(lambda: "history is filled in" in deck.log.read_text(), "the rest of the history", deck.log)
    with Store.open(f"sqlite:///{tmp_path / 'deck' / 'tierdeck.db'}") as store:
        day, hour, last = store.backfills()
    assert 0.5 <= before.share <= 1
    assert (last.start_at, last.end_at, last.is_done) == (before.start_at, before.end_at, True)
    assert (hour.start_at, hour.end_at, hour.is_done) == (before.end_at - 3600, before.start_at, True)
    assert (day.start_at, day.end_at, day.is_done) == (before.end_at - 4200, hour.start_at, True)


def test_a_child_that_dies_is_started_again(tmp_path: Path) -> None:
    def beats(deck: Deck) -> Callable[[], bool]:
        before = tokens(deck.ask("status")).get("chat", 0)
        return lambda: tokens(deck.ask("status")).get("chat", 0) > before

    with up(tmp_path, "--history", "0") as (deck, process):
        wait_until(beats(deck), "tokens", deck.log)
        (collectors,) = [pid for pid in children(process) if "collectors" in Path(f"/proc/{pid}/cmdline").read_text()]
        os.kill(collectors, signal.SIGKILL)
        wait_until(lambda: "collectors ended (-9)" in deck.log.read_text(), "word of it", deck.log)
        time.sleep(1)
        wait_until(beats(deck), "tokens after the restart", deck.log)


def _runs(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
