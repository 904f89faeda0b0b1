"""What one stores no other finds: another hash seed, tokeniser, chunk size or model path."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, POSSIBLE, RATIO_RULES, RECORDED, Finding, from_to, listed, of_points
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.alerts.comparison import LEAST_POINTS, Compared, compared
from tierdeck.alerts.usage import l1_usage, pool_usage

_KEPT = 0.85
_MORE = 1.2


class KeyMismatch:
    """Tiers hold what they held and find next to none of it, while as much is stored as if it were new."""

    name = "key_mismatch"
    rules = RATIO_RULES | {"pool_filling", "pool_full", "ttft_burn", "l2_outage"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        both = [one for one in compared(seen) if one.change("found") is not None]
        again = [one for one in both if one.name in seen.restarted and _unknown_in_l2(one)]
        others = [one for one in both if one.name not in seen.restarted]
        if again and all(one.holds("in_l2", 0.5) for one in others):
            yield self._found(seen, again, RECORDED + 0.05, "since their restart ")
        elif len(both) > 1 and not seen.restarted and all(map(_unknown, both)):
            certainty = _certainty(seen)
            if certainty:
                yield self._found(seen, both, certainty, "")

    def _found(self, seen: Circumstances, hit: list[Compared], certainty: float, since: str) -> Finding:
        names = [one.name for one in hit]
        whole = seen.by_replica
        points = sum(whole.part(name).total for name in names) if whole is not None else None
        words = f"{of_points(seen, points)}{since}{listed(names)} look for their chunks under other names than those "
        words += "they were stored under: compare hash seeds, tokenisers, chunk sizes and model paths"
        if not since and _is_full(seen):
            words += "; or full tiers evict them before they are asked for, which looks the same here"
        parts = [
            f"{one.name}: found {from_to(one.before.found, one.after.found)} of lookups"
            for one in hit[:3]
            if one.before.found is not None and one.after.found is not None
        ]
        stored = [side.per("stores_submitted", "requests") for side in (seen.before, seen.after)]
        if stored[0] and stored[1]:
            parts.append(f"{stored[1]:.1f} chunks stored a request after {stored[0]:.1f}")
        for what, used in (("L1", l1_usage(seen)), ("the pool", pool_usage(seen))):
            if used is not None:
                parts.append(f"{what} holds {from_to(*used)} of its size")
        parts.append("which replica stored what is found is not told")
        return Finding(certainty, words, "; ".join(parts), points, names[0] if len(names) == 1 else "", seen.onset_at)


def _unknown_in_l2(one: Compared) -> bool:
    """After a plain restart L2 finds more than before, since L0 and L1 are empty."""
    return (
        one.before.in_l2 is not None and one.before.in_l2 > 0.02 and one.falls("found", 0.4) and one.falls("in_l2", 0.4)
    )


def _unknown(one: Compared) -> bool:
    """L0 goes by names of its own, and holds; L2 finds what this replica stored itself, so that it is not nothing."""
    in_l2 = one.after.in_l2
    return one.falls("found", 0.25) and one.falls("in_l2", 0.4) and one.holds("l0", 0.4) and in_l2 is not None


def _certainty(seen: Circumstances) -> float:
    """Content that is still there, and not found, is what tells it from an eviction; full tiers may have lost it."""
    usages = [used for used in (l1_usage(seen), pool_usage(seen)) if used is not None]
    stored = [side.per("stores_submitted", "requests") for side in (seen.before, seen.after)]
    done = seen.after.per("stores_completed", "stores_submitted")
    finds = (seen.after.per("l2_found", "lookup_tokens") or 0.0) > LEAST_POINTS
    if not finds or (done is not None and done < 0.5) or any(used[1] < _KEPT * used[0] for used in usages):
        return 0.0
    if not usages or not stored[0] or not stored[1] or stored[1] < _MORE * stored[0]:
        return POSSIBLE
    return POSSIBLE + 0.15 if _is_full(seen) else LIKELY


def _is_full(seen: Circumstances) -> bool:
    return any(used is not None and used[1] >= 0.95 for used in (l1_usage(seen), pool_usage(seen)))
