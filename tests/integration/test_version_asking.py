"""When a live collector asks a process for its version, over real HTTP: once each, in time, at no scrape's cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from structlog.testing import capture_logs

from collectors.fetch import Fetcher
from collectors.replica_task import ReplicaTask
from tests.support.expositions import START, vllm
from tierdeck.fleet import Replica, ReplicaKey, Target
from tierdeck.rounds import Round
from tierdeck.settings import Settings

KEY = ReplicaKey("c", "e", "r")
QUICK = Settings(scrape_interval_seconds=2, scrape_timeout_seconds=1.0)
NEW = '{"version": "0.32.0"}'
SILENT = "silent"


class Engine:
    """A process with a metrics page and an answer to `/version`, both of which a test changes; None: 404."""

    def __init__(self) -> None:
        self.page: str | None = vllm(0, 0, 0, 0)
        self.answer: str | None = NEW
        self.asked = 0

    async def metrics(self, request: web.Request) -> web.Response:
        return web.Response(text=self.page) if self.page is not None else web.Response(status=503)

    async def version(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.answer == SILENT:
            await asyncio.sleep(3600)
        return web.Response(text=self.answer) if self.answer is not None else web.Response(status=404)


@asynccontextmanager
async def watched(
    engine: Engine, *, kind: str = "vllm", stated: str = "", memory: dict[str, object] | None = None
) -> AsyncIterator[ReplicaTask]:
    app = web.Application()
    app.add_routes([web.get("/metrics", engine.metrics), web.get("/version", engine.version)])
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    target = Target(KEY, kind, f"http://127.0.0.1:{runner.addresses[0][1]}/metrics")
    replica = Replica(KEY, (target,), versions=(("vllm", stated),) if stated else ())
    try:
        async with Fetcher(QUICK) as fetcher:
            yield ReplicaTask(replica, fetcher, lambda _: None, 2.0, memory)
    finally:
        await runner.cleanup()


def told(part: Round) -> str:
    return part.scrapes[0].version


async def test_a_process_is_asked_once() -> None:
    engine = Engine()
    async with watched(engine) as task:
        versions = [told(await task.round()) for _ in range(4)]
    assert versions == ["0.32.0"] * 4
    assert engine.asked == 1


async def test_another_process_is_asked_anew_and_its_page_is_judged_by_its_own_version() -> None:
    engine = Engine()
    engine.page, engine.answer = vllm(1000, 500, 1000, 0), '{"version": "0.11.1"}'
    async with watched(engine) as task:
        assert told(await task.round()) == "0.11.1"
        engine.page, engine.answer = vllm(100, 50, 50, 0, start=START + 60), NEW
        part = await task.round()
    assert told(part) == "0.32.0"
    assert engine.asked == 2
    assert {str(note.code) for note in part.ledger.notes} == {"restarted", "meaning_changed"}


async def test_a_process_without_a_start_time_is_asked_anew_after_it_was_away_or_its_counters_fell() -> None:
    engine = Engine()
    engine.page = vllm(1000, 500, 500, 0, start=None)
    async with watched(engine) as task:
        await task.round()
        page, engine.page = engine.page, None
        assert told(await task.round()) == "0.32.0"  # the last that is known
        engine.page, engine.answer = page, '{"version": "0.33.0"}'
        part = await task.round()
        assert (told(part), part.ledger.prompt_tokens, engine.asked) == ("0.33.0", None, 2)
        engine.page = vllm(10, 5, 5, 0, start=None)
        part = await task.round()
    assert (part.ledger.prompt_tokens, engine.asked) == (10, 3)


async def test_one_that_does_not_tell_is_asked_three_times_and_stays_unknown() -> None:
    for answer in (None, "<html><body>Sign in</body></html>", "x" * 10**6, '"NA-NA"'):
        engine = Engine()
        engine.answer = answer
        async with watched(engine, stated="0.32.0") as task:
            parts = [await task.round() for _ in range(5)]
        assert [told(part) for part in parts] == [""] * 5
        assert all(part.scrapes[0].ok for part in parts)
        assert engine.asked == 3


async def test_one_that_hangs_costs_a_round_no_more_than_half_of_what_is_left_of_the_interval() -> None:
    engine = Engine()
    engine.answer = SILENT
    async with watched(engine) as task:
        began = time.monotonic()
        part = await task.round()
        took = time.monotonic() - began
    assert part.scrapes[0].ok
    assert part.scrapes[0].duration_seconds < 0.5
    assert told(part) == ""
    assert took < 1.5  # asked for 1 s at most, of an interval of 2


async def test_another_process_that_does_not_tell_has_not_the_version_of_the_one_before() -> None:
    engine = Engine()
    async with watched(engine) as task:
        await task.round()
        engine.page, engine.answer = vllm(1, 0, 0, 0, start=START + 60), None
        assert told(await task.round()) == ""


async def test_a_restarted_collector_knows_what_the_same_process_told() -> None:
    engine = Engine()
    async with watched(engine) as task:
        memory = (await task.round()).memory
    engine.answer = None
    async with watched(engine, memory=dict(memory)) as task:
        assert told(await task.round()) == "0.32.0"
    engine.page = vllm(0, 0, 0, 0, start=START + 60)
    async with watched(engine, memory=dict(memory)) as task:
        assert told(await task.round()) == ""


async def test_routers_and_pages_without_series_are_not_asked() -> None:
    engine = Engine()
    for kind, page in (("router", 'vllm:num_requests_running{server="a"} 1\n'), ("vllm", "python_gc_objects 1\n")):
        engine.page = page
        async with watched(engine, kind=kind) as task:
            assert told(await task.round()) == ""
    assert engine.asked == 0


async def test_a_stated_version_that_differs_is_logged_once() -> None:
    engine = Engine()
    with capture_logs() as logs:
        async with watched(engine, stated="0.11.1") as task:
            for _ in range(3):
                await task.round()
    assert [(line["stated"], line["told"]) for line in logs if line["event"] == "version_differs"] == [
        ("0.11.1", "0.32.0")
    ]
