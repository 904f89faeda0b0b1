"""A process's own port: metrics, and whether its loops come round."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from collectors.collector import Collector
from collectors.writer import Writer
from controller.api.access import open_api
from controller.controller import Controller
from db import Store
from health.port import serve
from health.pulse import HUNG_SECONDS, Pulse
from tests.support.processes import wait_until
from tests.support.rounds import T0, a_round
from tests.support.stores import Sqlite
from tierdeck.errors import UsageError
from tierdeck.rounds import Round
from tierdeck.settings import load_settings

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: nobody, user: {token: "none"}}]
"""


@contextmanager
def served(pulse: Pulse, address: str = "127.0.0.1") -> Iterator[str]:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as free:
        free.bind((address, 0))
        port = free.getsockname()[1]
    server = serve(load_settings(metrics_port=port, metrics_address=address), pulse)
    assert server is not None
    try:
        yield f"http://{f'[{address}]' if ':' in address else address}:{port}"
    finally:
        server.shutdown()
        server.server_close()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_metrics_and_health_are_served_and_a_hung_loop_fails_only_the_latter(address: str) -> None:
    now = 0.0
    pulse = Pulse(lambda: now)
    pulse.beat("look", 300)
    with served(pulse, address) as url:
        assert get(f"{url}/healthz") == (200, "ok\n")
        now = 301.0
        assert get(f"{url}/healthz") == (503, "the loop look has not come round for 301 s\n")
        assert "python_info" in get(f"{url}/metrics")[1]
        pulse.beat("look", 300)
        assert get(f"{url}/healthz") == (200, "ok\n")


def test_a_port_that_is_taken_is_told_and_none_is_served_where_none_is_named() -> None:
    with served(Pulse()) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(UsageError, match=f"can't serve metrics on 127.0.0.1:{port}: Address already in use"):
            serve(load_settings(metrics_port=port), Pulse())
    assert serve(load_settings(metrics_port=0), Pulse()) is None


class Faulty(Store):
    """One that fails by a fault of ours."""

    def append(self, rounds: Sequence[Round]) -> None:
        raise ValueError("a fault of ours")


async def test_a_writer_that_ended_by_a_fault_is_noticed(sqlite: Sqlite) -> None:
    now = 0.0
    pulse = Pulse(lambda: now)
    with Faulty.open(sqlite.migrated()) as store:
        writer = Writer(store, pulse)
        writer.put(a_round(T0))
        with pytest.raises(ValueError, match="a fault of ours"):
            await asyncio.wait_for(writer.run(), 30)
    assert pulse.trouble() == ""
    now = 301.0
    assert pulse.trouble() == "the loop write has not come round for 301 s"


class Heard(Pulse):
    """Remembers which loops came round."""

    def __init__(self) -> None:
        super().__init__()
        self.loops: set[str] = set()

    def beat(self, loop: str, within_seconds: float = HUNG_SECONDS) -> None:
        self.loops.add(loop)
        super().beat(loop, within_seconds)


async def test_every_loop_of_the_collectors_is_watched(sqlite: Sqlite, tmp_path: Path) -> None:
    pulse, stop = Heard(), asyncio.Event()
    settings = load_settings(home=tmp_path, prometheus_url="http://127.0.0.1:1")
    with Store.open(sqlite.migrated()) as store:
        task = asyncio.create_task(Collector(settings, store, "0.1", pulse).run(stop))
        try:
            async with asyncio.timeout(30):
                while pulse.loops != {"write", "inventory", "rollup", "prune", "beat", "prometheus"}:
                    await asyncio.sleep(0.05)
        finally:
            stop.set()
            await task


def test_every_loop_of_the_controller_is_watched_also_while_the_api_is_away(sqlite: Sqlite, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    settings = load_settings(home=tmp_path, kubeconfig=kubeconfig)
    pulse, stop = Heard(), threading.Event()
    with Store.open(sqlite.migrated()) as store:
        thread = threading.Thread(target=Controller(settings, store, open_api(settings), stop, pulse).run)
        thread.start()
        try:
            wait_until(lambda: pulse.loops == {"look", "watches", "heartbeat", "changes"}, "every loop")
        finally:
            stop.set()
            thread.join(30)
    assert pulse.trouble() == ""
