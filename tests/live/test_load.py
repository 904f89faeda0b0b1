"""Conversations through the router, several at once: the ledger still agrees with engines and clients."""

import asyncio

from lab.real.load import Load, Plan
from tests.live.agreement import agree, tokens
from tests.live.fleet import LiveFleet, Usage
from tests.live.window import Window


def test_conversations_side_by_side_are_accounted_for_to_the_token(fleet: LiveFleet, window: Window) -> None:
    load = Load(fleet.state()["router"], Plan(clients=6, pause_seconds=0, requests=150, seed=6))
    asyncio.run(load.run())
    assert load.failures == 0
    window.asked.append(Usage(load.prompt_tokens, load.cached_tokens))
    document = window.close()
    agree(window, document, load.requests)

    both = document["replicas"]
    assert min(both[name]["prompt_tokens"] for name in both) > 0.3 * load.prompt_tokens  # round robin
    fleet_tokens = tokens(document["fleet"])
    assert min(fleet_tokens["L0"], fleet_tokens["L1+L2"], fleet_tokens["miss"]) > 0
