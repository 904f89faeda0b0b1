"""The Prometheus in memory answers what a real one answers to the queries that our code asks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from collectors.prometheus.absent import nothing_found
from collectors.prometheus.asking import Asking
from collectors.prometheus.errors import QueryRefusedError
from collectors.prometheus.server import Series, Server
from tests.support.expositions import lmcache_mp, ttft, vllm
from tests.support.memory_prometheus import MemoryPrometheus
from tests.support.processes import wait_until
from tests.support.prometheus import load_openmetrics, running_prometheus
from tierdeck.settings import Settings

T0 = 1_700_000_400
CHAT = {"job": "ns/chat", "namespace": "ns", "pod": "chat-0", "instance": "10.0.0.1:8000", "tier": 'a "b" \\c'}
OTHER = {"job": "web", "instance": "10.0.0.9:80"}


class Both:
    """Asks the Prometheus in memory and a real one, and lets no difference pass."""

    def __init__(self, memory: MemoryPrometheus, real: Server) -> None:
        self._memory, self._real = memory, real
        self.asked = 0

    def instant(self, query: str, at: float) -> list[Series]:
        return self._same(self._memory.instant(query, at), self._real.instant(query, at), query)

    def over(self, query: str, start: float, end: float, step_seconds: float) -> list[Series]:
        span = (start, end, step_seconds)
        return self._same(self._memory.over(query, *span), self._real.over(query, *span), query)

    def help_text(self, metric: str) -> str:
        return self._memory.help_text(metric)

    def _same(self, mine: list[Series], theirs: list[Series], query: str) -> list[Series]:
        assert _plain(mine) == _plain(theirs), query
        self.asked += 1
        return theirs


def _plain(answers: list[Series]) -> list[Any]:
    return sorted(
        (sorted(one["metric"].items()), [(float(at), float(text)) for at, text in one.get("values") or [one["value"]]])
        for one in answers
    )


def stored() -> MemoryPrometheus:
    """A pod whose process is another from the fourth scrape on, with the lookups under two names; and a stranger."""
    memory = MemoryPrometheus()
    for number in range(8):
        at, start, queries = T0 + 15.0 * number, T0 - (1000.0 if number < 4 else -50.0), 100.0 * (number % 4)
        old = {'vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"}': queries}
        page = vllm(queries, 0.5 * queries, start=start, more={**old, **ttft({"0.1": number, "+Inf": number})})
        memory.scrape(CHAT, at, page)
        memory.scrape(OTHER, at, "vllmish:recorded 1\nprocess_start_time_seconds 5\n")
    return memory


def openmetrics(memory: MemoryPrometheus) -> str:
    lines = []
    for labels, at, value in memory.samples():
        inside = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items() if name != "__name__")
        lines.append(f"{labels['__name__']}{{{inside}}} {value} {at:.3f}\n")
    return "".join(lines) + "# EOF\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def test_what_our_code_asks_has_the_same_answers_as_from_a_real_server(tmp_path: Path) -> None:
    memory = stored()
    load_openmetrics(tmp_path, openmetrics(memory))
    with running_prometheus(tmp_path) as prometheus, _client(prometheus.url) as real:
        both = Both(memory, real)
        asking = Asking(both)
        asking.discover(T0 + 106)
        assert [address.labels["pod"] for address in asking.catalogue.addresses if address.kind] == ["chat-0"]
        assert asking.raw(T0 + 20.5, T0 + 106)
        assert asking.raw(T0 + 20.5, T0 + 106, {"10.0.0.1:8000"})
        assert asking.grid(T0 + 1, T0 + 421, 60)  # the last 5 minutes are looked back for
        # the fourth scrape has 300, the fifth 0: within the minute up to T0 + 61; at T0 + 421 the last sample is gone
        moments = [moment - T0 for found in asking.resets(T0 + 1, T0 + 421, 60).values() for moment in found]
        assert set(moments) == {61}
        nothing_found(both, T0 + 106, "")
        nothing_found(both, T0 + 106, 'namespace="other"')
        for server in (memory, real):  # without their names both lookups are alike
            with pytest.raises(QueryRefusedError, match="same labelset"):
                server.over('resets({__name__=~"vllm:.*queries_total"}[60s])', T0 + 1, T0 + 61, 60)
        assert both.asked > 20


@contextmanager
def _client(url: str) -> Iterator[Server]:
    with Server.of(Settings(prometheus_url=SecretStr(url))) as server:
        yield server


class _Target(ThreadingHTTPServer):
    """Serves the page that it is told, and remembers what it served; a page of None fails."""

    page: str | None = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.served: list[str | None] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Target

    def do_GET(self) -> None:
        page = self.server.page
        self.send_response(200 if page is not None else 500)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write((page or "").encode())
        self.server.served.append(page)

    def log_message(self, *_: object) -> None:
        """Nothing to say."""


@contextmanager
def _serving() -> Iterator[_Target]:
    with _Target() as target:
        thread = threading.Thread(target=target.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield target
        finally:
            target.shutdown()
            thread.join()


def test_series_that_end_are_gone_at_once_as_in_a_real_server(tmp_path: Path) -> None:
    scrape = "{job_name: chat, scrape_interval: 300ms, scrape_timeout: 300ms, static_configs: [{targets: ['%s']}]}"
    with _serving() as target, running_prometheus(tmp_path) as prometheus, _client(prometheus.url) as real:
        labels = {"job": "chat", "instance": f"127.0.0.1:{target.server_port}"}

        def scraped() -> list[tuple[float, str | None]]:
            """Each scrape's instant and page: every page that is served is one sample of `up`."""
            found = real.instant('up{job="chat"}[1m]', real.server_time())
            instants = [float(at) for at, _ in found[0]["values"]] if found else []
            return list(zip(instants, target.served, strict=False))

        prometheus.reload(f"scrape_configs: [{scrape % labels['instance']}]")
        for page in (vllm(5, 1, requests=1), vllm(7, 1), None, lmcache_mp(3, None)):
            target.page = page
            wait_until(lambda page=page: page in [one for _, one in scraped()], "a scrape of a page")  # type: ignore[misc]
        memory = MemoryPrometheus()
        for at, page in scraped():
            memory.scrape(labels, at, page)
            for query in ('{__name__=~"vllm:.*|lmcache.*|up",job="chat"}', "process_start_time_seconds{job='chat'}"):
                later = round(at + 0.1, 3)
                assert _plain(memory.instant(query, later)) == _plain(real.instant(query, later))
