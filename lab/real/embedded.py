"""LMCache's embedded engine standing alone, without vLLM: L1 in memory, a folder as remote, prompts made up.

On a CPU this engine does not work inside vLLM, and alone it exports the same `lmcache:*` metrics.
"""

from __future__ import annotations

import asyncio
import random

import aiohttp

from lab.real.fleet import Fleet
from lab.real.layout import CHUNK_TOKENS, MODEL, free_ports
from lab.real.model import HEAD_DIM, KV_HEADS, LAYERS

L1_GIB = 4 / 1024
PROMPTS, PROMPT_TOKENS = 20, 640
"""12,800 tokens in all, of which L1 holds 8,192: some are always read from the remote."""
_PAUSE_SECONDS = 1.0


async def start(fleet: Fleet) -> str:
    """Start it as part of the fleet; the address of its own API."""
    remote = fleet.layout.folder / "remote"
    remote.mkdir()
    (port,) = free_ports(1)
    child = await fleet.spawn("embedded", command(MODEL), settings(f"fs://localhost:0{remote}/", port))
    address = f"http://127.0.0.1:{port}"
    await child.ready(address + "/metrics")
    return address


def command(model: str) -> list[str]:
    """The engine of a model of that path, for KV as that of the lab's own."""
    shape = f"{LAYERS},2,{CHUNK_TOKENS},{KV_HEADS},{HEAD_DIM}"
    program = ["python", "-P", "-m", "lmcache.v1.standalone", "--model-name", model]
    return [*program, "--kv-dtype", "bfloat16", "--kv-shape", shape]


def settings(remote_url: str, port: int) -> dict[str, str]:
    """Its environment, but for what all of the lab's programs have.

    Args:
        port: of its own API.
    """
    return {
        "LMCACHE_CHUNK_SIZE": str(CHUNK_TOKENS),
        "LMCACHE_LOCAL_CPU": "True",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": str(L1_GIB),
        "LMCACHE_REMOTE_URL": remote_url,
        "LMCACHE_REMOTE_SERDE": "naive",
        "LMCACHE_INTERNAL_API_SERVER_ENABLED": "True",
        "LMCACHE_INTERNAL_API_SERVER_PORT_START": str(port - 1),  # worker 0 takes the next one
    }


async def drive(address: str, seed: int = 1) -> None:
    """Ask for prompts at random, and store those that are missing, until cancelled."""
    dice = random.Random(seed)
    async with aiohttp.ClientSession(address, timeout=aiohttp.ClientTimeout(total=60)) as session:
        while True:
            first = dice.randrange(PROMPTS) * PROMPT_TOKENS
            tokens = {"tokens_mock": f"{first},{first + PROMPT_TOKENS}"}
            try:
                found = await _post(session, "/cache/retrieve", tokens)
                if found < PROMPT_TOKENS:
                    await _post(session, "/cache/store", tokens)
            except (aiohttp.ClientError, TimeoutError):
                pass
            await asyncio.sleep(_PAUSE_SECONDS)


async def _post(session: aiohttp.ClientSession, path: str, query: dict[str, str]) -> int:
    async with session.post(path, params=query) as response:
        response.raise_for_status()
        answer = await response.json()
        return int(answer.get("num_retrieved") or 0)
