"""How each figure is computed: one sentence and the readings behind it, for everyone who shows the figure.

Keys are the dotted keys of the ledger document (docs/cli.md); an entry also stands for the keys below it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.notes import MEANINGS, NoteCode
from tierdeck.readings import READINGS, Reading


@dataclass(frozen=True, slots=True)
class Computation:
    """One figure.

    Attributes:
        title: its name on screen.
        sentence: how it is computed, without a full stop.
        readings: what it is made of.
        notes: what can make it less certain, or withhold it.
    """

    title: str
    sentence: str
    readings: tuple[Reading, ...]
    notes: tuple[NoteCode, ...] = ()

    def line(self) -> str:
        """The sentence and the names of the readings, in one line."""
        return f"{self.sentence} [{', '.join(self.readings)}]" if self.readings else self.sentence

    def markdown(self) -> str:
        """The sentence, each reading with unit and meaning, and what can make the figure less certain."""
        parts = [f"{self.sentence}."]
        parts += ["\n".join(f"- {_reading_line(reading)}" for reading in self.readings)] if self.readings else []
        if self.notes:
            parts += ["Less certain where:", "\n".join(f"- `{code}`: {MEANINGS[code]}" for code in self.notes)]
        return "\n\n".join(parts)


def _reading_line(reading: Reading) -> str:
    meaning = READINGS[reading]
    return f"`{reading}` ({'count' if meaning.unit == '1' else meaning.unit}): {meaning.text}"


_EXTERNAL = (Reading.PROMPT_TOKENS, Reading.L0_HITS, Reading.EXTERNAL_HITS)
_BY_SOURCE = (Reading.HOST_HITS, Reading.DISK_HITS, Reading.P2P_HITS)
_SPLIT = (Reading.EXTERNAL_HITS, Reading.L1_FOUND, Reading.L2_FOUND)
_UNCERTAIN = (NoteCode.SPLIT_ESTIMATED, NoteCode.UNSPLIT)

COMPUTATIONS: dict[str, Computation] = {
    "state": Computation("State", "the first that fits of down, no_engine_metrics, stale, warming, idle, ok", ()),
    "prompt_tokens": Computation(
        "Prompt tokens",
        "increase of the tokens that vLLM looked up in its prefix cache, over all moments, restarts bridged",
        (Reading.PROMPT_TOKENS, Reading.START_TIME),
        (NoteCode.RESTARTED, NoteCode.SCRAPE_GAP, NoteCode.PREEMPTED, NoteCode.MEANING_CHANGED, NoteCode.NOT_WIRED),
    ),
    "requests": Computation("Requests", "increase of the finished requests, whatever the reason", (Reading.REQUESTS,)),
    "tiers.L0": Computation(
        "L0", "prefix cache hits in GPU memory; the share is of the prompt tokens", (Reading.L0_HITS,)
    ),
    "tiers.L1": Computation(
        "L1",
        "of the tokens loaded through the connector, E: within max(0, E − l2) and min(E, l1), with l1 and l2 as found "
        "by LMCache, plus what vLLM itself attributes to host memory",
        (*_SPLIT, Reading.HOST_HITS),
        _UNCERTAIN,
    ),
    "tiers.L2": Computation(
        "L2",
        "the tokens loaded through the connector that are not L1's, plus what vLLM itself attributes to disk",
        (*_SPLIT, Reading.DISK_HITS),
        _UNCERTAIN,
    ),
    "tiers.L1+L2": Computation(
        "L1 + L2",
        "tokens loaded through the connector, less those transferred from other engines",
        (Reading.EXTERNAL_HITS, Reading.P2P_HITS),
        (NoteCode.EXTERNAL_MISMATCH,),
    ),
    "tiers.miss": Computation(
        "Recomputed", "prompt tokens − L0 − tokens loaded through the connector", _EXTERNAL,
        (NoteCode.EXTERNAL_MISMATCH,),
    ),
    "tiers.transfer": Computation(
        "Transferred",
        "tokens from other engines: what vLLM attributes to peers, and on a decode replica all that is loaded and "
        "neither host's nor disk's; no cache hit",
        (Reading.EXTERNAL_HITS, *_BY_SOURCE),
    ),
    "hit_ratio.by_token": Computation(
        "Hit ratio, by token", "(L0 + L1 + L2) / prompt tokens: sums divided, never a mean of ratios", _EXTERNAL,
        (NoteCode.EXTERNAL_MISMATCH, NoteCode.PREEMPTED),
    ),
    "hit_ratio.by_request": Computation(
        "Hit ratio, by request",
        "mean of the requests' own hit ratios, so that a short request weighs as much as a long one",
        (Reading.REQUEST_HIT_RATIO,),
    ),
    "ttft_seconds": Computation(
        "Time to first token",
        "quantile of the engines' histograms of this window, added up and interpolated within its bucket, whose "
        "bounds stand beside it",
        (Reading.TTFT,),
        (NoteCode.LAYOUTS_DIFFER,),
    ),
    "kv_usage_ratio": Computation(
        "KV usage", "last value; several engines are weighted by their capacity",
        (Reading.KV_USAGE, Reading.KV_CAPACITY_TOKENS),
    ),
    "running": Computation("Running", "last value, summed over engines", (Reading.RUNNING,)),
    "waiting": Computation("Waiting", "last value, summed over engines", (Reading.WAITING,)),
    "restarts": Computation(
        "Restarts", "changes of the process's start time; where none is exported, falls of a counter",
        (Reading.START_TIME,),
    ),
    "found_not_loaded_tokens": Computation(
        "Found, not loaded",
        "at least max(0, found by LMCache − loaded by vLLM − L0 hits)",
        (Reading.L1_FOUND, Reading.L2_FOUND, Reading.FOUND_TOKENS, Reading.EXTERNAL_HITS, Reading.L0_HITS),
        (NoteCode.FOUND_NOT_LOADED,),
    ),
    "tier_usage.L1": Computation(
        "L1 usage",
        "bytes held, last value; the capacity is bytes held / usage; a fleet's has a shared server's among them",
        (Reading.L1_USED, Reading.L1_USAGE),
    ),
    "ceiling.hit_ratio": Computation(
        "Ceiling, by token",
        "highest share of the finished prompts' tokens that could hit: at least L0's ceiling; with LMCache at most all "
        "but each prompt's last token",
        (Reading.PROMPT_LENGTHS, Reading.BLOCK_TOKENS),
    ),
    "ceiling.L0": Computation(
        "Ceiling of L0",
        "whole blocks of each finished prompt without its last token, floor((n − 1) / block) × block, bounded from the "
        "histogram of lengths",
        (Reading.PROMPT_LENGTHS, Reading.BLOCK_TOKENS),
    ),
    "ceiling.L1+L2": Computation(
        "Ceiling of L1 + L2",
        "LMCache's lookups, which count whole chunks, / prompt tokens; the low end takes off a last token a request",
        (Reading.LOOKUP_TOKENS, Reading.PROMPT_TOKENS, Reading.REQUESTS),
    ),
    "worth.shared_prefix": Computation(
        "Shared prefixes",
        "leading tokens that prompts have in common: at least (L0 + L1 + L2 + found, not loaded) / prompt tokens, at "
        "most the ceiling",
        (*_EXTERNAL, Reading.PROMPT_LENGTHS),
    ),
    "worth.long_prompts": Computation(
        "Long prompts", "finished prompts surely longer than 1,000 tokens / finished prompts", (Reading.PROMPT_LENGTHS,)
    ),
    "worth.verdict": Computation(
        "Worth it",
        "yes where more than 40 % is shared and at least half of the prompts are long, no where one of them can't be, "
        "else cannot_tell",
        (Reading.PROMPT_LENGTHS, Reading.PROMPT_TOKENS),
    ),
    "cache_salts": Computation(
        "Tenants",
        "LMCache's lookups by cache salt, and what was found of them; what L0 served counts too, so that these are no "
        "shares of the prompt tokens",
        (Reading.LOOKUP_TOKENS, Reading.L1_FOUND, Reading.L2_FOUND),
    ),
    "unreadable": Computation("Unreadable", "replicas that are down, stale or without engine metrics", ()),
    "pool": Computation(
        "Pool",
        "as the Curvine master that knows most workers says; without one, the sum over all workers",
        (Reading.POOL_USED, Reading.POOL_AVAILABLE, Reading.POOL_CAPACITY, Reading.WORKERS_LIVE, Reading.WORKERS_LOST),
        (NoteCode.SCRAPE_GAP,),
    ),
}  # fmt: skip


def computation(key: str) -> Computation:
    """The entry of a figure by its dotted key: `tiers.L1.low` -> that of `tiers.L1`.

    Raises:
        KeyError: nothing says how this figure is computed.
    """
    known = key
    while known not in COMPUTATIONS:
        known, dot, _ = known.rpartition(".")
        if not dot:
            raise KeyError(key)
    return COMPUTATIONS[known]


def every_figure() -> str:
    """All of them as one text in Markdown."""
    return "\n\n".join(f"**{one.title}.** {one.markdown()}" for one in COMPUTATIONS.values())
