"""Certificates of our own: renewed before they end, trusted before they are served, loaded without a restart."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import ClientConnectorCertificateError, ClientSession

from controller.injector.certificates import Pair, bundle, make_pair, read, renewed, served, written
from controller.injector.decision import NotOurs
from controller.injector.keeper import Files, Keeper
from controller.injector.review import Reviewer
from controller.injector.server import app_of, serve
from tests.support.cluster_programs import free_port
from tierdeck.errors import TierdeckError, UsageError

NAMES = ("127.0.0.1", "injector.deck.svc")
T0 = 1_700_000_000.0
LIFE = 3000.0


def test_a_certificate_is_renewed_in_time_and_served_once_all_trust_it() -> None:
    first = renewed((), NAMES, T0, LIFE)
    assert len(first) == 1
    assert served(first, T0) == first[0]
    assert renewed(first, NAMES, T0 + 1999, LIFE) == first
    both = renewed(first, NAMES, T0 + 2000, LIFE)  # 2/3 of its life
    assert both[0] == first[0]
    assert len(both) == 2
    assert bundle(both) == first[0].authority + both[1].authority
    assert served(both, T0 + 2000) == first[0]
    assert served(both, T0 + 2119) == first[0]
    assert served(both, T0 + 2120) == both[1]  # two minutes later
    assert renewed(both, NAMES, T0 + 2200, LIFE) == both
    assert renewed(both, NAMES, T0 + 3000, LIFE) == both[1:]


def test_other_names_make_another_certificate() -> None:
    first = renewed((), NAMES, T0, LIFE)
    other = renewed(first, ("elsewhere.svc",), T0 + 1, LIFE)
    assert len(other) == 1
    assert other[0].certificate != first[0].certificate


def test_what_was_written_is_read_and_what_is_broken_is_made_anew() -> None:
    pairs = renewed((), NAMES, T0, LIFE)
    assert read(written(pairs)) == pairs
    for broken in (
        "",
        "{",
        "[]",
        "[1]",
        '[{"certificate": "x", "key": "", "authority": "", "serve_at": 0, "end_at": 1}]',
    ):
        assert read(broken) == ()


@dataclass
class Given:
    """A source that has what the test gives it."""

    pair: Pair | None = None
    error: TierdeckError | None = None
    looks: list[int] = field(default_factory=list)

    def look(self) -> Pair | None:
        if self.error is not None:
            raise self.error
        return self.pair


async def _get(port: int, trusted: str) -> int:
    context = ssl.create_default_context(cadata=trusted)
    async with ClientSession() as session, session.get(f"https://127.0.0.1:{port}/readyz", ssl=context) as answer:
        return answer.status


async def test_a_new_certificate_is_served_without_a_restart() -> None:
    now = time.time()
    one, other = (make_pair(NAMES, now, LIFE, now) for _ in range(2))
    source = Given(one)
    keeper = Keeper(source, threading.Event().set, 1.0)
    keeper.step()
    reviewer = Reviewer(lambda _pod, _namespace: NotOurs(), lambda _withheld: None)
    port, stop = free_port(), asyncio.Event()
    server = asyncio.create_task(
        serve(app_of(reviewer, lambda: keeper.is_ready), "127.0.0.1", port, keeper.context, stop)
    )
    await asyncio.sleep(0)
    while not server.done():
        try:
            assert await _get(port, one.authority) == 200
            break
        except OSError:
            await asyncio.sleep(0.05)
    source.pair = other
    keeper.step()
    assert await _get(port, bundle((one, other))) == 200
    with pytest.raises(ClientConnectorCertificateError):
        await _get(port, one.authority)
    stop.set()
    await server


def test_what_fails_is_said_and_the_last_certificate_is_served_on() -> None:
    pair = make_pair(NAMES, T0, LIFE, T0)
    source = Given(pair)
    keeper = Keeper(source, lambda: None, 1.0)
    keeper.step()
    source.error = TierdeckError("the API is away")
    keeper.step()
    assert keeper.trouble == "the webhook's certificate: the API is away"
    assert keeper.is_ready
    source.error = None
    source.pair = Pair(pair.certificate + "\n", "no key", "", 0, 1)
    keeper.step()
    assert "can't be used" in keeper.trouble


def test_files_that_another_renews_are_read_anew(tmp_path: Path) -> None:
    pair = make_pair(NAMES, T0, LIFE, T0)
    files = Files(tmp_path / "tls.crt", tmp_path / "tls.key")
    with pytest.raises(UsageError, match="can't be read"):
        files.look()
    files.certificate.write_text(pair.certificate)
    files.key.write_text(pair.key)
    found = files.look()
    assert found is not None
    assert found.certificate == pair.certificate
