"""What loading from LMCache cost: seconds, and the tokens that they brought.

Upstream: lmcache 0.5.6. Embedded, LMCache times its retrievals (L1 and L2 to the GPU); each tensor-parallel rank loads
its own part meanwhile, so the slowest one's time counts. The server times nothing that adds up: there vLLM's connector
tells how long requests waited for an answer, which comes once L2's part lies in L1 (`lmcache_mp_connector.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from collectors.meter import Increase
from tierdeck.readings import Reading


def load_counts(increases: Iterable[Increase | None], *, is_embedded: bool) -> dict[str, float]:
    """Fields of a ledger row by name; empty where nothing tells both.

    Args:
        increases: of LMCache where it is embedded, else of vLLM; None: not read.
    """
    seconds, tokens = Reading.LOOKUP_SECONDS, Reading.EXTERNAL_HITS
    if is_embedded:
        seconds, tokens = Reading.LOAD_SECONDS, Reading.LOAD_TOKENS
    whole = [one.counts for one in increases if one is not None and one.covers_start]
    told = [counts for counts in whole if seconds in counts and tokens in counts]
    if not told:
        return {}
    return {"load_seconds": sum(one[seconds] for one in told), "load_tokens": sum(one[tokens] for one in told)}
