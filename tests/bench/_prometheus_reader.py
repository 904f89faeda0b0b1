"""What is measured of `tests.bench.prometheus`, in a process of its own; prints one line of JSON."""

from __future__ import annotations

import json
import re
import resource
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial

from pydantic import SecretStr

from collectors.garbage import look_seldom
from collectors.prometheus.asking import Asking
from collectors.prometheus.backfill import Past, fill
from collectors.prometheus.feed import Feed
from collectors.prometheus.selectors import OURS, STARTS, UPS
from collectors.prometheus.server import Server
from collectors.writer import Writer
from db import Store
from tierdeck.account import WarmingLimits
from tierdeck.settings import Settings

_INTERVAL = 60
_ROUNDS = 5


def main(what: str, url: str, end: int, folder: str) -> None:
    look_seldom()
    settings = Settings(prometheus_url=SecretStr(url))
    with Store.open(f"sqlite:///{folder}/bench.db", migrate=True) as store:
        found = _round(settings, store, end) if what == "round" else _backfill(settings, store, end)
    found["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def _round(settings: Settings, store: Store, end: int) -> dict[str, float]:
    """Medians over rounds that are asked for, accounted and written; the first learns the series."""
    writer = Writer(store)
    feed = Feed(settings, lambda: (), store, writer.put)
    spent, rolling = [], []
    for at in range(end - _ROUNDS * _INTERVAL, end + 1, _INTERVAL):
        before = _queries(settings.prometheus_address)

        def act(at: int = at) -> None:
            feed.step(float(at))
            writer.flush()

        spent.append(_cpu_seconds(act))
        rolling.append(_cpu_seconds(partial(store.rollup, float(at), WarmingLimits())))
        queries = _queries(settings.prometheus_address) - before
    with Server.of(settings) as server:
        lookback = f"[{_INTERVAL + settings.prometheus_late_seconds:.0f}s]"
        ask = [(UPS.text(), end), *((one.text(), end) for one in (*OURS, STARTS))]
        peer = [_cpu_seconds(lambda: [server.instant(f"{text}{lookback}", at) for text, at in ask]) for _ in range(3)]
    return {
        "cpu_seconds": statistics.median(spent[1:]),
        "peer_cpu_seconds": statistics.median(peer),
        "rollup_cpu_seconds": statistics.median(rolling[1:]),
        "queries": queries,
    }


def _backfill(settings: Settings, store: Store, end: int) -> dict[str, float]:
    past = Past(settings.prometheus_address, 86_400, end, "default", WarmingLimits())
    started = time.monotonic()
    with Server.of(settings) as server:
        for progress in fill(past, lambda: Asking(server), (), store):
            assert progress.told_at
    return {"seconds": time.monotonic() - started}


def _cpu_seconds(act: Callable[[], object]) -> float:
    started = time.process_time()
    act()
    return time.process_time() - started


def _queries(address: str) -> int:
    """Queries that the server says it has answered."""
    with urllib.request.urlopen(f"{address}/metrics") as page:
        text = page.read().decode()
    found = re.findall(r'^prometheus_http_requests_total\{.*handler="/api/v1/query(?:_range)?".*\} (\S+)', text, re.M)
    return sum(int(float(number)) for number in found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
