"""A window read from the store says what `explain` says of the same pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from db import Store
from tests.support.expositions import START, explained, vllm
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
