"""The collectors as a real process over the replayed captures: killed, reconfigured, stopped."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from db import Store
from tests.support.expositions import series, vllm, write_snapshot
from tests.support.processes import running, wait_until
from tierdeck.errors import TierdeckError
from tierdeck.fleet import ReplicaKey
from tierdeck.ledger import TokenLedger
from tierdeck.settings import Settings

CAPTURES = Path(__file__).parents[2] / "lab" / "captures"
A = ReplicaKey("default", "cross-replica", "A")
QUICK = {"TIERDECK_SCRAPE_INTERVAL_SECONDS": "1", "TIERDECK_SCRAPE_TIMEOUT_SECONDS": "0.9"}


class Deck:
    """A home folder with a replay's configuration in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / "fleet.yaml"
        self.log = home / "log.txt"
        self.url = Settings(home=home).store_url
        self.environment = {"TIERDECK_HOME": str(home), "TIERDECK_CONFIG_FILE": str(self.config), **QUICK}

    def replay(self, folder: Path = CAPTURES / "cross-replica") -> Any:
        args = ("replay", str(folder), "--step", "0.7", "--config-out", str(self.config))
        return running("lab", *args, log=self.log)

    def collectors(self) -> Any:
        return running("collectors", log=self.log, **self.environment)

    def ledger(self, endpoint: str = "cross-replica") -> TokenLedger | None:
        """A's, over the whole time, as stored."""
        try:
            with Store.open(self.url) as store:
                (found,) = store.accounts(0, time.time() + 1, endpoint=endpoint)
        except (TierdeckError, ValueError):
            return None
        return next(r.ledger for r in found.replicas if r.name == "A")

    def tokens(self) -> float:
        """Prompt tokens of A over the whole time, as stored."""
        ledger = self.ledger()
        return (ledger.prompt_tokens or 0.0) if ledger else 0.0

    def stopped(self) -> list[bool]:
        """Whether each process that ever reported has signed off."""
        with Store.open(self.url) as store:
            return list(store.processes()["stopped_at"].notna())

    def last_counter(self) -> float:
        """A's lookup counter as the accountant last saw it."""
        with Store.open(self.url) as store:
            memory: Any = store.memories("default")[A]
        counters: dict[str, float] = memory["meters"]["vllm"]["counters"]
        return sum(value for key, value in counters.items() if key.startswith("prompt_tokens\x1f"))


@pytest.fixture
def deck(tmp_path: Path) -> Deck:
    return Deck(tmp_path)


def test_killed_in_mid_work_again_and_again_it_goes_on_and_loses_nothing_that_a_scrape_saw(deck: Deck) -> None:
    with deck.replay():
        wait_until(deck.config.exists, "the replay", deck.log)
        before, baselines = 0.0, set()
        for _ in range(4):
            with deck.collectors() as process:
                wait_until(lambda: deck.tokens() > before, "more tokens in the store", deck.log)  # noqa: B023
                process.send_signal(signal.SIGKILL)
                process.wait()
            before = deck.tokens()
            # what the counter stood at before the first scrape; it moves if a token is lost or counted twice
            baselines.add(deck.last_counter() - before)
    assert before > 0
    assert len(baselines) == 1


def test_told_to_stop_it_writes_what_is_left_and_ends_well(deck: Deck) -> None:
    with deck.replay():
        wait_until(deck.config.exists, "the replay", deck.log)
        with deck.collectors() as process:
            wait_until(lambda: deck.tokens() > 0, "tokens in the store", deck.log)
            wait_until(lambda: deck.stopped() == [False], "the first heartbeat", deck.log)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    assert "collectors_stopped" in deck.log.read_text()
    assert deck.stopped() == [True]


def test_an_edit_of_the_configuration_is_taken_and_a_broken_one_leaves_the_last_in_force(deck: Deck) -> None:
    def endpoints() -> list[str]:
        try:
            with Store.open(deck.url) as store:
                return [endpoint.name for endpoint in store.endpoints()]
        except TierdeckError:
            return []

    with deck.replay():
        wait_until(deck.config.exists, "the replay", deck.log)
        with deck.collectors():
            wait_until(lambda: endpoints() == ["cross-replica"], "the endpoint", deck.log)
            text = deck.config.read_text()
            deck.config.write_text("endpoints: [oops")
            wait_until(lambda: "configuration_refused" in deck.log.read_text(), "the refusal", deck.log)
            assert endpoints() == ["cross-replica"]
            deck.config.write_text(text.replace("name: cross-replica", "name: renamed"))
            wait_until(lambda: endpoints() == ["renamed"], "the new name", deck.log)


def test_bytes_read_from_a_remote_become_tokens_by_the_endpoint_s_kv_size(deck: Deck) -> None:
    def page(read: float) -> str:
        labels = '{model_name="m",role="worker",worker_id="0"}'
        return series({"process_start_time_seconds": 1e6, f"lmcache:num_remote_read_bytes_total{labels}": read})

    moments = {second: {"vllm": vllm(second, 0, second, second), "lmcache": page(1024 * second)} for second in (0, 128)}
    folder = write_snapshot(deck.home / "inside", {"A": moments}, {"kv_bytes_per_token": 1024})
    with deck.replay(folder):
        wait_until(deck.config.exists, "the replay", deck.log)
        with deck.collectors():
            wait_until(lambda: bool((found := deck.ledger("inside")) and found.l2_found), "tokens read", deck.log)
    ledger = deck.ledger("inside")
    assert ledger is not None
    # 1,024 bytes of 1,024 a token for every token that vLLM loaded
    assert ledger.l2_found == ledger.external_hits


def test_a_broken_configuration_at_the_start_is_one_line_and_exit_code_2(deck: Deck) -> None:
    deck.config.write_text("endpoints:\n  - name: chat\n")
    with deck.collectors() as process:
        assert process.wait(60) == 2
    line = deck.log.read_text().strip().splitlines()[-1]
    assert "endpoints.0.replicas: missing" in line
    assert "Traceback" not in deck.log.read_text()
