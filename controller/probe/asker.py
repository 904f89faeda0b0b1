"""Asks the requests of a probe within its bounds, and keeps where each landed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from controller.probe.client import Client, Sent
from controller.probe.counters import busy, counted, one_token_requests
from controller.probe.route import Route
from controller.probe.texts import Texts
from tierdeck.changes.inference import Judgement, is_bound, judge
from tierdeck.changes.landing import Landing
from tierdeck.changes.proof import Verdict
from tierdeck.errors import TierdeckError, UnreachableError

MOST_REQUESTS = 20
"""Those that go to a replica directly included."""
_LEAST_SECONDS = 0.3
"""Nothing is begun with less time than this left."""
_LOOK_SECONDS = 1.0
"""How long a counter is waited for once the answer is there."""
_GAUGE_SECONDS = 0.3
"""How long an engine's gauge is waited for: no longer than what it counts goes on."""
_NOTICE_SECONDS = 0.3
"""Until a router has noticed that nobody waits for an answer any more."""
_MUCH = 2.0
"""Requests more than the least busy replica has. From 5 on vllm-router's kind of balance sends requests elsewhere."""
_SPACING_SECONDS = 0.01
"""Between two requests of a burst: so little that next to nothing of others comes between."""


class Asker:
    """One probe under way."""

    def __init__(self, route: Route, client: Client, wished: str, replicas: Sequence[str], deadline: float) -> None:
        """
        Args:
            replicas: those that answer now, the least busy first.
        """
        self.wished = wished
        self.replicas = tuple(replicas)
        self.idle = self.replicas
        """Those that no router would spare for having too much to do; two at least."""
        self.landings: list[Landing] = []
        self.asked = 0
        self.names_replicas = False
        """Answers say who served them."""
        self.texts = Texts("")
        self.long_tokens = 200
        """Of the answer to a request that is to keep its replica busy."""
        self._route = route
        self._client = client
        self._deadline = deadline
        self._alone = 0
        self._counts_now: dict[str, float] = {}
        """As they were a moment ago, after the last answer; empty: to be read."""

    @property
    def left(self) -> int:
        """Requests that may still be sent; 0 once there is no time for another."""
        return 0 if time.monotonic() > self._deadline - _LEAST_SECONDS else MOST_REQUESTS - self.asked

    def judgement(self) -> Judgement:
        return judge(self.wished, self.landings, self.replicas)

    def is_clear(self) -> bool:
        """More requests would tell no more."""
        return self.judgement().verdict is not Verdict.CANNOT_TELL

    def landed(self) -> Counter[str]:
        """Requests by replica, of those that the router placed."""
        return Counter(one.replica for one in self.landings if one.replica and not one.is_direct)

    def is_bound(self, prefix: Sequence[str]) -> bool:
        """The wished strategy leaves no choice for a request that begins so."""
        return is_bound(
            self.wished,
            _landing(Sent("", time.monotonic(), 0, None, None), prefix, "", ""),
            self.landings,
            self.replicas,
        )

    async def ask(self, prefix: Sequence[str] = (), session: str = "", *, is_long: bool = False) -> Landing | None:
        """Through the router; None where nothing is left.

        Args:
            session: empty: one of its own.
        """
        if self.left <= 0:
            return None
        self.asked += 1
        before = {} if self.names_replicas else self._counts_now or await self._counts()
        self._counts_now = {}
        sent = await self._client.send(
            self._route.router,
            self.texts.prompt(prefix),
            session or self._own_session(),
            self.long_tokens if is_long else 1,
        )
        replica = self._named(sent.served_by)
        self.names_replicas = self.names_replicas or bool(replica)
        if not replica and not is_long:
            replica = await self._counted(before)
        landing = _landing(sent, prefix, session or f"own {self._alone}", replica, is_long=is_long)
        self.landings.append(landing)
        return landing

    async def burst(self, prefix: Sequence[str], session: str, longs: Sequence[bool]) -> None:
        """Many at once in a fixed order; those that are not long have ended when this returns.

        Only where answers name their replica.
        """
        tasks = []
        for is_long in longs[: self.left]:
            tasks.append(asyncio.create_task(self.ask(prefix, session, is_long=is_long)))
            await asyncio.sleep(_SPACING_SECONDS)
        done = await asyncio.gather(*tasks, return_exceptions=True)
        failed = [one for one in done if isinstance(one, TierdeckError)]
        other = [one for one in done if isinstance(one, BaseException) and not isinstance(one, TierdeckError)]
        if other:
            raise other[0]
        if len(failed) > 1:  # one that is lost is a gap; more, and the rest says little
            raise failed[0]

    async def crowd(self, prefix: Sequence[str], count: int) -> None:
        """Long requests that begin so, one after the other, held until `let_go`: a router that evens loads out sends
        what is new elsewhere meanwhile. Who has them is told by how busy the engines are, where it is one of them.
        """
        before = await self._loads()
        held = [await self.ask(prefix, is_long=True) for _ in range(min(count, self.left))]
        end = min(time.monotonic() + _GAUGE_SECONDS, self._deadline)
        while True:
            after = await self._loads()
            more = {name: after.get(name, 0.0) - load for name, load in before.items()}
            having = [name for name, grown in more.items() if grown]
            if sum(more.values()) == len(held) or time.monotonic() > end:
                break
            await asyncio.sleep(0.05)
        if len(having) == 1 and more[having[0]] == len(held):
            self.landings = [replace(one, replica=having[0]) if one in held else one for one in self.landings]

    async def let_go(self) -> None:
        """End the long requests, and let the router notice."""
        self._client.let_go()
        await asyncio.sleep(max(0.0, min(_NOTICE_SECONDS, self._deadline - time.monotonic())))

    async def _loads(self) -> dict[str, float]:
        return {name: busy(page) for name, page in (await self.pages()).items()}

    async def connect(self, count: int) -> None:
        """Open so many connections, so that requests of a burst arrive in the order in which they are sent."""
        await asyncio.gather(*(self._client.text(f"{self._route.router}/v1/models") for _ in range(count)))

    async def seed(self, prefix: Sequence[str], replica: str) -> None:
        """Straight to a replica, so that its caches hold the beginning though the router never sent it there."""
        if self.left <= 0:
            return
        self.asked += 1
        self._counts_now = {}
        sent = await self._client.send(
            self._route.engines[replica].base, self.texts.prompt(prefix), self._own_session()
        )
        self.landings.append(_landing(sent, prefix, f"own {self._alone}", replica, is_direct=True))

    async def seed_all(self, seeds: Sequence[tuple[Sequence[str], str]]) -> None:
        """All at once; then until a router that goes by caches has heard of it."""
        if not seeds:
            return
        await asyncio.gather(*(self.seed(prefix, replica) for prefix, replica in seeds))
        await asyncio.sleep(max(0.0, min(self._route.settle_seconds, self._deadline - time.monotonic() - 3)))

    def _own_session(self) -> str:
        self._alone += 1
        return f"tierdeck-{id(self):x}-{self._alone}"

    def _named(self, served_by: str) -> str:
        """The replica that a header means: by its name, or by its address."""
        if served_by in self._route.engines:
            return served_by
        for name, engine in self._route.engines.items():
            place = urlsplit(engine.base)
            if served_by and served_by.removeprefix("http://").rstrip("/") in (place.netloc, place.hostname):
                return name
        return ""

    async def _counts(self) -> dict[str, float]:
        pages = await self.pages()
        counts = {name: one_token_requests(page) for name, page in pages.items()}
        return {name: count for name, count in counts.items() if count is not None}

    async def pages(self) -> dict[str, str]:
        """The metrics of each engine that answers."""
        names = tuple(self._route.engines)
        pages = await asyncio.gather(*(self._client.text(self._route.engines[name].metrics) for name in names))
        return {name: page for name, page in zip(names, pages, strict=True) if page}

    async def _counted(self, before: dict[str, float]) -> str:
        """Who counted one more; empty where that can't be told."""
        end = min(time.monotonic() + _LOOK_SECONDS, self._deadline)
        while set(before) >= set(self.replicas):
            after = await self._counts()
            found = counted(before, after)
            if found is not None:
                self._counts_now = after
                return found
            if time.monotonic() > end:
                break
            await asyncio.sleep(0.05)
        return ""


def _landing(
    sent: Sent, prefix: Sequence[str], session: str, replica: str, *, is_direct: bool = False, is_long: bool = False
) -> Landing:
    known = (sent.prompt_tokens, sent.cached_tokens)
    return Landing(sent.at, sent.until, session, tuple(prefix), replica, is_direct, is_long, *known)


async def ready(asker: Asker) -> None:
    """Learn which replicas answer, and how busy they are.

    Raises:
        UnreachableError: none does.
    """
    pages = await asker.pages()
    load = {name: busy(page) for name, page in pages.items()}
    asker.replicas = tuple(sorted(load, key=lambda name: load[name]))
    asker.idle = tuple(
        name for turn, name in enumerate(asker.replicas) if turn < 2 or load[name] - min(load.values()) <= _MUCH
    )
    if not asker.replicas:
        raise UnreachableError("No engine of the endpoint answers with its metrics", "See `tierdeck status`.")
