"""Two collectors on one simulated fleet: one scrapes it, the other asks a Prometheus that scrapes it; their ledgers.

Both count the same counters, at other moments of the same second. So at each edge where counting begins or ends the
two may differ by what comes in between two scrapes: at the window's two edges, and wherever a process ended, whose
last tokens nobody saw, each collector from its own last scrape on. In between nothing may be lost or counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db import Store
from tests.support.processes import running, wait_until
from tests.support.scraped import Lab, running_lab, scraping
from tierdeck.account import ReplicaAccount
from tierdeck.resolution import Resolution
from tierdeck.settings import Settings
from tierdeck.split import split

SPEED = 10
FLEET = frozenset(
    (endpoint, f"{endpoint}-{number}")
    for endpoint, count in (("chat", 3), ("rag", 2), ("batch", 2))
    for number in range(count)
)
"""The small fleet's replicas."""
COUNTED = ("prompt_tokens", "l0", "lower", "miss")
_EVERY = {"TIERDECK_SCRAPE_INTERVAL_SECONDS": "1", "TIERDECK_SCRAPE_TIMEOUT_SECONDS": "0.9"}
_LATE_SECONDS = 5.0
"""Rounds of a moment are stored by then, or the ones after it would not be."""


@dataclass(frozen=True, slots=True)
class Told:
    """A replica's account; `is_gone`: it is none of the fleet's any more."""

    account: ReplicaAccount
    is_gone: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """One count of one replica, told by both.

    Attributes:
        interval: the most that the direct collector counted in one scrape interval. One of Prometheus's lies across
            two of those, so that it may hold nearly twice as much, and never more.
        edges: where the two may differ: two, and one for each process that ended.
    """

    endpoint: str
    replica: str
    count: str
    direct: float
    asked: float
    interval: float
    edges: int

    @property
    def an_edge(self) -> float:
        """Scrape intervals by which they differ, for each edge."""
        return abs(self.asked - self.direct) / (self.edges * self.interval) if self.asked != self.direct else 0.0

    def __str__(self) -> str:
        return (
            f"{self.endpoint}/{self.replica} {self.count}: {self.asked:,.0f} asked, {self.direct:,.0f} direct, "
            f"{self.an_edge:.2f} intervals an edge ({self.edges} edges, {self.interval:,.0f} an interval)"
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """Both collectors at work; `direct` and `asked` are their stores."""

    lab: Lab
    direct: Store
    asked: Store

    def begin(self) -> int:
        """An epoch second from which on both count every replica."""
        self._until(lambda store: counting(store, 0) >= FLEET, "counts of every replica")
        return int(time.time())

    def disturb(self, start_at: int) -> dict[tuple[str, str], int]:
        """Restart a replica, then all of an endpoint for other sizes, then take two pods away; each once both have
        seen what was before it.

        Returns:
            How many processes of each replica ended.
        """
        self._restart("rag", "rag-1", start_at)
        self._resize("chat", start_at)
        new = [self._replace_node(endpoint, start_at) for endpoint in ("chat", "batch")]
        ends = dict.fromkeys((*FLEET, *new), 0)
        once = [("rag", "rag-1"), *(key for key in FLEET if key[0] == "chat")]
        for key in (*once, ("chat", "chat-0"), ("batch", "batch-0")):  # the first pod of an endpoint is taken away
            ends[key] += 1
        return ends

    def _restart(self, endpoint: str, replica: str, start_at: int) -> None:
        wanted = restarts(self.direct, start_at, endpoint)
        wanted[replica] += 1
        self._switch("replica-restart", endpoint, replica)
        self._until_restarted(start_at, endpoint, wanted)

    def _resize(self, endpoint: str, start_at: int) -> None:
        wanted = {name: number + 1 for name, number in restarts(self.direct, start_at, endpoint).items()}
        self.lab.change("sizes", {"endpoint": endpoint, "l0": "4GiB", "l1": "10GiB"})
        self._until_restarted(start_at, endpoint, wanted)

    def _replace_node(self, endpoint: str, start_at: int) -> tuple[str, str]:
        """The successor, once both count its tokens."""
        state = self._switch("node-replaced", endpoint)
        (new,) = {(endpoint, name) for name in state["endpoints"][endpoint]["replicas"]} - FLEET
        self._until(lambda store: new in counting(store, start_at), f"tokens of {new[1]}")
        return new

    def _switch(self, fault: str, endpoint: str, replica: str = "") -> Any:
        """Something that happens once: off again, so that it can happen again."""
        where = {"name": fault, "endpoint": endpoint, "replica": replica}
        state = self.lab.change("faults", {**where, "on": True})
        self.lab.change("faults", {**where, "on": False})
        return state

    def differences(self, start_at: int, end_at: int) -> list[Difference]:
        """Of the window (start_at, end_at], replica by replica, once both have stored all of it."""
        self._until(lambda store: (store.last_at() or 0.0) > end_at + _LATE_SECONDS, "the window's last rounds")
        direct, asked = (replicas(store, start_at, end_at) for store in (self.direct, self.asked))
        assert direct.keys() == asked.keys()
        return [one for key in sorted(direct) for one in self._compared(key, direct[key], asked[key])]

    def _compared(self, key: tuple[str, str], direct: Told, asked: Told) -> Iterator[Difference]:
        ledger = direct.account.ledger
        assert asked.account.ledger.restarts == ledger.restarts, key
        edges = 2 + ledger.restarts + direct.is_gone
        rows = self.direct.replica_series(ledger.started_at, ledger.ended_at, Resolution.RAW, "default", key[0])
        rows = rows[rows["replica"] == key[1]]
        for count in COUNTED:
            ours, peer = (getattr(split(one.account.ledger), count).value for one in (asked, direct))
            assert None not in (ours, peer), (key, count)
            interval = float(rows[count].max())
            yield Difference(*key, count, peer, ours, interval, edges)

    def _until_restarted(self, start_at: int, endpoint: str, wanted: Mapping[str, int]) -> None:
        self._until(lambda store: restarts(store, start_at, endpoint) == wanted, f"restarts of {endpoint}")

    def _until(self, seen: Callable[[Store], bool], what: str) -> None:
        """Wait until something is seen in both stores."""
        wait_until(lambda: seen(self.direct) and seen(self.asked), what)


def replicas(store: Store, start_at: float, end_at: float) -> dict[tuple[str, str], Told]:
    """Every replica of the window by endpoint and name."""
    found: dict[tuple[str, str], Told] = {}
    for one in store.accounts(start_at, end_at):
        found |= {(one.endpoint, account.name): Told(account, is_gone=False) for account in one.replicas}
        found |= {(one.endpoint, account.name): Told(account, is_gone=True) for account in one.departed}
    return found


def restarts(store: Store, start_at: float, endpoint: str) -> dict[str, int]:
    """Restarts of an endpoint's replicas since a moment."""
    found = replicas(store, start_at, time.time() + 1)
    return {name: told.account.ledger.restarts for (owner, name), told in found.items() if owner == endpoint}


def counting(store: Store, start_at: float) -> set[tuple[str, str]]:
    """Replicas whose tokens were counted since a moment."""
    found = replicas(store, start_at, time.time() + 1)
    return {key for key, told in found.items() if (told.account.ledger.prompt_tokens or 0) > 0}


@contextmanager
def two_collectors(folder: Path) -> Iterator[Pair]:
    """The small fleet, its Prometheus, and both collectors, which look every second."""
    with ExitStack() as stack:
        lab = stack.enter_context(running_lab(folder, "--speed", f"{SPEED}"))
        server = stack.enter_context(scraping(folder, lab))
        stores = {}
        told = {
            "direct": {"TIERDECK_CONFIG_FILE": str(lab.config)},
            "asked": {"TIERDECK_PROMETHEUS_URL": server.url, "TIERDECK_PROMETHEUS_BACKFILL_SECONDS": "0"},
        }
        for name, environment in told.items():
            home = folder / name
            home.mkdir()
            stores[name] = stack.enter_context(Store.open(Settings(home=home).store_url, migrate=True))
            own = {"TIERDECK_HOME": str(home), **_EVERY, **environment}
            stack.enter_context(running("collectors", log=folder / f"{name}.log", **own))
        yield Pair(lab, **stores)
