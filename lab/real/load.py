"""A load for the fleet: conversations with shared beginnings that go on after a while, all through the router."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

import aiohttp

from lab.real.layout import CONTEXT_TOKENS, MODEL

SESSION = "X-Session-ID"
"""By this header consistent_hash tells conversations apart."""
_LETTERS = "bdfghklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of what; `requests` 0: without an end.

    With these figures the conversations fit into L2, and not into L0 and L1.
    """

    clients: int = 2
    systems: int = 5
    conversations: int = 40
    system_words: int = 100
    turn_words: int = 30
    answer_tokens: int = 16
    pause_seconds: float = 0.3
    requests: int = 0
    seed: int = 1


@dataclass(slots=True)
class Conversation:
    """Everything said so far."""

    name: str
    text: str = ""
    prompt_tokens: int = 0


@dataclass(slots=True)
class Load:
    """Clients that take turns with the conversations, and what came of it."""

    router: str
    plan: Plan = field(default_factory=Plan)
    requests: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0

    async def run(self) -> None:
        """Until the plan is done, or until cancelled."""
        dice = random.Random(self.plan.seed)
        systems = [_words(dice, self.plan.system_words) for _ in range(self.plan.systems)]
        idle = [Conversation(f"s{number}") for number in range(self.plan.conversations)]
        timeout = aiohttp.ClientTimeout(total=300)
        async with aiohttp.ClientSession(self.router, timeout=timeout) as session, asyncio.TaskGroup() as group:
            for _ in range(self.plan.clients):
                group.create_task(self._client(session, dice, systems, idle))

    async def _client(
        self, session: aiohttp.ClientSession, dice: random.Random, systems: list[str], idle: list[Conversation]
    ) -> None:
        while not self.plan.requests or self.requests < self.plan.requests:
            conversation = idle.pop(dice.randrange(len(idle)))
            if not conversation.text or conversation.prompt_tokens > CONTEXT_TOKENS * 3 // 4:
                conversation.text = dice.choice(systems)
            conversation.text += " " + _words(dice, self.plan.turn_words)
            await self._ask(session, conversation)
            idle.append(conversation)
            await asyncio.sleep(self.plan.pause_seconds)

    async def _ask(self, session: aiohttp.ClientSession, conversation: Conversation) -> None:
        body = {"model": MODEL, "prompt": conversation.text, "max_tokens": self.plan.answer_tokens, "temperature": 0}
        self.requests += 1
        try:
            async with session.post("/v1/completions", json=body, headers={SESSION: conversation.name}) as response:
                response.raise_for_status()
                answer = await response.json()
        except (aiohttp.ClientError, TimeoutError):
            self.failures += 1
            await asyncio.sleep(1)
            return
        usage = answer["usage"]
        conversation.prompt_tokens = usage["prompt_tokens"]
        conversation.text += answer["choices"][0]["text"]
        self.prompt_tokens += usage["prompt_tokens"]
        self.cached_tokens += (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0


def _words(dice: random.Random, count: int) -> str:
    """Words of one or two syllables; each becomes about two tokens."""
    return " ".join("".join(_syllable(dice) for _ in range(dice.randint(1, 2))) for _ in range(count))


def _syllable(dice: random.Random) -> str:
    return "".join(dice.choice(letters) for letters in _LETTERS)
