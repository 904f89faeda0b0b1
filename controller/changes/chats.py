"""kvaware and chat: it reads `prompt` only, so it is refused where chats came, and said where that is not known.

Source: vllm-project/production-stack, routing_logic.py (kvaware tokenizes `prompt`; chat falls back).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from controller.changes.planner import Look
from tierdeck.changes.plan import Refusal

_DAY_SECONDS = 86400.0
_MEANING = "kvaware routes chat as if its prompt were empty"
_FIX = "Take prefixaware or session for chat, or move the clients to /completions."


def chat_refusals(look: Look) -> Iterator[Refusal]:
    """Where chats were seen within 24 hours, or were counted and when the last one came can't be told."""
    load = look.load
    if load.chat_seen_at is not None:
        if look.at - load.chat_seen_at <= _DAY_SECONDS:
            hours = (look.at - load.chat_seen_at) / 3600
            yield Refusal("kvaware_chat", f"Chat completions came {hours:.1f} hours ago, and {_MEANING}.", _FIX)
    elif load.chats:
        requests = "1 chat request" if load.chats == 1 else f"{load.chats:.0f} chat requests"
        since = f"at {_moment(load.chats_since)}" if load.chats_since is not None else "at a time that is not known"
        yield Refusal(
            "kvaware_chat",
            f"{requests} came since the engines started {since}; when the last one was is not known, and {_MEANING}.",
            _FIX,
        )


def chat_warnings(look: Look) -> Iterator[str]:
    """Where it is not known whether chats came within 24 hours."""
    load = look.load
    if load.chat_seen_at is not None or load.chats:
        return
    free = load.chat_free_since
    if free is None:
        yield f"Whether chat came within 24 hours is not known; {_MEANING}."
    elif look.at - free < _DAY_SECONDS:
        yield (
            f"No chat came since the engines started, the last of them at {_moment(free)}; whether chat came within "
            f"24 hours is not known, and {_MEANING}."
        )


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
