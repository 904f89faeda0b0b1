"""The load and the relay against stand-ins of what they talk to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from aiohttp import web

from lab.real.layout import free_ports
from lab.real.load import SESSION, Load, Plan
from lab.real.relay import relay


async def test_conversations_grow_keep_their_session_and_share_beginnings() -> None:
    said: dict[str, list[str]] = defaultdict(list)

    async def complete(request: web.Request) -> web.Response:
        prompt = (await request.json())["prompt"]
        said[request.headers[SESSION]].append(prompt)
        usage = {"prompt_tokens": 2 * len(prompt.split()), "prompt_tokens_details": {"cached_tokens": 32}}
        return web.json_response({"choices": [{"text": " and so on"}], "usage": usage})

    app = web.Application()
    app.router.add_post("/v1/completions", complete)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    plan = Plan(clients=3, systems=2, conversations=5, pause_seconds=0, requests=60)
    load = Load(f"http://127.0.0.1:{runner.addresses[0][1]}", plan)
    await load.run()
    await runner.cleanup()

    prompts = [prompt for some in said.values() for prompt in some]
    assert 60 <= load.requests == len(prompts) < 60 + plan.clients
    assert load.failures == 0
    assert load.cached_tokens == 32 * load.requests
    assert set(said) == {f"s{number}" for number in range(5)}
    assert len({prompt.split()[0] for prompt in prompts}) <= plan.systems
    grown = [after.startswith(before) for some in said.values() for before, after in pairwise(some)]
    assert sum(grown) > len(grown) / 2


async def test_a_router_that_is_away_is_counted_and_waited_for() -> None:
    (port,) = free_ports(1)
    load = Load(f"http://127.0.0.1:{port}", Plan(clients=1, pause_seconds=0, requests=1))
    await load.run()
    assert (load.requests, load.failures) == (1, 1)


async def test_the_relay_passes_bytes_both_ways_and_ends_with_either_side(tmp_path: Path) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello ")
        writer.write(await reader.readexactly(4))
        await writer.drain()
        writer.close()

    (port,) = free_ports(1)
    engine = await asyncio.start_unix_server(echo, tmp_path / "s")
    server = await relay(port, tmp_path / "s")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"ping")
    assert await reader.read() == b"hello ping"
    writer.close()
    engine.close()
    server.close()


async def test_without_an_engine_the_relay_hangs_up(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    server = await relay(port, tmp_path / "nobody")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await reader.read() == b""
    writer.close()
    server.close()
