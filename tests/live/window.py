"""Two scrapes of the fleet in a snapshot directory, the ledger that comes of them, and vLLM's own counts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from collectors.explain import explain
from collectors.snapshot import read_snapshot
from tests.live.fleet import LiveFleet, Usage, text_of, with_tail
from tierdeck.account import WarmingLimits

SETTLE_SECONDS = 120.0
_MOST_TURNS = 8
Counts = dict[str, dict[str, float]]
"""By replica and series."""


@dataclass(slots=True)
class Window:
    """A window over everything that the test asked in between."""

    fleet: LiveFleet
    folder: Path
    before: Counts = field(default_factory=dict)
    after: Counts = field(default_factory=dict)
    asked: list[Usage] = field(default_factory=list)
    moment: int = 0

    @classmethod
    def opened(cls, fleet: LiveFleet, folder: Path) -> Window:
        window = cls(fleet, folder)
        window.before = window._scrape()
        return window

    def ask(self, replica: str, prompt: list[int]) -> Usage:
        """Ask a replica, and remember what it says."""
        usage = self.fleet.ask(replica, prompt)
        self.asked.append(usage)
        return usage

    def ask_until(self, replica: str, prefixes: list[list[int]], enough: Callable[[Window], bool]) -> None:
        """Ask all of them twice, each with a new tail, and again until it is enough: caches keep some only later."""
        for turn in range(_MOST_TURNS):
            for prefix in prefixes:
                self.ask(replica, with_tail(prefix))
            settle(self.fleet)
            if turn and enough(self):
                return

    def risen(self, replica: str, name: str) -> float:
        """By how much a counter of a replica has risen until now."""
        counts = [_counts(text_of(url)) for url in self.fleet.targets[replica].values()]
        return sum(_sum(some, name, {}) for some in counts) - _sum(self.before[replica], name, {})

    def close(self) -> dict[str, Any]:
        """The second scrape, when everything is still; the document of `explain`."""
        settle(self.fleet)
        self.moment = 60
        self.after = self._scrape()
        facts = {"kv_bytes_per_token": 512, "versions": self.fleet.versions}
        (self.folder / "fleet.json").write_text(json.dumps(facts))
        document: dict[str, Any] = explain(read_snapshot(self.folder), WarmingLimits())
        return document

    def rise(self, replica: str, name: str, **labels: str) -> float:
        """By how much a counter of a replica rose, summed over its series with these labels."""
        return _sum(self.after[replica], name, labels) - _sum(self.before[replica], name, labels)

    def _scrape(self) -> Counts:
        found: Counts = {}
        for replica, targets in self.fleet.targets.items():
            found[replica] = {}
            for kind, url in targets.items():
                path = self.folder / replica / str(self.moment) / f"{kind}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text_of(url))
                found[replica] |= _counts(path.read_text())
        return found


def settle(fleet: LiveFleet) -> None:
    """Wait until all stores have reached L2 and no counter moves any more."""
    end, last = time.monotonic() + SETTLE_SECONDS, None
    while time.monotonic() < end:
        counts = {url: _counts(text_of(url)) for targets in fleet.targets.values() for url in targets.values()}
        now = {
            url: {key: value for key, value in some.items() if key.startswith(_OURS)} for url, some in counts.items()
        }
        if now == last and all(_still(some) for some in now.values()):
            return
        last = now
        time.sleep(1)
    raise AssertionError(f"the counters still move after {SETTLE_SECONDS:.0f} s")


_OURS = (
    "vllm:prefix_cache", "vllm:external_prefix", "vllm:prompt_tokens", "vllm:num_requests", "lmcache_mp_lookup",
    "lmcache_mp_l2_store_submitted_objects", "lmcache_mp_l2_store_completed_objects",
)  # fmt: skip


def _still(counts: dict[str, float]) -> bool:
    submitted = _sum(counts, "lmcache_mp_l2_store_submitted_objects_chunks_total", {})
    completed = _sum(counts, "lmcache_mp_l2_store_completed_objects_chunks_total", {})
    return submitted == completed and _sum(counts, "vllm:num_requests_running", {}) == 0


def _counts(text: str) -> dict[str, float]:
    return {
        f"{sample.name}{json.dumps(sample.labels, sort_keys=True)}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith(("_created", "_bucket"))
    }


def _sum(counts: dict[str, float], name: str, labels: dict[str, str]) -> float:
    wanted = [f'"{key}": {json.dumps(value)}' for key, value in labels.items()]
    return sum(
        value for key, value in counts.items() if key.partition("{")[0] == name and all(one in key for one in wanted)
    )
