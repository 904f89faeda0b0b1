"""Conversations through the router, several at once: the ledger still agrees with engines and clients."""

import asyncio
from collections.abc import Callable

from lab.real.load import Load, Plan
from tests.live.agreement import BLOCK_TOKENS, agree, tokens
from tests.live.fleet import LiveFleet, Usage
from tests.live.window import Window

REQUESTS = 150


def test_conversations_side_by_side_are_accounted_for_to_the_token(
    fleet: LiveFleet, window: Window, say: Callable[[str], None]
) -> None:
    load = Load(fleet.state()["router"], Plan(clients=6, pause_seconds=0, requests=REQUESTS, seed=6))
    asyncio.run(load.run())
    assert load.failures == 0
    assert load.requests == REQUESTS
    window.asked.append(Usage(load.prompt_tokens, load.cached_tokens))
    document = window.close()

    found, slack = tokens(document["fleet"]), BLOCK_TOKENS * load.requests
    hits = found["L0"] + found["L1+L2"]
    say(
        f"agreement: L0 {found['L0']:,.0f} + L1+L2 {found['L1+L2']:,.0f} = {hits:,.0f} tokens in the ledger, "
        f"{load.cached_tokens:,} cached in {load.requests} responses, {slack:,} allowed between them"
    )
    agree(window, document, load.requests)
    # more than the allowance, so that neither side can be 0 and pass, nor a whole tier be missing
    assert min(load.cached_tokens, found["L0"], found["L1+L2"]) > slack
    assert found["miss"] > 0
    both = document["replicas"]
    assert min(both[name]["prompt_tokens"] for name in both) > 0.3 * load.prompt_tokens  # round robin
