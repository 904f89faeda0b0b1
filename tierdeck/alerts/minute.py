"""What alerting looks at: one minute of every endpoint and pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tierdeck.account import PoolAccount
from tierdeck.alerts.alert import Subject
from tierdeck.histogram import Histogram


@dataclass(frozen=True, slots=True)
class Minute:
    """One endpoint in one minute [at, at + 60). Tokens and requests are counts; None: not known.

    Attributes:
        hit_tokens: L0 and below; l0, l1, l2: of them by tier. Not known where counters of a replica contradict
            each other: what is not counted is no miss.
        restarts: of its replicas, in this minute.
        is_changed: routing, tier sizes or an image were changed in this minute, or it was scaled out.
        is_restated: a counter means something else since this minute: what was usual is void.
        replicas, readable: how many it has, and of how many figures are known.
        deferred: requests waiting for the cache server (gauge).
        stuck: replicas with such requests to which nothing at all was loaded in this minute.
        failed: requests that ended in an error.
        stores_submitted, stores_completed: chunks, of L2.
        lookup_tokens, found_l1, found_l2: what LMCache was asked for and found. loaded_tokens: external hits.
        prefill_seconds, computed_tokens: what computing cost; load_seconds, and the tokens loaded in it.
        ttft: of requests that had their first token in this minute.
    """

    at: float
    prompt_tokens: float | None = None
    hit_tokens: float | None = None
    requests: float | None = None
    l0: float | None = None
    l1: float | None = None
    l2: float | None = None
    restarts: int = 0
    is_changed: bool = False
    is_restated: bool = False
    replicas: int = 0
    readable: int = 0
    running: float | None = None
    waiting: float | None = None
    deferred: float | None = None
    stuck: tuple[str, ...] = ()
    failed: float | None = None
    stores_submitted: float | None = None
    stores_completed: float | None = None
    lookup_tokens: float | None = None
    found_l1: float | None = None
    found_l2: float | None = None
    loaded_tokens: float | None = None
    prefill_seconds: float | None = None
    computed_tokens: float | None = None
    load_seconds: float | None = None
    load_tokens: float | None = None
    ttft: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """One minute of everything.

    Attributes:
        at: start of the minute, epoch seconds.
        minutes: by endpoint (`part` is empty). An endpoint of the inventory without a round in this minute has
            a `Minute` with nothing known and `readable` 0.
        pools: the newest reading of each pool (`endpoint` is `_pool`, `part` its name); one that is older than
            three scrape intervals is left out.
        firing: rule and subject of the alerts that fire.
    """

    at: float
    minutes: Mapping[Subject, Minute]
    pools: Mapping[Subject, PoolAccount] = field(default_factory=dict)
    firing: frozenset[tuple[str, Subject]] = frozenset()
