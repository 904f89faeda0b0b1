"""Some replicas lost what their L0 held, though they did not restart, and the router goes on sending there."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, RATIO_RULES, Finding, from_to, listed, moment, of_points
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.alerts.comparison import steady


class L0Wiped:
    """L0 falls on some replicas, whose share of the tokens stays. On all of them it is another cause's."""

    name = "l0_wiped"
    rules = RATIO_RULES | {"ttft_burn"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        replicas = steady(seen)
        wiped = [
            one
            for one in replicas
            if one.falls("l0", 0.5) and abs(one.change("share") or 0.0) < _kept(one.before.share)
        ]
        if not wiped or (len(wiped) == len(replicas) and len(replicas) > 1):
            return
        others = [one for one in replicas if one not in wiped]
        if any(one.falls("l0", 0.3) for one in others) or any(one.falls("found", 0.5) for one in wiped):
            return
        whole = seen.by_replica
        names = [one.name for one in wiped]
        points = sum(whole.part(name).total for name in names) if whole is not None else None
        words = f"{of_points(seen, points)}L0 of {listed(names)} lost what it held, and nothing restarted: its prefix "
        words += "cache is reset, or a router sends there by an index that is out of date"
        evidence = "; ".join(
            f"{one.name}: L0 {from_to(one.before.l0 or 0.0, one.after.l0 or 0.0)} since {moment(seen, seen.onset_at)}, "
            f"share of tokens {from_to(one.before.share, one.after.share)}"
            for one in wiped[:3]
        )
        yield Finding(LIKELY + 0.1, words, evidence, points, names[0] if len(names) == 1 else "", seen.onset_at)


def _kept(share: float) -> float:
    return max(0.05, 0.3 * share)
