"""One tenant's chunks are deleted: its lookups find next to nothing, while others' do."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, RATIO_RULES, Finding, from_to, listed, of_points
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.alerts.comparison import LEAST_POINTS


class Quota:
    """Seen by cache salt only: where no salts are in use, a quota's deletions look like any eviction."""

    name = "quota"
    rules = RATIO_RULES | {"ttft_burn"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        ratios = {
            salt: (one.found_ratio.value, seen.after.salts[salt].found_ratio.value)
            for salt, one in seen.before.salts.items()
            if salt in seen.after.salts
        }
        known = {salt: (one, two) for salt, (one, two) in ratios.items() if one is not None and two is not None}
        hit = {salt for salt, (one, two) in known.items() if one - two >= max(LEAST_POINTS, 0.6 * one)}
        spared = {salt for salt, (one, two) in known.items() if one - two < 0.3 * one}
        whole, change = seen.by_tenant, seen.change
        if not hit or not spared or whole is None:
            return
        share = sum(whole.part(salt).within for salt in hit) / whole.change if whole.change < 0 else 1.0
        points = None if change is None else change * min(1.0, max(0.0, share))
        names = listed([salt or "(no salt)" for salt in hit])
        words = (
            f"{of_points(seen, points)}what tenant {names} stored is no longer found, and other tenants' is: a quota "
        )
        words += "or an eviction by tenant"
        evidence = "; ".join(
            f"{salt or '(no salt)'}: found {from_to(*known[salt])} of its lookups" for salt in sorted(known)
        )
        yield Finding(LIKELY + 0.15, words, evidence, points, at=seen.onset_at)
