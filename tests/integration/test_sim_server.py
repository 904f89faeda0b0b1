"""The simulated fleet over real HTTP: as a process with its configuration file, and its OpenAI and admin sides."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from collectors.config import read_config
from lab.sim.scale import small
from lab.sim.server import Server, serve
from tests.unit.lab_sim.scraping import MP, fleet

LONG = "The quick brown fox jumps over the lazy dog. " * 200  # 9,000 characters: 2,250 tokens


class Clock:
    """A wall clock that goes fast, so that nobody waits."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.began = self.loop.time()

    def __call__(self) -> float:
        return 1_800_000_000.0 + (self.loop.time() - self.began) * 20


@asynccontextmanager
async def served(**changes: Any) -> AsyncIterator[tuple[Server, str, aiohttp.ClientSession]]:
    server = Server(fleet(requests_per_second=1e-6, **changes), Clock())
    async with serve(server) as address, aiohttp.ClientSession() as session:
        yield server, address, session


async def ask(session: aiohttp.ClientSession, url: str, prompt: str = LONG) -> tuple[str, int, int]:
    """(replica, prompt tokens, cached tokens) of a completion."""
    async with session.post(url, json={"model": "m", "prompt": prompt, "max_tokens": 4}) as answer:
        assert answer.status == 200, await answer.text()
        usage = (await answer.json())["usage"]
        return answer.headers["x-served-by"], usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


async def test_one_prompt_to_a_then_to_b_is_found_whole_in_l2() -> None:
    async with served() as (server, address, session):
        first = await ask(session, f"{address}/chat/chat-0/v1/completions")
        await asyncio.sleep(0.05)  # a simulated second: the write to L2 takes 0.15
        second = await ask(session, f"{address}/chat/chat-1/v1/completions")
        third = await ask(session, f"{address}/chat/chat-1/v1/completions")
    # 2,250 tokens: 8 chunks of 256 = 2,048 from L2; then 17 blocks of 128 = 2,176 from L0
    assert first == ("chat-0", 2250, 0)
    assert second == ("chat-1", 2250, 2048)
    assert third == ("chat-1", 2250, 2176)
    assert server.fleet.endpoints["chat"].replicas[1].truth.l2 == 2048


async def test_the_router_spreads_and_a_reset_empties_l0() -> None:
    async with served(forms=(MP, MP)) as (_, address, session):
        url = f"{address}/chat/v1/completions"
        assert [(await ask(session, url))[0] for _ in range(3)] == ["chat-0", "chat-1", "chat-0"]
        async with session.post(f"{address}/chat/reset_prefix_cache") as answer:
            assert await answer.json() == {"success": True}
        # L0 is empty, L1 is not: whole chunks only
        assert await ask(session, f"{address}/chat/chat-0/v1/completions") == ("chat-0", 2250, 2048)


async def test_chat_streams_and_ends_with_usage() -> None:
    async with served() as (_, address, session):
        body = {"messages": [{"role": "user", "content": LONG}], "stream": True, "max_tokens": 5}
        async with session.post(f"{address}/chat/v1/chat/completions", json=body) as answer:
            assert answer.headers["x-served-by"] == "chat-0"
            events = [line.removeprefix("data: ") for line in (await answer.text()).split("\n\n") if line]
    assert events[-1] == "[DONE]"
    assert json.loads(events[0])["choices"][0]["delta"]["content"]
    assert json.loads(events[-2])["usage"]["completion_tokens"] == 5


async def test_says_who_it_is_and_refuses_what_it_can_not_read() -> None:
    async with served() as (_, address, session):
        for path, wanted in (
            ("/chat/v1/models", {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]}),
            ("/chat/chat-0/version", {"version": "0.32.0"}),
        ):
            async with session.get(address + path) as answer:
                assert await answer.json() == wanted
        for body in ("[]", '{"prompt": ""}', '{"prompt": "x", "max_tokens": 0}', "no json", '{"messages": []}'):
            async with session.post(f"{address}/chat/v1/completions", data=body) as answer:
                assert answer.status == 400, body
        for path, status in (("/chat/health", 200), ("/nobody/health", 404), ("/chat/chat-9/health", 404)):
            async with session.get(address + path) as answer:
                assert answer.status == status
        async with session.get(f"{address}/chat/chat-0/router/metrics") as answer:
            assert answer.status == 404


