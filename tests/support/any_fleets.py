"""Hypothesis strategies: whole fleets as expositions, and the truth behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from collectors.snapshot import Snapshot
from tests.support.expositions import lmcache_mp, series

SPELLINGS = (
    "vllm:prefix_cache_{}_total", "vllm:prefix_cache_{}", "vllm_prefix_cache_{}_total", "vllm:gpu_prefix_cache_{}_total"
)  # fmt: skip
LAYOUTS = (("0.1", "1.0", "+Inf"), ("0.1", "0.5", "+Inf"), ("2.0", "+Inf"))
FIRST_MOMENT = 1_000_000.0
Bodies = dict[str, dict[int, dict[str, str]]]


@dataclass(frozen=True)
class Traffic:
    """One engine's tokens between two moments. `shadowed`: found in L1 though L0 had them; `wasted`: recomputed."""

    l0: int
    l1: int
    l2: int
    miss: int
    shadowed: int
    wasted: int
    requests: int

    @property
    def looked_up(self) -> int:
        return self.l0 + self.l1 + self.l2 + self.miss


@dataclass
class Truth:
    """What all scrapes together could see of one replica."""

    prompt_tokens: int = 0
    l0: int = 0
    l1: int = 0
    l2: int = 0
    miss: int = 0
    first_tokens: int = 0
    restarts: int = 0

    def add(self, traffic: Traffic) -> None:
        self.prompt_tokens += traffic.looked_up
        self.l0 += traffic.l0
        self.l1 += traffic.l1
        self.l2 += traffic.l2
        self.miss += traffic.miss
        self.first_tokens += traffic.requests


@dataclass(frozen=True)
class Kind:
    """How a replica is built and scraped; steps are the intervals between moments."""

    engines: int
    spelling: str
    layout: tuple[str, ...]
    external: bool
    cached: bool
    paths: int
    restarts: tuple[bool, ...]
    scraped: tuple[bool, ...]
    cache_scraped: tuple[bool, ...]


@dataclass
class Fleet:
    """A snapshot of several replicas and the truth of each; `copy`: the first one seen a second time."""

    snapshot: Snapshot
    truths: dict[str, Truth]
    kinds: dict[str, Kind]
    copy: str = ""


@dataclass
class _Engine:
    """Counters of one engine process."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("q", "h", "eq", "eh", "n"), 0))

    def add(self, traffic: Traffic) -> None:
        self.counts["q"] += traffic.looked_up
        self.counts["h"] += traffic.l0
        self.counts["eq"] += traffic.looked_up - traffic.l0
        self.counts["eh"] += traffic.l1 + traffic.l2
        self.counts["n"] += traffic.requests


def page(kind: Kind, engines: Sequence[_Engine], start: float) -> str:
    """One exposition of a replica's vLLM process."""
    named: dict[str, float | None] = {"process_start_time_seconds": start}
    for number, engine in enumerate(engines):
        labels = f'engine="{number}",model_name="m"'
        counts = engine.counts
        named[f"{kind.spelling.format('queries')}{{{labels}}}"] = counts["q"]
        named[f"{kind.spelling.format('hits')}{{{labels}}}"] = counts["h"]
        named[f"vllm:prefix_cache_queries_created{{{labels}}}"] = start + 12.000001 + number
        if kind.external:
            named[f"vllm:external_prefix_cache_queries_total{{{labels}}}"] = counts["eq"]
            named[f"vllm:external_prefix_cache_hits_total{{{labels}}}"] = counts["eh"]
        for bound in kind.layout:
            name = "vllm:time_to_first_token_seconds_bucket"
            named[f'{name}{{{labels},le="{bound}"}}'] = counts["n"]
        named[f"vllm:num_requests_running{{{labels}}}"] = 0
    return series(named)


numbers = st.integers(0, 500)
traffics = st.builds(Traffic, *[numbers] * 6, st.integers(0, 20))


@st.composite
def kinds(draw: st.DrawFn, steps: int) -> Kind:
    external = draw(st.booleans())
    # the last moment is scraped, else the replica is down; the cache's edges are, else nothing bounds
    scraped = (*tuple(draw(st.booleans()) for _ in range(steps - 1)), True)
    cache_scraped = (*tuple(draw(st.booleans()) for _ in range(steps - 1)), True)
    return Kind(
        engines=draw(st.integers(1, 3)),
        spelling=draw(st.sampled_from(SPELLINGS)),
        layout=draw(st.sampled_from(LAYOUTS)),
        external=external,
        cached=external and draw(st.booleans()),
        paths=draw(st.integers(1, 2)),
        restarts=tuple(draw(st.booleans()) for _ in range(steps)),
        scraped=scraped,
        cache_scraped=cache_scraped,
    )


@st.composite
def fleets(draw: st.DrawFn, most_steps: int = 4) -> Fleet:
    """One to three replicas over two to five moments; the first may be seen a second time, as another replica."""
    steps = draw(st.integers(1, most_steps))
    moments = tuple(60 * number for number in range(steps + 1))
    bodies: Bodies = {}
    truths, found = {}, {}
    for number in range(draw(st.integers(1, 3))):
        name, kind = f"R{number}", draw(kinds(steps))
        plan = [[draw(traffics) for _ in range(kind.engines)] for _ in range(steps + 1)]
        bodies[name], truths[name] = _play(kind, plan, number)
        found[name] = kind
    copy = "Z" if draw(st.booleans()) else ""
    if copy:
        bodies[copy] = {
            moment: {target: text for target, text in pages.items() if target.startswith("vllm")}
            for moment, pages in bodies["R0"].items()
        }
    versions = {name: {"vllm": "0.10.2" if kind.external else "0.32.0"} for name, kind in found.items()}
    if copy:
        versions[copy] = versions["R0"]
    return Fleet(Snapshot(moments, bodies, FIRST_MOMENT, versions=versions), truths, found, copy)


def _play(kind: Kind, plan: list[list[Traffic]], offset: int) -> tuple[dict[int, dict[str, str]], Truth]:
    """The pages of one replica. Its counters stand somewhere at the first moment: nobody's increase.

    No two processes start at the same instant: `offset` keeps the replicas apart.
    """
    start = FIRST_MOMENT - 1000 - offset
    engines = [_Engine() for _ in range(kind.engines)]
    truth, pending, restarted = Truth(), list[Traffic](), False
    l1 = l2 = 0
    pages: dict[int, dict[str, str]] = {}
    for number, step in enumerate(plan):
        if number and kind.restarts[number - 1]:
            engines, start = [_Engine() for _ in range(kind.engines)], FIRST_MOMENT + 60 * number - 30 + offset
            pending, restarted = [], True  # what the old process did after its last scrape is lost
        for engine, traffic in zip(engines, step, strict=True):
            real = traffic if kind.external else Traffic(traffic.l0, 0, 0, traffic.miss, 0, 0, traffic.requests)
            engine.add(real)
            pending.append(real)
            l1 += real.l1 + min(real.shadowed, real.l0) + min(real.wasted, real.miss)
            l2 += real.l2
        bodies = {}
        if not number or kind.scraped[number - 1]:
            bodies = {f"vllm.{path}": page(kind, engines, start) for path in range(1, kind.paths + 1)}
            if number:
                for traffic in pending:
                    truth.add(traffic)
                truth.restarts += restarted
            pending, restarted = [], False
        if kind.cached and (not number or kind.cache_scraped[number - 1]):
            bodies["lmcache-mp"] = lmcache_mp(l1, l2, start=FIRST_MOMENT - 5000)
        pages[60 * number] = bodies
    return pages, truth
