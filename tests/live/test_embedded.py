"""LMCache's embedded engine standing alone: the split that comes of its metrics is held against what lay where.

vLLM's side is composed here, from what the engine says it retrieved, since on a CPU this engine does not run in vLLM.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from lab.real.embedded import PROMPT_TOKENS, drive
from lab.real.layout import CHUNK_TOKENS
from lab.real.model import KV_BYTES_PER_TOKEN
from tests.live.fleet import LiveFleet, text_of
from tests.support.expositions import bounds, codes, tokens, vllm, window
from tests.support.processes import wait_until

PATIENCE_SECONDS = 180.0
CHUNKS = PROMPT_TOKENS // CHUNK_TOKENS
L1_ONLY, L2_ONLY, HALF, NOWHERE = 4, 5, 2, 3
"""Prompts of 640 tokens by where they lie: 11 of them at most, 7,040 tokens, and L1 holds 8,192."""


class Alone:
    """The engine through its own API. Prompts are ranges of token numbers."""

    def __init__(self, fleet: LiveFleet) -> None:
        (alone,) = yaml.safe_load(fleet.config.read_text())["endpoints"][1]["replicas"]
        self.metrics: str = alone["targets"]["lmcache"]
        self.address = self.metrics.removesuffix("/metrics")
        self._remote = Path(fleet.state()["folder"], "remote")
        self.retrieved = round(self.counter("num_hit_tokens_total"))

    def counter(self, name: str) -> float:
        found = re.findall(rf"^lmcache:{name}{{[^}}]*}} (\S+)$", text_of(self.metrics), re.MULTILINE)
        return sum(map(float, found))

    def store(self, prompt: int) -> set[Path]:
        """Into L1 and the remote; the files that it became there, when all of them are written."""
        before = self._files()
        self._ask("POST", f"/cache/store?{_range(prompt)}")
        wait_until(lambda: len(self._files()) == len(before) + CHUNKS, "the chunks' files")
        return self._files() - before

    def retrieve(self, prompt: int, count: int = PROMPT_TOKENS) -> int:
        """As vLLM's connector does; how many tokens were had."""
        found = int(self._ask("POST", f"/cache/retrieve?{_range(prompt, count)}")["num_retrieved"])
        self.retrieved += found
        return found

    def empty_l1(self) -> None:
        self._ask("DELETE", "/cache/clear?locations=LocalCPUBackend")

    def page(self) -> str:
        """Its metrics, once they tell all that was retrieved: it brings them up to date every ten seconds or so."""
        wait_until(lambda: self.counter("num_hit_tokens_total") == self.retrieved, "the engine's own count")
        return text_of(self.metrics)

    def _files(self) -> set[Path]:
        return set(self._remote.glob("*.data"))

    def _ask(self, method: str, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(urllib.request.Request(self.address + path, method=method), timeout=60) as response:
            found: dict[str, Any] = json.load(response)
        return found


def _range(prompt: int, count: int = PROMPT_TOKENS) -> str:
    first = 1_000_000 + 1000 * prompt
    return f"tokens_mock={first},{first + count}"


def test_l1_and_l2_come_out_as_they_lay(fleet: LiveFleet, tmp_path: Path, say: Callable[[str], None]) -> None:
    alone, prompts = Alone(fleet), iter(range(100))
    cold, half, warm, unknown = ([next(prompts) for _ in range(count)] for count in (L2_ONLY, HALF, L1_ONLY, NOWHERE))
    for prompt in (*cold, *half):
        alone.store(prompt)
    alone.empty_l1()
    for prompt in half:
        alone.retrieve(prompt, PROMPT_TOKENS // 2)  # which leaves these tokens in L1
    for prompt in warm:
        for file in alone.store(prompt):
            file.unlink()
    first = alone.page()
    asked = [*cold, *half, *warm, *unknown]
    had = {prompt: alone.retrieve(prompt) for prompt in asked}
    last = alone.page()

    # by place: 5 x 640 + 2 x 320 = 3,840 tokens only in the remote; 4 x 640 + 2 x 320 = 3,200 in L1
    l2 = sum(had[prompt] for prompt in cold) + sum(had[prompt] for prompt in half) // 2
    l1 = sum(had[prompt] for prompt in warm) + sum(had[prompt] for prompt in half) // 2
    assert (l1, l2) == (3200, 3840)
    assert sum(had[prompt] for prompt in unknown) == 0

    looked_up, loaded = len(asked) * PROMPT_TOKENS, sum(had.values())
    part = window(
        tmp_path,
        vllm(0, 0, 0, 0),
        vllm(looked_up, 0, looked_up, loaded),
        {"kv_bytes_per_token": KV_BYTES_PER_TOKEN},
        lmcache=(first, last),
    )
    found = tokens(part)
    say(f"embedded: L1 {found['L1']:,.0f} where {l1:,} tokens lay, L2 {found['L2']:,.0f} where {l2:,} lay")
    assert (found["L1"], found["L2"], found["miss"]) == (l1, l2, looked_up - l1 - l2)
    assert bounds(part, "L2") == (0, l2, loaded)
    assert "split_estimated" in codes(part)


def test_under_prompts_at_random_its_metrics_move_together(fleet: LiveFleet) -> None:
    alone = Alone(fleet)
    before = {name: alone.counter(name) for name in ("num_remote_read_bytes_total", "num_hit_tokens_total")}
    # L1 is full, and the folder serves
    asyncio.run(_driven(alone.address, lambda: all(alone.counter(name) > before[name] for name in before)))
    assert alone.counter("num_requested_tokens_total") >= alone.counter("num_hit_tokens_total")
    assert alone.counter("num_remote_write_bytes_total") > 0
    assert alone.counter("local_cache_usage") > 0


async def _driven(address: str, ready: Callable[[], bool]) -> None:
    """Drive it until then."""
    driving = asyncio.create_task(drive(address))
    end = time.monotonic() + PATIENCE_SECONDS
    try:
        while not await asyncio.to_thread(ready):
            assert time.monotonic() < end, f"waited {PATIENCE_SECONDS:.0f} s for reads from the remote"
            await asyncio.sleep(2)
    finally:
        driving.cancel()
        await asyncio.wait({driving})
