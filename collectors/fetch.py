"""Fetches one target's body: bounded in time and size, and every failure is a reason, never an exception."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp

from tierdeck.settings import Settings
from tierdeck.units import format_seconds, format_size

_CHUNK = 256 * 1024
_HEADERS = {"Accept": "text/plain;version=0.0.4", "User-Agent": "tierdeck"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came back. `slow` marks failures that cost time, so that such a target is asked less often."""

    text: str = ""
    answered: bool = False
    reason: str = ""
    slow: bool = False
    duration_seconds: float = 0.0
    body_bytes: int = 0


class Fetcher:
    """Keep-alive HTTP connections to all targets of one collector."""

    def __init__(self, settings: Settings) -> None:
        self._timeout = settings.scrape_timeout_seconds
        self._max_bytes = settings.max_body_bytes
        self._concurrency = settings.scrape_concurrency
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # no limit a host: many targets may share one (a proxy, a port-forward), and a slow one must not hold the others
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=0, keepalive_timeout=120)
        timeout = aiohttp.ClientTimeout(total=self._timeout)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=timeout,
            headers=_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            max_line_size=16 * 1024,
            max_field_size=16 * 1024,
        )
        self._slots = asyncio.Semaphore(self._concurrency)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def fetch(self, url: str, most_bytes: int | None = None) -> Fetched:
        """Ask once. Redirects are not followed: a target that moved is to be configured so.

        Args:
            most_bytes: the largest body that is read, where that is less than the settings allow.
        """
        async with self._slots:
            started = time.perf_counter()
            answer = await self._ask(url, most_bytes or self._max_bytes)
            took = time.perf_counter() - started
        return Fetched(answer.text, answer.answered, answer.reason, answer.slow, took, answer.body_bytes)

    async def _ask(self, url: str, most_bytes: int) -> Fetched:
        assert self._session is not None, "use it as a context manager"
        try:
            async with self._session.get(url, allow_redirects=False) as response:
                if response.status != 200:
                    return Fetched(reason=f"HTTP {response.status}")
                body = bytearray()
                async for chunk in response.content.iter_chunked(_CHUNK):
                    body += chunk
                    if len(body) > most_bytes:
                        response.close()
                        limit = format_size(most_bytes)
                        return Fetched(
                            answered=True, reason=f"body larger than {limit}", slow=True, body_bytes=len(body)
                        )
                return Fetched(body.decode("utf-8", errors="replace"), answered=True, body_bytes=len(body))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return self._failure(error)

    def _failure(self, error: Exception) -> Fetched:
        match error:
            case TimeoutError():
                return Fetched(reason=f"no whole answer within {format_seconds(self._timeout)}", slow=True)
            case aiohttp.ClientPayloadError():
                return Fetched(answered=True, reason="the body ended early")
            case aiohttp.ClientConnectorDNSError():
                reason = f"name not found: {error.host}"
            case aiohttp.ClientConnectorError():
                reason = f"can't connect: {error.strerror or error}"
            case aiohttp.InvalidURL():
                reason = "the address is not a URL"
            case _:
                reason = f"not an HTTP answer: {type(error).__name__}"
        return Fetched(reason=reason)
