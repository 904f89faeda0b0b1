"""Whether the tiers below L0 pay for this traffic, in one sentence."""

from __future__ import annotations

from console.words import bounds_words
from tierdeck.ceiling import LEAST_SHARED, LONG_TOKENS, Verdict, Worth
from tierdeck.units import format_ratio

_VERDICTS = {
    Verdict.YES: "L1 and L2 pay for this traffic",
    Verdict.NO: "L1 and L2 hardly pay for this traffic",
    Verdict.CANNOT_TELL: "Whether L1 and L2 pay for this traffic can't be told",
}


def worth_words(worth: Worth) -> str:
    """The verdict and both figures behind it, or why one is missing."""
    low, high, long = worth.shared_prefix.low, worth.shared_prefix.high, worth.long_prompts
    if low.value is not None and high.value is not None:
        shared = f"{bounds_words(low.value, high.value)} of the tokens are beginnings that prompts have in common"
    elif low.value is not None:
        shared = f"at least {format_ratio(low.value)} of the tokens are beginnings that prompts have in common"
    else:
        shared = f"how much prompts have in common is not known ({low.reason})"
    if long.value is not None:
        lengths = f"at least {format_ratio(long.value)} of the prompts exceed {LONG_TOKENS:,.0f} tokens"
    else:
        lengths = f"how long prompts are is not known ({long.reason})"
    return f"{_VERDICTS[worth.verdict]}: {shared} (more than {format_ratio(LEAST_SHARED)} pays), {lengths}."
