"""The OpenAI side of the simulated fleet: completions through a router, or from one replica directly.

Texts become block ids by hashing, about four characters a token, so that a prompt sent twice is found.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from lab.sim.endpoint import SimEndpoint
from lab.sim.engine import SimReplica
from lab.sim.fleet import Fleet
from lab.sim.job import Job
from lab.sim.workload import Request
from lab.sim.workloads.tenants import salted
from tierdeck.sizing.prompt import Prompt

CHARACTERS_PER_TOKEN = 4
SERVED_BY = "x-served-by"
SESSION = "x-session-id"
_MOST_ANSWER_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client wants."""

    text: str
    answer_tokens: int
    stream: bool
    is_chat: bool
    session: str
    salt: str = ""


def read_request(document: Any, session: str, *, is_chat: bool) -> Asked:
    """A request's body, checked.

    Raises:
        ValueError: what is wrong with it.
    """
    if not isinstance(document, dict):
        raise ValueError("the body must be a JSON object")  # noqa: TRY004 - all faults of a body are one error
    if is_chat:
        messages = document.get("messages")
        if not isinstance(messages, list) or not messages:
            raise ValueError("messages must be a list that is not empty")
        text = "".join(f"<{message.get('role')}>{_flat(message.get('content'))}" for message in messages)
    else:
        text = _flat(document.get("prompt"))
    if not text:
        raise ValueError("there is no prompt")
    asked = document.get("max_completion_tokens", document.get("max_tokens", 16))
    if not isinstance(asked, int) or not 1 <= asked <= _MOST_ANSWER_TOKENS:
        raise ValueError(f"max_tokens lies between 1 and {_MOST_ANSWER_TOKENS}")
    session = session or str(document.get("user") or "")
    return Asked(text, asked, bool(document.get("stream")), is_chat, session, str(document.get("cache_salt") or ""))


def _flat(content: object) -> str:
    """Text of a prompt or a message: a string, token ids, or parts with text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, int) for part in content):
        return "".join(f"{part:>{CHARACTERS_PER_TOKEN}}" for part in content)
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in content)
    return ""


def to_prompt(text: str, block_tokens: int, session: str = "") -> Prompt:
    """Chained hashes of the text's blocks."""
    tokens = max(1, -(-len(text) // CHARACTERS_PER_TOKEN))
    size, chain, blocks = block_tokens * CHARACTERS_PER_TOKEN, hashlib.blake2b(digest_size=8), []
    for start in range(0, tokens // block_tokens * size, size):
        chain.update(text[start : start + size].encode())
        blocks.append(int.from_bytes(chain.copy().digest()) >> 1)
    return Prompt(tokens, tuple(blocks), session)


async def complete(
    request: web.Request, fleet: Fleet, endpoint: SimEndpoint, replica: SimReplica | None, *, is_chat: bool
) -> web.StreamResponse:
    """Answer one completion: through the router, or from the replica that the address names."""
    try:
        asked = read_request(await request.json(), request.headers.get(SESSION, ""), is_chat=is_chat)
        if asked.salt not in endpoint.spec.salts:
            raise ValueError(f"nobody here has the cache_salt {asked.salt!r}")  # noqa: TRY301 - as all faults of a body
    except ValueError as error:
        return _error(400, str(error))
    prompt = to_prompt(asked.text, endpoint.spec.geometry.block_tokens, asked.session)
    loop = asyncio.get_running_loop()
    first: asyncio.Future[None] = loop.create_future()
    end: asyncio.Future[bool] = loop.create_future()
    sent = Request(fleet.timeline.now, prompt, asked.answer_tokens, is_chat=is_chat)
    job = Job(salted(sent, asked.salt), fleet.timeline.now)
    job.on_first_token = lambda job: None if first.done() else first.set_result(None)

    def ended(job: Job, *, done: bool) -> None:
        if not end.done():
            end.set_result(done)

    job.on_end = ended
    if replica is None:
        replica = endpoint.submit(job)
    else:
        endpoint.send(job, replica)
    waits: list[asyncio.Future[Any]] = [first, end]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if replica is None or (end.done() and not end.result()):
        return _error(503, "no replica could serve this request")
    answer = _Answer(asked, job, endpoint.spec.model, f"cmpl-{id(job):x}")
    headers = {SERVED_BY: replica.name}
    if not asked.stream:
        return web.json_response(answer.whole(), headers=headers) if await end else _error(503, "the replica ended")
    response = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream"})
    with suppress(ConnectionResetError):  # the client may leave in the middle
        await response.prepare(request)
        await response.write(_event(answer.chunk(" token")))
        if await end:
            await response.write(_event(answer.chunk(" token" * (asked.answer_tokens - 1), finish="length")))
            await response.write(_event({**answer.head(), "choices": [], "usage": answer.usage()}))
            await response.write(b"data: [DONE]\n\n")
    return response


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer in OpenAI's words."""

    asked: Asked
    job: Job
    model: str
    id: str

    def head(self) -> dict[str, object]:
        kind = "chat.completion" if self.asked.is_chat else "text_completion"
        return {"id": self.id, "object": kind, "created": 0, "model": self.model}

    def usage(self) -> dict[str, object]:
        lookup = self.job.lookup
        tokens, cached = (lookup.tokens, lookup.l0 + lookup.external) if lookup else (0, 0)
        return {
            "prompt_tokens": tokens,
            "completion_tokens": self.asked.answer_tokens,
            "total_tokens": tokens + self.asked.answer_tokens,
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def whole(self) -> dict[str, object]:
        text = " token" * self.asked.answer_tokens
        said = {"message": {"role": "assistant", "content": text}} if self.asked.is_chat else {"text": text}
        return {**self.head(), "choices": [{"index": 0, **said, "finish_reason": "length"}], "usage": self.usage()}

    def chunk(self, text: str, finish: str | None = None) -> dict[str, object]:
        said = {"delta": {"content": text}} if self.asked.is_chat else {"text": text}
        return {**self.head(), "choices": [{"index": 0, **said, "finish_reason": finish}]}


def _event(document: dict[str, object]) -> bytes:
    return f"data: {json.dumps(document)}\n\n".encode()


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "lab", "code": status}}, status=status)
