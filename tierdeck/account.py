"""What is known of one replica in a window: its ledger, TTFT, gauges, and the state that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tierdeck.figure import Figure
from tierdeck.fleet import Role
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger


class Answer(StrEnum):
    """What a replica's targets answered at the last moment."""

    ENGINE = "engine"
    NO_SERIES = "no_series"
    NO_ENGINE = "no_engine"
    NOTHING = "nothing"


class ReplicaState(StrEnum):
    """States, worst first; the first that fits is the replica's."""

    DOWN = "down"
    NO_ENGINE_METRICS = "no_engine_metrics"
    STALE = "stale"
    WARMING = "warming"
    IDLE = "idle"
    OK = "ok"

    @property
    def readable(self) -> bool:
        """Its figures are known; in the other states they are withheld."""
        return self not in (ReplicaState.DOWN, ReplicaState.NO_ENGINE_METRICS, ReplicaState.STALE)

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ReplicaState.DOWN: "no source of the replica answered the last scrape",
    ReplicaState.NO_ENGINE_METRICS: "the vLLM target answered without vLLM series",
    ReplicaState.STALE: "only vLLM did not answer the last scrape",
    ReplicaState.WARMING: "restarted, and too little traffic since for a fair ratio",
    ReplicaState.IDLE: "no prompt tokens were looked up in the window",
    ReplicaState.OK: "answering, with traffic",
}
_UNREADABLE = {
    Answer.NOTHING: ReplicaState.DOWN,
    Answer.NO_SERIES: ReplicaState.NO_ENGINE_METRICS,
    Answer.NO_ENGINE: ReplicaState.STALE,
}


def worst_first(state: ReplicaState) -> int:
    """Sort key: the best state has the highest."""
    return list(ReplicaState).index(state)


@dataclass(frozen=True, slots=True)
class Gauges:
    """Last values; None where not exported. `kv_capacity_tokens` weighs usage in sums.

    Attributes:
        deferred: requests that wait for something other than room, of those waiting.
        kv_usage_untold: usages were exported, but differ and lack a capacity; not stored.
    """

    kv_usage_ratio: float | None = None
    kv_capacity_tokens: float | None = None
    running: float | None = None
    waiting: float | None = None
    l1_used_bytes: float | None = None
    l1_capacity_bytes: float | None = None
    deferred: float | None = None
    kv_usage_untold: bool = field(default=False, compare=False)

    def then(self, later: Gauges, *, engine_read: bool) -> Gauges:
        """The later value of each gauge, the earlier one where the later scrape lacked it.

        Args:
            engine_read: vLLM's usage was read in the later round: it counts even where it can't be
                told, since an older one would not be true any more.
        """
        is_lost = later.kv_usage_ratio is None and engine_read
        usage = None if is_lost else _later(self.kv_usage_ratio, later.kv_usage_ratio)
        return Gauges(
            kv_usage_ratio=usage,
            kv_capacity_tokens=_later(self.kv_capacity_tokens, later.kv_capacity_tokens),
            running=_later(self.running, later.running),
            waiting=_later(self.waiting, later.waiting),
            l1_used_bytes=_later(self.l1_used_bytes, later.l1_used_bytes),
            l1_capacity_bytes=_later(self.l1_capacity_bytes, later.l1_capacity_bytes),
            deferred=_later(self.deferred, later.deferred),
        )


def _later(before: float | None, after: float | None) -> float | None:
    return before if after is None else after


GAUGE_FIELDS = tuple(name for name in Gauges.__dataclass_fields__ if name != "kv_usage_untold")


def weighted_usage(parts: Sequence[tuple[float | None, float | None]]) -> Figure:
    """KV usage of several engines, weighted by capacity.

    Args:
        parts: (usage in [0, 1], capacity in tokens) of each engine; None where not exported.
    """
    if not parts or any(usage is None for usage, _ in parts):
        return Figure.unknown("KV cache usage is not exported under any known name")
    usages = {usage for usage, _ in parts if usage is not None}
    if len(usages) == 1:
        return Figure(usages.pop())
    total = weighted = 0.0
    for usage, capacity in parts:
        if not capacity or usage is None:
            return Figure.unknown("usages differ, and the KV capacity of an engine is not exported")
        total, weighted = total + capacity, weighted + usage * capacity
    return Figure(weighted / total)


@dataclass(frozen=True, slots=True)
class WarmingLimits:
    """Least traffic after a restart before a replica counts as warm."""

    tokens: int = 1000
    requests: int = 10


@dataclass(frozen=True, slots=True)
class ReplicaAccount:
    """One replica's window. `answer` is about the last moment, the rest about the whole window.

    `copy_of` names the replica whose engine this one's surely is, seen over another path; "": none. A
    decode replica's `role` lets it tell what was transferred, be it 0.
    """

    name: str
    ledger: TokenLedger
    answer: Answer
    ttft: Histogram | None = None
    gauges: Gauges = field(default_factory=Gauges)
    copy_of: str = ""
    role: Role = Role.BOTH

    def state(self, limits: WarmingLimits) -> ReplicaState:
        if self.answer in _UNREADABLE:
            return _UNREADABLE[self.answer]
        ledger = self.ledger
        if ledger.restarts:
            requests = ledger.requests_since_restart
            few_requests = requests is not None and requests < limits.requests
            if (ledger.prompt_tokens_since_restart or 0) < limits.tokens or few_requests:
                return ReplicaState.WARMING
        return ReplicaState.IDLE if ledger.prompt_tokens == 0 else ReplicaState.OK


@dataclass(frozen=True, slots=True)
class PoolAccount:
    """The shared L2 pool at the last moment, in bytes and workers; None where not told.

    Attributes:
        files, blocks: as the master counts them. data_dirs: of the worker with most of them.
        read_bytes, written_bytes, failed_requests: what went through its mounts (without any, through its workers)
            since the collector first saw the pool, restarts bridged: only what lies between two of them means anything.
    """

    capacity_bytes: float | None = None
    available_bytes: float | None = None
    used_bytes: float | None = None
    live: float | None = None
    lost: float | None = None
    blacklisted: float | None = None
    decommissioned: float | None = None
    reason: str = ""
    files: float | None = None
    blocks: float | None = None
    data_dirs: float | None = None
    read_bytes: float | None = None
    written_bytes: float | None = None
    failed_requests: float | None = None
