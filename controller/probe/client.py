"""Sends one request of a probe, tagged as such, and reads who served it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from controller.probe.route import Route
from tierdeck.errors import TierdeckError, UnreachableError

PROBE_HEADER = "x-tierdeck-probe"


class RefusedError(TierdeckError):
    """The router, or the engine behind it, does not take the request; the same one would be refused again."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request, and what came back.

    Attributes:
        served_by: as a response header names it; empty: none does.
        at, until: of the monotonic clock.
    """

    served_by: str
    at: float
    until: float
    prompt_tokens: int | None
    cached_tokens: int | None


class Client:
    """Speaks to one endpoint; redirects are not followed, and nothing of the environment is used."""

    def __init__(self, route: Route, http: aiohttp.ClientSession, probe: str, deadline: float) -> None:
        """
        Args:
            deadline: of the monotonic clock; nothing is waited for any longer.
        """
        self._route = route
        self._http = http
        self._probe = probe
        self._deadline = deadline
        self._number = 0
        self._held: list[aiohttp.ClientResponse] = []
        self.model = ""
        self.is_chat = False

    async def send(self, base: str, prompt: str, session: str, tokens: int = 1) -> Sent:
        """One request; of one that wants more than one token only the beginning of the answer is waited for.

        Raises:
            RefusedError: it was answered with an error.
            UnreachableError: there was no answer.
        """
        self._number += 1
        path = "/v1/chat/completions" if self.is_chat else "/v1/completions"
        said: dict[str, object] = (
            {"messages": [{"role": "user", "content": prompt}]} if self.is_chat else {"prompt": prompt}
        )
        is_long = tokens > 1
        body = {"model": self.model, **said, "max_tokens": tokens, "temperature": 0, "stream": is_long}
        body |= {"ignore_eos": True} if is_long else {}
        headers = {
            PROBE_HEADER: self._probe,
            "x-request-id": f"tierdeck-probe-{self._probe}-{self._number}",
            **dict.fromkeys(self._route.session_names, session),
        }
        at = time.monotonic()
        response = await self._post(base + path, {**body, "user": "tierdeck-probe"}, headers)
        served_by = next((response.headers[name] for name in self._route.served_by if name in response.headers), "")
        if is_long:
            self._held.append(response)
            return Sent(served_by, at, self._deadline, None, None)
        try:
            document = await response.json(content_type=None)
        except (aiohttp.ClientError, ValueError, TimeoutError) as error:
            raise UnreachableError(f"{base} broke off its answer: {error!r}") from error
        finally:
            response.release()
        return _with_usage(Sent(served_by, at, time.monotonic(), None, None), document)

    async def _post(self, url: str, body: Mapping[str, object], headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        try:
            response = await self._http.post(
                url, json=body, headers=headers, allow_redirects=False, timeout=self._patience()
            )
            if response.status == 200:
                return response
            words = (await response.text())[:200]
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(f"{url} does not answer: {error or type(error).__name__}") from error
        response.release()
        raise RefusedError(f"{url} answered {response.status}: {words}")

    async def text(self, url: str) -> str:
        """A page; empty where there is none."""
        try:
            async with self._http.get(url, allow_redirects=False, timeout=self._patience()) as response:
                return await response.text() if response.status == 200 else ""
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeDecodeError):
            return ""

    async def find_model(self) -> None:
        """The first one that the router serves; where it lists none, the engines'.

        Raises:
            UnreachableError: nobody tells any.
        """
        for base in (self._route.router, *(engine.base for engine in self._route.engines.values())):
            try:
                document = json.loads(await self.text(f"{base}/v1/models") or "{}")
                self.model = str(document["data"][0]["id"])
            except (ValueError, KeyError, IndexError, TypeError):
                continue
            return
        hint = "Give the address that clients use with --router URL."
        raise UnreachableError(f"{self._route.router}/v1/models names no model", hint)

    async def characters_per_token(self, sample: str) -> float:
        """Of the engines' tokenizer (vLLM's `/tokenize`); 4 where none tells."""
        for engine in self._route.engines.values():
            try:
                async with self._http.post(
                    f"{engine.base}/tokenize",
                    json={"model": self.model, "prompt": sample},
                    allow_redirects=False,
                    timeout=self._patience(),
                ) as response:
                    count = (await response.json(content_type=None))["count"] if response.status == 200 else 0
                    if isinstance(count, int) and count > 0:
                        return len(sample) / count
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError, TypeError):
                continue
            break
        return 4.0

    def let_go(self) -> None:
        """End the long requests: engines drop what nobody waits for."""
        for response in self._held:
            response.close()
        self._held.clear()

    def _patience(self) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(total=max(0.05, self._deadline - time.monotonic()))


def _with_usage(sent: Sent, document: Any) -> Sent:
    usage = document.get("usage") if isinstance(document, dict) else None
    if not isinstance(usage, dict):
        return sent
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    prompt = usage.get("prompt_tokens")
    return replace(
        sent,
        prompt_tokens=prompt if isinstance(prompt, int) else None,
        cached_tokens=cached if isinstance(cached, int) else None,
    )
