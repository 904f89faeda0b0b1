"""`tierdeck up` with nothing configured, in a real Chromium: the first thing that a new user sees."""

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
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import PAINTED, WAIT_MS, Watch, browser, require_chromium
from tests.support.processes import wait_until

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
TIERDECK = Path(sys.executable).with_name("tierdeck")


class Deck:
    """A deck that is up: its home, its address, and the `tierdeck` command on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home / "up.txt"
        self.environment = {**os.environ, "TIERDECK_HOME": str(home / "deck")}

    def address(self) -> str:
        found = re.search(r"http://127\.0\.0\.1:\d+", self.log.read_text())
        return found[0] if found else ""

    def ask(self, *args: str) -> Any:
        done = subprocess.run(
            [TIERDECK, *args, "--json"], env=self.environment, capture_output=True, timeout=120, check=False
        )
        return json.loads(done.stdout) if done.returncode == 0 else None


@contextmanager
def up(home: Path, *args: str) -> Iterator[tuple[Deck, subprocess.Popen[bytes]]]:
    deck = Deck(home)
    with deck.log.open("wb") as log:
        process = subprocess.Popen([TIERDECK, "up", "--port", "0", *args], env=deck.environment, stdout=log, stderr=log)
    try:
        wait_until(lambda: bool(deck.address()) or process.poll() is not None, "the address", deck.log)
        yield deck, process
    finally:
        process.terminate()
        process.wait(60)


def tokens(document: Any) -> dict[str, float]:
    return {e["name"]: e["prompt_tokens"] or 0 for e in (document or {"endpoints": []})["endpoints"]}


def children(process: subprocess.Popen[bytes]) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, check=False).stdout
    return [int(pid) for pid in found.split()]


@pytest.mark.e2e
def test_a_new_user_sees_where_the_tokens_came_from(tmp_path: Path) -> None:
    require_chromium()
    with up(tmp_path) as (deck, _):
        wait_until(
            lambda: all(tokens(deck.ask("status")).get(n, 0) > 0 for n in ("cross-replica", "pressure")), "tokens"
        )
        wait_until(lambda: tokens(deck.ask("status"))["pressure"] > 200_000, "a lap of the captures")
        ledger = deck.ask("ledger", "cross-replica")
        b = ledger["replicas"]["B"]["tiers"]
        # what A wrote and B read is B's L2: 2,048 of every 2,208 tokens (lab/captures/README.md)
        assert b["L2"]["tokens"] % 2048 == 0
        assert b["L2"]["tokens"] > 0
        assert b["L0"]["tokens"] == b["L1"]["tokens"] == 0
        with browser() as chromium:
            for scheme in ("light", "dark"):
                page = chromium.new_page(color_scheme=scheme, viewport={"width": 1440, "height": 1220})
                watch = Watch()
                watch.follow(page)
                page.goto(f"{deck.address()}/?freeze=1", wait_until="domcontentloaded")
                page.wait_for_function(PAINTED, arg=4, timeout=WAIT_MS)
                page.get_by_text("pressure", exact=False).first.wait_for(state="attached", timeout=WAIT_MS)
                SCREENSHOTS.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=SCREENSHOTS / f"up-fleet-{scheme}.png", full_page=True)
                text = page.text_content("body") or ""
                svg = " ".join(page.locator(".js-plotly-plot svg text").all_text_contents())
                for tier in ("L0 · GPU", "L1 · CPU", "L2 · Curvine", "recomputed"):
                    assert tier in svg
                assert "TTFT" in text
                for word in ("Traceback", "NaN", "None", "undefined"):
                    assert word not in text
                assert watch.outside == []
                assert watch.errors == []
                page.close()


def test_it_ends_all_that_it_started(tmp_path: Path) -> None:
    with up(tmp_path) as (_, process):
        wait_until(lambda: len(children(process)) == 3, "three children")
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


def test_a_child_that_dies_is_started_again(tmp_path: Path) -> None:
    def beats(deck: Deck) -> Callable[[], bool]:
        before = tokens(deck.ask("status")).get("pressure", 0)
        return lambda: tokens(deck.ask("status")).get("pressure", 0) > before

    with up(tmp_path) as (deck, process):
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
