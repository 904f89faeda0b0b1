"""Three accounts of the same tokens: the ledger's, vLLM's counters by source, and what the clients were told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.window import Window

BLOCK_TOKENS = 32


def tokens(account: dict[str, Any]) -> dict[str, float]:
    return {name: tier["tokens"] for name, tier in account["tiers"].items()}


def bounds(account: dict[str, Any], tier: str) -> tuple[float, float]:
    return account["tiers"][tier]["low"], account["tiers"][tier]["high"]


def agree(window: Window, document: dict[str, Any], requests: int = 0) -> None:
    """The ledger fits the counters that vLLM keeps by source, and what the clients were told.

    Args:
        requests: how many there were, where one entry of `window.asked` stands for several.
    """
    for name, account in document["replicas"].items():
        prompt = window.rise(name, "vllm:prompt_tokens_total")
        if not prompt:
            continue
        tiers = tokens(account)
        assert account["prompt_tokens"] == prompt
        assert tiers["L0"] + tiers["L1+L2"] + tiers["miss"] == prompt
        assert tiers["L1"] + tiers["L2"] == tiers["L1+L2"]
        by_source = "vllm:prompt_tokens_by_source_total"
        assert tiers["L0"] == window.rise(name, by_source, source="local_cache_hit")
        assert tiers["L1+L2"] == window.rise(name, by_source, source="external_kv_transfer")
        assert tiers["miss"] == window.rise(name, by_source, source="local_compute")
    fleet = tokens(document["fleet"])
    assert document["fleet"]["prompt_tokens"] == sum(one.prompt for one in window.asked)
    hits = fleet["L0"] + fleet["L1+L2"]
    slack = BLOCK_TOKENS * (requests or len(window.asked))
    assert hits == pytest.approx(sum(one.cached for one in window.asked), abs=slack)
