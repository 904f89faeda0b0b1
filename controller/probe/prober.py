"""One probe of an endpoint's router: at most 20 requests and 15 seconds, and a verdict with its evidence."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from dataclasses import dataclass, replace

import aiohttp

from controller.probe.asker import Asker, ready
from controller.probe.client import Client, RefusedError
from controller.probe.counters import is_chat
from controller.probe.route import Route
from controller.probe.scripts import SCRIPTS
from controller.probe.texts import Texts
from tierdeck.changes.inference import Judgement, strategy_of
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.errors import TierdeckError, UnreachableError
from tierdeck.routing import RoutingStrategy

MOST_SECONDS = 15.0
_MARGIN_SECONDS = 0.5
_SAMPLE = "the first part of the system is one case of the work that people do at home and at school every day"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The path that is asked.

    Attributes:
        is_chat: None: as the engines' counters say that clients do; completions where they don't.
    """

    is_chat: bool | None = None


def probe(route: Route, wished: str, chosen: Chosen | None = None) -> Proof:
    """Find out whether the wished strategy is in effect.

    Raises:
        UnreachableError: no engine, or no router, answers.
    """
    return asyncio.run(_probe(route, wished, chosen or Chosen()))


async def _probe(route: Route, wished: str, chosen: Chosen) -> Proof:
    at, began, name = time.time(), time.monotonic(), uuid.uuid4().hex[:12]
    deadline = began + MOST_SECONDS - _MARGIN_SECONDS
    async with aiohttp.ClientSession(trust_env=False, connector=aiohttp.TCPConnector(limit=64)) as http:
        client = Client(route, http, name, deadline)
        asker = Asker(route, client, wished, tuple(route.engines), deadline)
        trouble = ""
        strategy = strategy_of(wished)
        try:
            await ready(asker)
            await client.find_model()
            asked = chosen.is_chat if chosen.is_chat is not None else is_chat(await asker.pages())
            client.is_chat = bool(asked)
            if strategy is not None and len(asker.replicas) > 1:
                asker.texts = Texts(name, await client.characters_per_token(_SAMPLE))
                await SCRIPTS[strategy](asker)
        except (RefusedError, UnreachableError) as error:
            if not asker.landings:
                raise _unreachable(error) from error
            trouble = f"It broke off: {error.line()}"
        finally:
            client.let_go()
        judgement = asker.judgement()
        if strategy is RoutingStrategy.SESSION and not route.is_session_known:
            judgement = _as_far_as_named(judgement, route)
        if trouble and judgement.verdict is Verdict.CANNOT_TELL:
            judgement = replace(judgement, evidence=(*judgement.evidence, trouble))
        return _proof(asker, judgement, at, time.monotonic() - began, is_chat=client.is_chat)


def _as_far_as_named(judgement: Judgement, route: Route) -> Judgement:
    """A router that looks for its sessions in another header than ours is no proof of anything."""
    if judgement.verdict is not Verdict.APPLIED_NOT_EFFECTIVE:
        return judgement
    names = ", ".join(route.session_names)
    words = f"Sessions were named in {names}; the router may look for them elsewhere: name its --session-header."
    return Judgement(Verdict.CANNOT_TELL, judgement.seen, (*judgement.evidence, words))


def _proof(asker: Asker, judgement: Judgement, at: float, seconds: float, *, is_chat: bool) -> Proof:
    tokens: Counter[str] = Counter()
    for one in asker.landings:
        tokens[one.replica] += one.prompt_tokens or 0
    path = "chat completions" if is_chat else "completions"
    how = "a header of the answer" if asker.names_replicas else "the engines' counters"
    evidence = (
        (*judgement.evidence, f"Asked by {path}; who served them is known from {how}.")
        if asker.asked
        else (judgement.evidence)
    )
    known = tuple(sorted((name, count) for name, count in tokens.items() if name and count))
    return Proof(judgement.verdict, asker.wished, judgement.seen, evidence, asker.asked, seconds, at, known)


def _unreachable(error: TierdeckError) -> UnreachableError:
    if isinstance(error, UnreachableError):
        return error
    return UnreachableError(str(error), "Give the address that clients use with --router URL.")
