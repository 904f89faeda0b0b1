"""`python -m lab replay` as a process: real HTTP, the configuration it writes, and how it stops."""

import asyncio
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

CAPTURES = Path(__file__).parents[2] / "lab" / "captures"
LOOKED_UP = "vllm:prefix_cache_queries"


@asynccontextmanager
async def replaying(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "lab",
        "replay",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def listening(process: asyncio.subprocess.Process) -> str:
    """The first address that it prints; by then it listens."""
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()


def counter(text: str, name: str) -> float:
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"{name}_total"
    )


async def test_serves_every_target_of_the_configuration_that_it_writes(tmp_path: Path) -> None:
    config = tmp_path / "deck.yaml"
    async with replaying("--demo", "--step", "3600", "--config-out", str(config)) as process:
        await listening(process)
        document = yaml.safe_load(config.read_text())
        assert [endpoint["name"] for endpoint in document["endpoints"]] == ["cross-replica", "pressure"]
        first = document["endpoints"][0]
        assert first["kv_bytes_per_token"] == 512
        assert first["replicas"][0]["versions"] == {"vllm": "0.32.0", "lmcache": "0.5.6"}
        assert set(first["replicas"][0]["targets"]) == {"vllm", "lmcache-mp"}
        async with aiohttp.ClientSession() as session:
            for endpoint in document["endpoints"]:
                for replica in endpoint["replicas"]:
                    for url in replica["targets"].values():
                        async with session.get(url) as answer:
                            assert answer.status == 200
                            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
                            assert list(text_string_to_metric_families(await answer.text()))


async def test_a_moment_without_a_scrape_of_a_source_answers_503(tmp_path: Path) -> None:
    for moment, source in ((0, "vllm"), (60, "vllm"), (60, "router")):
        home = tmp_path / "fleet" / "A" / str(moment)
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{source}.txt").write_text("# TYPE a gauge\na 1\n")
    async with replaying(str(tmp_path / "fleet"), "--step", "3600") as process, aiohttp.ClientSession() as session:
        base = (await listening(process)).partition("/fleet/")[0]
        for source, status in (("vllm", 200), ("router", 503)):
            async with session.get(f"{base}/fleet/A/{source}/metrics") as answer:
                assert answer.status == status


async def test_tokens_rise_as_recorded_over_more_than_one_lap() -> None:
    # A looks up 4,416 tokens a lap (0 at moment 0, 4,416 at moment 60): only multiples of it are ever seen.
    seen: set[float] = set()
    async with replaying(str(CAPTURES / "cross-replica"), "--step", "0.2") as process:
        base = (await listening(process)).partition("/cross-replica/")[0]
        async with aiohttp.ClientSession() as session:
            give_up = time.monotonic() + 30
            while max(seen, default=0.0) < 3 * 4416 and time.monotonic() < give_up:
                async with session.get(f"{base}/cross-replica/A/vllm/metrics") as answer:
                    seen.add(counter(await answer.text(), LOOKED_UP))
                await asyncio.sleep(0.05)
    assert max(seen) >= 3 * 4416
    assert all(value % 4416 == 0 for value in seen)


async def test_unknown_targets_are_told_and_the_index_lists_the_known_ones() -> None:
    async with replaying(str(CAPTURES / "cross-replica")) as process, aiohttp.ClientSession() as session:
        base = (await listening(process)).partition("/cross-replica/")[0]
        async with session.get(f"{base}/cross-replica/Z/vllm/metrics") as answer:
            assert answer.status == 404
        async with session.get(base) as answer:
            assert "/cross-replica/B/lmcache-mp/metrics" in (await answer.text()).split()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_at_once_even_with_a_connection_open(number: signal.Signals) -> None:
    async with replaying(str(CAPTURES / "cross-replica")) as process, aiohttp.ClientSession() as session:
        async with session.get(await listening(process)) as answer:
            await answer.read()
        sent_at = time.monotonic()
        process.send_signal(number)
        _, errors = await asyncio.wait_for(process.communicate(), 10)
        assert process.returncode == 0
        assert time.monotonic() - sent_at < 3
        assert b"Traceback" not in errors


async def test_what_can_not_be_replayed_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments, code in ((["--demo", "--port", port], 3), ([str(tmp_path)], 2), ([], 2)):
            async with replaying(*arguments) as process:
                _, errors = await asyncio.wait_for(process.communicate(), 30)
                assert process.returncode == code
                assert len(errors.splitlines()) == 1
