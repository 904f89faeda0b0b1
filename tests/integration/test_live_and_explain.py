"""A window read from the store says what `explain` says of the same pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from db import Store
from tests.support.expositions import START, explained, lmcache_mp, series, vllm
from tests.support.live import live_document

USAGE = 'vllm:kv_cache_usage_perc{engine="%s",model_name="m"}'


def usage_page(*usages: float | None, start: float = START) -> str:
    """A page with an engine for each usage; None: it lacks that engine's."""
    pages = [
        vllm(100, 50, 50, 0, engine=str(number), start=None if number else start, more={USAGE % number: usage} if
             usage is not None else {})
        for number, usage in enumerate(usages)
    ]  # fmt: skip
    return "".join(pages)


def both(store: Store, folder: Path, *pages: str) -> tuple[Any, Any]:
    """Replica A's KV usage in `explain` and live; the first page lies before the live window."""
    moments = {60 * number: {"vllm": page} for number, page in enumerate(pages)}
    told = explained(folder / "explain", {"A": moments})["replicas"]["A"]["kv_usage_ratio"]
    live = live_document(store, folder / "live", {"A": moments})["replicas"]["A"]["kv_usage_ratio"]
    return told, live


@pytest.mark.parametrize(
    ("pages", "usage"),
    [
        ((usage_page(0.1), usage_page(0.4), usage_page(None)), 0.4),
        ((usage_page(0.1), usage_page(0.4), usage_page(None), usage_page(None)), 0.4),
        # two engines that differ, of unknown capacity: what they told alike before is true no more
        ((usage_page(0.4, 0.4), usage_page(0.4, 0.4), usage_page(0.2, 0.6)), None),
        ((usage_page(0.4, 0.4), usage_page(0.2, 0.6), usage_page(None, None)), None),
        ((usage_page(0.4), usage_page(0.4), usage_page(None, start=START + 90)), 0.4),
        ((usage_page(None), usage_page(None), usage_page(None)), None),
    ],
)
def test_kv_usage_is_the_last_one_that_was_told(
    store: Store, tmp_path: Path, pages: tuple[str, ...], usage: float | None
) -> None:
    assert both(store, tmp_path, *pages) == (usage, usage)


def embedded(found: float) -> str:
    labels = '{worker_id="0"}'
    return series({f"lmcache:num_lookup_hits_total{labels}": found, "process_start_time_seconds": START})


ASKED = {0: vllm(0, 0, 0, 0), 60: vllm(1000, 0, 1000, 100), 120: vllm(2000, 0, 2000, 200)}
SHARING = {at: {"vllm": page} for at, page in ASKED.items()}
INSIDE = {at: {"vllm": page, "lmcache": embedded(at * 500 / 60)} for at, page in ASKED.items()}
LATE = {**INSIDE, 0: {"lmcache": embedded(0)}}
BLIND = {**INSIDE, 120: {"vllm": vllm(2000, None, 2000, 200), "lmcache": embedded(1000)}}
SHARED = {at: {"lmcache-mp": lmcache_mp(at * 5, at * 10 / 3)} for at in ASKED}


@pytest.mark.parametrize(
    ("replicas", "tokens"),
    [
        # A inside vLLM: 1,000 found, 200 loaded; B and the server that it shares: 600 + 400 found, 200 loaded
        ({"A": INSIDE, "B": SHARING, "_fleet": SHARED}, 1600),
        # vLLM was first read at 60 s: its counts lack what LMCache found before; its last page has no counts
        ({"A": LATE, "B": SHARING, "_fleet": SHARED}, None),
        ({"A": BLIND, "B": SHARING, "_fleet": SHARED}, None),
    ],
)
def test_what_a_mixed_fleet_found_and_did_not_load_is_told_alike(
    store: Store, tmp_path: Path, replicas: Any, tokens: float | None
) -> None:
    told = explained(tmp_path / "explain", replicas)["fleet"]
    live = live_document(store, tmp_path / "live", replicas)["fleet"]
    assert told["found_not_loaded_tokens"] == live["found_not_loaded_tokens"] == tokens
    reasons = [part["why"].get("found_not_loaded_tokens") for part in (told, live)]
    assert reasons[0] == reasons[1]
    assert (reasons[0] is None) is (tokens is not None)
