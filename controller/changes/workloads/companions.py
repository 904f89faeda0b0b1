"""What a strategy of production-stack's router needs beside its name, and what of that is missing.

Sources: vllm-project/production-stack, routing_logic.py (kvaware tokenizes `prompt` only: chat requests fall back),
issue 418 (kvaware without a controller port crashes the router); AWS documentation on caching and routing (kvaware
needs LMCache 0.4.3 and vLLM 0.19.1); LMCache, "Controller Configurations".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from controller.changes.chats import chat_refusals, chat_warnings
from controller.changes.planner import Look
from controller.reading.commands import Command
from controller.reading.images import versions_of
from controller.reading.lmcache import Settings, is_on
from controller.reading.processes import Process
from tierdeck.changes.plan import Refusal
from tierdeck.routing import RoutingStrategy

_LEAST = {"vllm": (0, 19, 1), "lmcache": (0, 4, 3)}


def session_missing(key: str, where: str, fix: str) -> Iterator[Refusal]:
    """
    Args:
        key: the header or field that names a session; empty: none is set.
        where: what should set it.
        fix: how.
    """
    if not key:
        yield Refusal("session_key_missing", f"{where} names no session key, and the strategy session needs one.", fix)


def kvaware_missing(look: Look, port: str, where: str, engines: Sequence[Process]) -> Iterator[Refusal]:
    """
    Args:
        port: of LMCache's controller in the router; empty: none is set.
        where: the router.
    """
    yield from chat_refusals(look)
    if not port:
        yield Refusal(
            "kvaware_controller",
            f"{where} names no port of LMCache's controller, without which it crashes.",
            "Set --lmcache-controller-port (9000) first, and let engines reach it by a Service.",
        )
    for engine in engines:
        settings = Settings(engine)
        url = settings.get("controller_pull_url") or settings.get("controller_url")
        if not is_on(settings.get("enable_controller")) or url is None:
            yield Refusal(
                "kvaware_controller",
                f"{engine.where} does not tell LMCache's controller what it holds.",
                "Set LMCACHE_ENABLE_CONTROLLER, LMCACHE_CONTROLLER_PULL_URL and its worker ports first: it restarts.",
            )
        for name, version in versions_of(engine.image).items():
            least = _LEAST.get(name)
            if least is not None and _numbers(version) < least:
                wanted = ".".join(map(str, least))
                yield Refusal(
                    "kvaware_versions", f"{engine.where} runs {name} {version}; kvaware needs {wanted} or newer."
                )


def strategy_warnings(
    look: Look, strategy: str, routers: Sequence[tuple[str, int | None]], engines: Sequence[Process]
) -> Iterator[str]:
    """What a person should know of a strategy before it is used.

    Args:
        routers: each with its replicas, where known.
    """
    if strategy in (RoutingStrategy.PREFIXAWARE, RoutingStrategy.KVAWARE):
        for name, replicas in routers:
            if replicas is not None and replicas > 1:
                yield f"{name} has {replicas} replicas, each of which remembers only what it routed itself."
    if strategy != RoutingStrategy.KVAWARE:
        return
    yield from chat_warnings(look)
    for engine in engines:
        unknown = [name for name in _LEAST if name not in versions_of(engine.image)]
        if unknown:
            yield f"{engine.where}: the version of {' and '.join(unknown)} is not known; kvaware needs a recent one."


def hot_spot(router: Command, where: str) -> Iterator[str]:
    """prefixaware takes any match, and knows no load.

    Source: vllm-project/production-stack, routing_logic.py (`prefix_min_match_length` 0), issue 957.
    """
    if router.value("--prefix-min-match-length") in ("", "0"):
        yield (
            f"{where}: any common beginning counts as a match, so requests that share a system prompt all go to the "
            "engines that saw it first; --prefix-min-match-length sets a least."
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version)[:3])
