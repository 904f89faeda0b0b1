"""The real router under each of Tierdeck's strategies: who gets a request, read from the engines."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest
import yaml

from lab.real.load import SESSION
from tests.live.fleet import LiveFleet, prefixes, with_tail
from tests.live.window import settle

EVENT_SECONDS = 8.0
"""Long enough for an engine's KV events to reach the router."""


@pytest.fixture(autouse=True)
def _back_to_roundrobin(fleet: LiveFleet) -> Iterator[None]:
    yield
    if fleet.state()["strategy"] != "roundrobin":
        fleet.switch("roundrobin")


def text(seed: int) -> str:
    dice = random.Random(seed)
    return " ".join("".join(dice.choices("bdfgklmn", k=2)) for _ in range(200))


def served(fleet: LiveFleet) -> dict[str, float]:
    """Finished requests by replica."""
    settle(fleet)
    return {replica: fleet.counter(replica, "vllm:request_success_total") for replica in fleet.targets}


def test_roundrobin_takes_turns(fleet: LiveFleet) -> None:
    before = served(fleet)
    for _ in range(6):
        fleet.ask("router", text(11))
    after = served(fleet)
    assert {name: after[name] - before[name] for name in after} == {"a": 3, "b": 3}


def test_prefixaware_sends_what_begins_alike_to_one_replica(fleet: LiveFleet) -> None:
    fleet.switch("prefixaware")
    assert yaml.safe_load(fleet.config.read_text())["endpoints"][0]["strategy"] == "prefixaware"
    before = served(fleet)
    for number in range(6):
        fleet.ask("router", f"{text(12)} {number}")
    after = served(fleet)
    assert sorted(after[name] - before[name] for name in after) == [0, 6]


def test_session_keeps_each_session_on_one_replica(fleet: LiveFleet) -> None:
    fleet.switch("session")
    for session in range(3):
        before = served(fleet)
        for number in range(3):
            fleet.ask("router", text(1000 + 10 * session + number), **{SESSION: f"session-{session}"})
        after = served(fleet)
        assert sorted(after[name] - before[name] for name in after) == [0, 3]
    before = served(fleet)
    for session in range(60):
        fleet.ask("router", f"hello {session}", **{SESSION: f"another-{session}"})
    after = served(fleet)
    assert min(after[name] - before[name] for name in after) > 0


@pytest.mark.parametrize("warm", ["a", "b"])
def test_kvaware_finds_the_replica_whose_l0_has_the_prefix(fleet: LiveFleet, warm: str) -> None:
    fleet.switch("kvaware")
    (prefix,) = prefixes(1, seed=20 + ord(warm))
    fleet.ask(warm, with_tail(prefix))
    time.sleep(EVENT_SECONDS)
    before = served(fleet)
    usage = fleet.ask("router", with_tail(prefix))
    after = served(fleet)
    assert [name for name in after if after[name] > before[name]] == [warm]
    assert usage.cached == 512