async def test_admin_changes_the_fleet_and_shows_the_truth(tmp_path: Path) -> None:
    async with served() as (server, address, session):

        async def post(path: str, **body: object) -> tuple[int, dict[str, object]]:
            async with session.post(f"{address}/admin/{path}", json=body) as answer:
                return answer.status, await answer.json()

        await ask(session, f"{address}/chat/v1/completions")
        endpoint = server.fleet.endpoints["chat"]
        assert (await post("strategy", endpoint="chat", strategy="prefixaware"))[0] == 200
        assert endpoint.effective_strategy == "prefixaware"
        status, state = await post("replicas", endpoint="chat", count=3)
        assert status == 200
        assert state["endpoints"]["chat"]["replicas"]["chat-0"]["truth"]["prompt_tokens"] == 2250  # type: ignore[index]
        assert [replica.name for replica in endpoint.replicas] == ["chat-0", "chat-1", "chat-2"]
        assert (await post("sizes", endpoint="chat", l0="1GiB", l1="2GiB", l2="20GiB"))[0] == 200
        for _ in range(100):  # 3 restarts of 20 simulated seconds: 3 real ones
            if endpoint.replicas[2].truth.restarts and all(replica.up for replica in endpoint.replicas):
                break
            await asyncio.sleep(0.05)
        assert {replica.cache.l0.capacity_blocks for replica in endpoint.replicas} == {146}  # 2^30 / (128 × 57,344)
        assert server.fleet.pool.capacity_bytes == 20 * 2**30
        status, state = await post("faults", name="l2-unreadable", on=True)
        assert (status, state["faults"]["l2-unreadable"]["on"]) == (200, True)  # type: ignore[index]
        await post("faults", name="l2-unreadable", on=False)
        assert not server.fleet.faults
        trace = tmp_path / "trace.jsonl"
        trace.write_text('{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}\n')
        status, state = await post("traffic", endpoint="chat", trace=str(trace), requests_per_second=0.5)
        chat = state["endpoints"]["chat"]  # type: ignore[index]
        assert (status, chat["workload"], chat["requests_per_second"]) == (200, "trace", 0.5)
        assert (await post("traffic", endpoint="chat", requests_per_second=1e-6))[0] == 200
        assert endpoint.workload == server.fleet.usual["chat"]
        trace.write_text("{}\n")
        status, answer = await post("traffic", endpoint="chat", trace=str(trace))
        assert (status, "trace.jsonl:1: timestamp" in str(answer["error"])) == (400, True)
        for path, body in (
            ("strategy", {"endpoint": "chat", "strategy": "best"}),
            ("strategy", {"endpoint": "none", "strategy": "session"}),
            ("sizes", {"endpoint": "chat", "l0": "1 block"}),
            ("sizes", {"endpoint": "chat", "l0": 10}),
            ("replicas", {"endpoint": "chat", "count": 0}),
            ("faults", {"name": "none", "on": True}),
            ("faults", {"name": "fuse-hang", "on": True, "replica": "chat-77"}),
            ("traffic", {"endpoint": "chat", "workload": "none"}),
            ("traffic", {"endpoint": "chat", "requests_per_second": True}),
            ("traffic", {"endpoint": "chat", "workload": "rag", "trace": "/none.jsonl"}),
            ("traffic", {"endpoint": "chat", "trace": "/none.jsonl"}),
        ):
            status, answer = await post(path, **body)
            assert (status, list(answer)) == (400, ["error"]), (path, body)


async def test_the_command_serves_all_that_its_configuration_names(tmp_path: Path) -> None:
    config = tmp_path / "deck.yaml"
    command = (sys.executable, "-m", "lab", "sim", "--speed", "20", "--config-out", str(config))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        address = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
        assert address.startswith("http://127.0.0.1:")
        inventory = read_config(config, "c")
        assert {endpoint.name for endpoint in inventory.endpoints} == {spec.name for spec in small().endpoints}
        replicas = [replica for endpoint in inventory.endpoints for replica in endpoint.replicas]
        async with aiohttp.ClientSession() as session:
            for target in [target for replica in (*replicas, *inventory.pools) for target in replica.targets]:
                async with session.get(target.url) as answer:
                    text = await answer.text()
                    assert answer.status == 200, target
                    assert list(text_string_to_metric_families(text)) if "api" not in target.name else json.loads(text)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
