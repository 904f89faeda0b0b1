"""What one scrape adds about prompts: first tokens, lengths, and how much of them whole blocks could serve."""

from __future__ import annotations

from collectors.meter import Increase
from collectors.source import TargetReading
from tierdeck.ceiling import long_prompts, reachable
from tierdeck.readings import Reading


def prompt_counts(reading: TargetReading, increase: Increase) -> dict[str, float]:
    """Fields of a ledger row by name; those that can't be told are left out."""
    counts: dict[str, float] = {}
    ttft = increase.histograms.get(Reading.TTFT)
    if ttft is not None:
        counts["first_tokens"] = ttft.count
    lengths = increase.histograms.get(Reading.PROMPT_LENGTHS)
    if lengths is None:
        return counts
    counts |= {
        "measured_prompts": lengths.count,
        "measured_tokens": lengths.sum,
        "long_prompts": long_prompts(lengths),
    }
    blocks = {value for key, value in reading.gauges.items() if key.reading is Reading.BLOCK_TOKENS}
    if len(blocks) == 1:  # engines of one server share a model, and with it the block size
        counts["reachable_low"], counts["reachable_high"] = reachable(lengths, blocks.pop())
    return counts
