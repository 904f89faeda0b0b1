"""Prompts whose beginnings are shared as the probe wants, and that nobody else ever sent."""

from __future__ import annotations

import random
from collections.abc import Sequence

PART_TOKENS = (416, 264)
"""Of the first part of a beginning, and of each further one. Two parts and a tail fit into 1,024 tokens; the first
one is more than half of the whole, and each part completes another chunk of LMCache's 256."""
_TAIL_TOKENS = 12
_WORDS = (
    *("time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school", "state"),
    *("family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week", "company", "system"),
    *("program", "question", "work", "number", "night", "point", "home", "water", "room", "mother", "area", "money"),
    *("story", "fact", "month", "lot", "right", "study", "book", "eye", "job", "word", "business", "issue", "side"),
    *("kind", "head", "house", "service", "friend", "father"),
)


class Texts:
    """Texts of one probe; another one's share nothing with them."""

    def __init__(self, probe: str, characters_per_token: float = 4.0) -> None:
        self._probe = probe
        self._characters = characters_per_token
        self._asked = 0

    def prompt(self, parts: Sequence[str]) -> str:
        """A beginning of named parts, and a tail of its own."""
        self._asked += 1
        texts = [self._words(part, PART_TOKENS[min(index, 1)]) for index, part in enumerate(parts)]
        return " ".join([*texts, self._words(f"tail {self._asked}", _TAIL_TOKENS)])

    def _words(self, name: str, tokens: int) -> str:
        dice = random.Random(f"{self._probe} {name}")  # noqa: S311  # no secret
        words: list[str] = []
        length, wanted = 0, tokens * self._characters
        while length < wanted:
            words.append(dice.choice(_WORDS))
            length += len(words[-1]) + 1
        return " ".join(words)
