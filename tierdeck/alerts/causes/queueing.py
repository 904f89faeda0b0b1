"""Answers begin late because engines are busy, whatever the caches do."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, POSSIBLE, Finding
from tierdeck.alerts.circumstances import Circumstances

_LEAST_WAITING = 1.0
_HIT_DROP = -0.05


class Queueing:
    """More requests wait than before, with a hit ratio that holds; with one that falls, they wait because of it."""

    name = "queueing"
    rules = frozenset({"ttft_burn"})

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        before, after = seen.before.waiting, seen.after.waiting
        if after is None or after < _LEAST_WAITING or after < 2 * (before or 0.0):
            return
        tokens = [side.count("prompt_tokens") for side in (seen.before, seen.after)]
        words = f"{after:.1f} requests wait for an engine, after {before or 0.0:.1f} before"
        evidence = "prompt tokens are not known"
        if tokens[0] is not None and tokens[1] is not None and seen.before.seconds and seen.after.seconds:
            paces = tokens[0] / seen.before.seconds, tokens[1] / seen.after.seconds
            evidence = f"{paces[1]:.0f} prompt tokens a second after {paces[0]:.0f}"
        change, is_drop = seen.change, False
        if change is not None:
            is_drop = change <= _HIT_DROP
            evidence += f"; hit ratio {100 * change:+.0f} points"
            words += ", since more of each prompt is computed" if is_drop else ", with a hit ratio that holds"
        yield Finding(POSSIBLE if is_drop else LIKELY + 0.1, words, evidence, at=seen.onset_at)
