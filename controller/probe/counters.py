"""Where a request landed, read from the engines' own counters: the one that counted one more.

Sources: vLLM 0.11 to 0.32, `vllm:request_params_max_tokens` (a histogram of what requests ask for, counted when they
end): next to nobody but a probe asks for one token, so that other traffic does not disturb;
`vllm:request_success_total` where that is missing; `http_requests_total` by `handler`
(prometheus-fastapi-instrumentator).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ONE_TOKEN = re.compile(r'^vllm:request_params_max_tokens_bucket\{[^}]*le="1(?:\.0)?"[^}]*\} (\S+)', re.MULTILINE)
_ENDED = re.compile(r"^vllm:request_success_total(?:\{[^}]*\})? (\S+)", re.MULTILINE)
_BUSY = re.compile(r"^vllm:num_requests_(?:running|waiting)(?:\{[^}]*\})? (\S+)", re.MULTILINE)
_CHAT = re.compile(r'^http_requests_total\{[^}]*handler="/v1/chat/completions"[^}]*\} (\S+)', re.MULTILINE)
_BY_PATH = re.compile(r'^http_requests_total\{[^}]*handler="[^"]', re.MULTILINE)
_STARTED = re.compile(r"^process_start_time_seconds(?:\{[^}]*\})? (\S+)", re.MULTILINE)
_COMPLETIONS = re.compile(r'^http_requests_total\{[^}]*handler="/v1/completions"[^}]*\} (\S+)', re.MULTILINE)


def one_token_requests(page: str) -> float | None:
    """Requests of one token that ended; else all that ended; None: the page counts neither."""
    for pattern in (_ONE_TOKEN, _ENDED):
        found = pattern.findall(page)
        if found:
            return sum(float(value) for value in found)
    return None


def counted(before: Mapping[str, float], after: Mapping[str, float]) -> str | None:
    """The replica that counted exactly one more; empty: several did, or more; None: none has yet."""
    more = {name: after[name] - before[name] for name in before if name in after and after[name] != before[name]}
    if not more:
        return None
    return next(iter(more)) if list(more.values()) == [1.0] else ""


def busy(page: str) -> float:
    """Requests that the engine has, running and waiting."""
    return sum(float(value) for value in _BUSY.findall(page))


@dataclass(frozen=True, slots=True)
class Counted:
    """Chat completions that one engine has counted.

    Attributes:
        chats: since it started, whatever they were answered with.
        since: when it started, epoch seconds; None: not told, as where several processes serve one page.
    """

    chats: float
    since: float | None


def chats_counted(page: str) -> Counted | None:
    """None: the page doesn't count requests by their path (yet: no path at all has been asked for)."""
    if not _BY_PATH.search(page):
        return None
    started = _STARTED.search(page)
    return Counted(sum(float(value) for value in _CHAT.findall(page)), float(started[1]) if started else None)


def is_chat(pages: Mapping[str, str]) -> bool | None:
    """Whether clients mostly send chats; None: the pages don't tell."""
    chats, completions = (
        sum(float(value) for page in pages.values() for value in pattern.findall(page))
        for pattern in (_CHAT, _COMPLETIONS)
    )
    return None if chats == completions == 0 else chats > completions
