"""The cache server of a replica is frozen or gone: engines wait for it, then go on without it."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import POSSIBLE, RATIO_RULES, RECORDED, Finding, clock, listed, of_points
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.alerts.comparison import compared

_CACHES = ("lmcache", "lmcache-mp")


class CacheServer:
    """Its page does not answer, and vLLM loads nothing from it any more."""

    name = "cache_server"
    rules = RATIO_RULES | {"requests_deferred", "ttft_burn", "requests_failing", "l2_outage"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        silent = {
            one.replica: one
            for one in seen.targets
            if one.reason and one.target.partition(".")[0] in _CACHES and one.replica in seen.served_before
        }
        if not silent:
            return
        cut_off = {one.name for one in compared(seen) if one.name in silent and one.falls("lower", 0.8)}
        stuck = {name for name in silent if name not in seen.serving}
        hit = cut_off | stuck
        told = hit or set(silent)
        whole = seen.by_replica
        points = sum(whole.part(name).total for name in told) if whole is not None else None
        what = "loads nothing from below L0" if cut_off else "serves nothing" if stuck else "goes on as before"
        words = f"{of_points(seen, points)}the cache server of {listed(told)} does not answer, and its engine {what}"
        evidence = "; ".join(
            f"{name} {silent[name].target}: {silent[name].reason}"
            + (f", answered last {clock(since)}" if (since := silent[name].since_at) is not None else "")
            for name in sorted(told)
        )
        is_it = hit or seen.rule == "requests_deferred"
        only = next(iter(told)) if len(told) == 1 else ""
        yield Finding(RECORDED + 0.05 if is_it else POSSIBLE, words, evidence, points, only, seen.onset_at)
