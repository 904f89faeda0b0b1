"""Whether clients chat: asked of the engines themselves, since no metric that the store keeps tells the path."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import aiohttp

from controller.changes.planner import Load
from controller.probe.counters import Counted, chats_counted
from tierdeck.fleet import Endpoint, SourceKind

_SECONDS = 3.0
_MOST_BYTES = 8 * 2**20


def with_chats(load: Load, endpoint: Endpoint) -> Load:
    """What it carries, with what its engines have counted since they started; one that does not answer tells nothing.

    Each page is read once, all at a time, within 3 seconds.
    """
    pages = [
        target.url
        for one in endpoint.replicas
        if not one.key.shared
        for target in one.targets
        if target.kind is SourceKind.VLLM and target.is_scraped
    ]
    return chatted(load, asyncio.run(_counted(pages)))


def chatted(load: Load, counted: Iterable[Counted | None]) -> Load:
    """
    Args:
        counted: by each engine; None: it can't be read.
    """
    engines = list(counted)
    known = [one for one in engines if one is not None]
    chatting = [one for one in known if one.chats > 0]
    starts = [one.since for one in chatting or known if one.since is not None]
    if chatting:
        since = min(starts) if len(starts) == len(chatting) else None
        return replace(load, chats=sum(one.chats for one in chatting), chats_since=since)
    if engines and len(starts) == len(engines):
        return replace(load, chat_free_since=max(starts))
    return load


async def _counted(pages: Iterable[str]) -> list[Counted | None]:
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    async with aiohttp.ClientSession(trust_env=False, timeout=timeout) as http:
        return list(await asyncio.gather(*(_page(http, url) for url in pages)))


async def _page(http: aiohttp.ClientSession, url: str) -> Counted | None:
    try:
        async with http.get(url, allow_redirects=False) as response:
            body = bytearray()
            async for part in response.content.iter_any():
                body += part
                if len(body) > _MOST_BYTES:
                    return None
            return chats_counted(body.decode()) if response.status == 200 else None
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
