"""`tierdeck up` as a child of a test, with the command on the same home."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.support.processes import wait_until

TIERDECK = Path(sys.executable).with_name("tierdeck")


class Deck:
    """A deck that is up: its home, its address, and the `tierdeck` command on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home / "up.txt"
        self.environment = {**os.environ, "TIERDECK_HOME": str(home / "deck")}

    def address(self) -> str:
        """Of its console; empty before it is up."""
        found = re.search(r"^Tierdeck is up on .*: (http://127\.0\.0\.1:\d+)$", self.log.read_text(), re.MULTILINE)
        return found[1] if found else ""

    def change(self, what: str, body: dict[str, object]) -> Any:
        """Change the simulated fleet through its admin API."""
        admin = re.search(r"http://127\.0\.0\.1:\d+/admin", self.log.read_text())
        assert admin is not None
        request = Request(f"{admin[0]}/{what}", json.dumps(body).encode(), {"content-type": "application/json"})
        with urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def state(self) -> Any:
        """The simulated fleet as its admin API tells it, the truth included."""
        admin = re.search(r"http://127\.0\.0\.1:\d+/admin", self.log.read_text())
        assert admin is not None
        with urlopen(admin[0], timeout=30) as answer:
            return json.load(answer)

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


def l0_share(deck: Deck, endpoint: str, window: str) -> float:
    """L0's share of an endpoint's tokens; 0 where it is not known, as before the second scrape."""
    document = deck.ask("ledger", endpoint, "--window", window)
    return (document["fleet"]["tiers"]["L0"]["ratio"] or 0.0) if document else 0.0
