"""`tierdeck up` on the real fleet: every target scraped, and the tokens on the terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live.fleet import LiveFleet, prefixes, with_tail
from tests.live.window import settle
from tests.support.processes import end_with_us

TIERDECK = Path(sys.executable).with_name("tierdeck")
PATIENCE_SECONDS = 240.0
Ask = Callable[..., Any]


@contextmanager
def deck_on(config: Path, home: Path) -> Iterator[Ask]:
    """A deck that is up; what is yielded runs a reading command and gives its document, None where it fails."""
    quick = {"TIERDECK_SCRAPE_INTERVAL_SECONDS": "2", "TIERDECK_SCRAPE_TIMEOUT_SECONDS": "1.9"}
    environment = {**os.environ, "TIERDECK_HOME": str(home), **quick}

    def ask(*args: str) -> Any:
        command = [str(TIERDECK), *args, "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    with (home.parent / "up.txt").open("wb") as log:
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
        yield ask
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


def test_the_deck_shows_where_the_tokens_of_real_engines_came_from(fleet: LiveFleet, tmp_path: Path) -> None:
    with deck_on(fleet.config, tmp_path / "home") as ask:

        def all_scraped() -> bool:
            rows = (ask("targets") or {"targets": []})["targets"]
            return len(rows) == 7 and all(row["ok"] for row in rows)

        def tokens(name: str) -> float:
            rows = (ask("status") or {"endpoints": []})["endpoints"]
            return next((row["prompt_tokens"] or 0 for row in rows if row["name"] == name), 0)

        # two engines, two cache servers, coordinator, router, embedded engine
        until(all_scraped, "all targets")
        (prefix,) = prefixes(1, seed=30)
        fleet.ask("a", with_tail(prefix))
        fleet.ask("a", with_tail(prefix))
        settle(fleet)
        fleet.ask("b", with_tail(prefix))
        until(lambda: tokens("real") >= 3 * 552, "the tokens of three requests")
        # LMCache's counts may come a scrape after vLLM's
        until(lambda: ask("ledger", "real")["replicas"]["b"]["tiers"]["L2"]["tokens"] == 512, "B's tokens from L2")

        document = ask("ledger", "real")
        tiers = {name: one["tiers"] for name, one in document["replicas"].items()}
        assert document["fleet"]["prompt_tokens"] == 3 * 552
        assert (tiers["a"]["L0"]["tokens"], tiers["a"]["L1+L2"]["tokens"]) == (512, 0)
        assert (tiers["b"]["L0"]["tokens"], tiers["b"]["miss"]["tokens"]) == (0, 40)
        (row,) = [one for one in ask("endpoints")["endpoints"] if one["name"] == "real"]
        assert (row["model"], row["replicas"], row["strategy"]) == ("tiny", 2, "roundrobin")
        assert row["sizes"]["l0_tokens"] == 4096
