"""What a round's targets say together, the ledger aside: the answer, TTFT, lookups by salt."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from collectors.meter import Increase
from collectors.source import TargetReading
from tierdeck.account import Answer
from tierdeck.fleet import SourceKind
from tierdeck.histogram import Histogram
from tierdeck.readings import Reading
from tierdeck.rounds import SaltCounts, Scrape


@dataclass(frozen=True, slots=True)
class Answered:
    """One target's answer in a round; `reading` is None where it gave none."""

    scrape: Scrape
    reading: TargetReading | None = None


def last_answer(answers: Collection[Answered]) -> Answer:
    """What the replica's targets answered, the best of them first."""
    engines = [answer for answer in answers if answer.scrape.target.kind is SourceKind.VLLM]
    if any(answer.reading is not None and answer.reading.recognised for answer in engines):
        return Answer.ENGINE
    if any(answer.scrape.answered for answer in engines):
        return Answer.NO_SERIES
    return Answer.NO_ENGINE if any(answer.scrape.answered for answer in answers) else Answer.NOTHING


def first_tokens(engines: Iterable[Increase]) -> Histogram | None:
    """TTFT of all engines; None where none exports it."""
    merged: Histogram | None = None
    for increase in engines:
        part = increase.histograms.get(Reading.TTFT)
        if part is not None:
            merged = part if merged is None else merged + part
    return merged


def lookups_by_salt(increases: Iterable[Increase]) -> dict[str, SaltCounts]:
    """Lookups by cache salt; empty where only the empty salt is in use."""
    salts: dict[str, SaltCounts] = {}
    names = (Reading.LOOKUP_TOKENS, Reading.L1_FOUND, Reading.L2_FOUND)
    for increase in increases:
        for salt in {part for reading, part in increase.parts if reading in names}:
            counts = SaltCounts(*(increase.parts.get((reading, salt), 0.0) for reading in names))
            salts[salt] = salts.get(salt, SaltCounts()) + counts
    return salts
