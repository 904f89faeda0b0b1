"""Bad targets over real HTTP: each becomes a state with a reason, none stops the others or lies."""

import pytest

from collectors.fetch import Fetcher
from collectors.replica_task import ReplicaTask
from tests.support.hostile import hostile_server
from tierdeck.account import Answer
from tierdeck.fleet import Replica, ReplicaKey, Target
from tierdeck.rounds import Round
from tierdeck.settings import Settings

KEY = ReplicaKey("c", "e", "r")
QUICK = Settings(scrape_interval_seconds=2, scrape_timeout_seconds=1.0)

REASONS = {
    "body/html": "an HTML page instead of metrics",
    "body/empty": "empty body",
    "body/binary": "answered without vLLM series",
    "body/fuse-error": "an error instead of metrics: Error: can't read metrics",
    "body/invalid-utf8": "answered without vLLM series",
    "body/python-only": "answered without vLLM series",
    "error": "HTTP 500",
    "moved": "HTTP 302",
    "silent": "no whole answer within 1 s",
    "drip": "no whole answer within 1 s",
    "flood": "body larger than 16 MiB",
    "cut": "the body ended early",
    "mid_line": "the body ends in mid-line",
}
SILENT = {"error", "moved", "silent", "drip"}


async def one_round(*urls: str) -> Round:
    targets = tuple(Target(KEY, f"vllm.{number}", url) for number, url in enumerate(urls))
    async with Fetcher(QUICK) as fetcher:
        task = ReplicaTask(Replica(KEY, targets), fetcher, lambda _: None, 2.0)
        return await task.round()


@pytest.mark.parametrize("path", REASONS)
async def test_each_fault_is_a_state_with_its_reason(path: str) -> None:
    async with hostile_server() as address:
        part = await one_round(f"{address}/{path}")
    assert part.scrapes[0].reason.startswith(REASONS[path])
    assert part.scrapes[0].answered is (path not in SILENT)
    assert part.answer is (Answer.NOTHING if path in SILENT else Answer.NO_SERIES)
    assert part.ledger.prompt_tokens is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:9/metrics", "can't connect"),
        ("http://no-such-host.invalid/metrics", "name not found"),
    ],
)
async def test_an_address_without_a_server_says_so(url: str, reason: str) -> None:
    part = await one_round(url)
    assert part.scrapes[0].reason.startswith(reason)
    assert part.answer is Answer.NOTHING


async def test_a_huge_label_and_numbers_that_are_none_cost_only_themselves() -> None:
    async with hostile_server() as address:
        part = await one_round(f"{address}/huge_label", f"{address}/body/nan")
    assert [scrape.reason for scrape in part.scrapes] == ["", ""]
    assert part.answer is Answer.ENGINE
    assert "unreadable_lines" in {note.code for note in part.ledger.notes}


async def test_all_faults_at_once_do_not_keep_the_good_target_waiting() -> None:
    async with hostile_server() as address:
        part = await one_round(*(f"{address}/{path}" for path in REASONS), f"{address}/good")
    assert part.scrapes[-1].ok
    assert part.scrapes[-1].duration_seconds < 1.0 + QUICK.scrape_timeout_seconds


async def test_a_slow_target_is_asked_less_and_less_often() -> None:
    async with hostile_server() as address, Fetcher(QUICK) as fetcher:
        target = Target(KEY, "vllm", f"{address}/silent")
        task = ReplicaTask(Replica(KEY, (target,)), fetcher, lambda _: None, 2.0)
        reasons = [(await task.round()).scrapes[0].reason for _ in range(6)]
    # two failures, then every 2nd round (1 left out), then every 4th (3 left out)
    assert [reason.startswith("left out") for reason in reasons] == [False, False, True, False, True, True]
