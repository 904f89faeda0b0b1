"""How each number is computed and from which readings: texts made of the vocabulary, never typed twice."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.account import ReplicaState
from tierdeck.notes import MEANINGS, NoteCode
from tierdeck.readings import READINGS, Reading


@dataclass(frozen=True, slots=True)
class Explanation:
    """One number: its formula in words, and the readings that it is made of."""

    title: str
    formula: str
    readings: tuple[Reading, ...]
    notes: tuple[NoteCode, ...] = ()

    def markdown(self) -> str:
        """Formula, readings with unit and meaning, and what can make the number less certain."""
        lines = [self.formula, "", *(f"- {reading_line(reading)}" for reading in self.readings)]
        if self.notes:
            lines += ["", "Less certain where:", "", *(f"- {MEANINGS[code]}" for code in self.notes)]
        return "\n".join(lines)


def reading_line(reading: Reading) -> str:
    """`prompt_tokens` [tokens]: what it means."""
    meaning = READINGS[reading]
    return f"`{reading}` ({'count' if meaning.unit == '1' else meaning.unit}): {meaning.text}"


HIT_BY_TOKEN = Explanation(
    "Hit ratio, by token",
    "(L0 + L1 + L2) / prompt tokens, over all readable replicas.",
    (Reading.PROMPT_TOKENS, Reading.L0_HITS, Reading.EXTERNAL_HITS),
    (NoteCode.EXTERNAL_MISMATCH, NoteCode.PREEMPTED),
)
HIT_BY_REQUEST = Explanation(
    "Hit ratio, by request",
    "Mean of the requests' own hit ratios: a short request weighs as much as a long one.",
    (Reading.REQUEST_HIT_RATIO,),
)
TTFT = Explanation(
    "Time to first token",
    "A quantile of the engines' histograms, added up over the replicas and interpolated within its bucket; "
    "the true value lies between the bucket's bounds. In the last bucket only a lower bound is known (≥).",
    (Reading.TTFT,),
    (NoteCode.LAYOUTS_DIFFER,),
)
REQUESTS = Explanation(
    "Requests", "Finished in the window; running and waiting are the last values.",
    (Reading.REQUESTS, Reading.RUNNING, Reading.WAITING),
)  # fmt: skip
TIERS = Explanation(
    "Tiers",
    "L0 + L1 + L2 + recomputed (+ transferred) = prompt tokens. Tokens loaded through the KV connector came from L1 "
    "or L2; LMCache's lookups bound which.",
    (Reading.PROMPT_TOKENS, Reading.L0_HITS, Reading.EXTERNAL_HITS, Reading.L1_FOUND, Reading.L2_FOUND),
    (NoteCode.SPLIT_ESTIMATED, NoteCode.UNSPLIT),
)
ENGINE = Explanation("Engine", "Last values that the engine and LMCache told.", (Reading.KV_USAGE, Reading.L1_USED))

ALL = (TIERS, HIT_BY_TOKEN, HIT_BY_REQUEST, TTFT, REQUESTS, ENGINE)


def every_number() -> str:
    """All of them as one text."""
    return "\n\n".join(f"**{one.title}.** {one.markdown()}" for one in ALL)


def state_meaning(state: str) -> str:
    """`stale` -> what the state means."""
    return ReplicaState(state).meaning
