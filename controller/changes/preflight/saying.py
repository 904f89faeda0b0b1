"""Sizes and counts as sentences of the preflight say them."""

from __future__ import annotations

from decimal import Decimal

from tierdeck.units import format_size


def size(number: Decimal | int) -> str:
    """`40 GiB`."""
    return format_size(float(number))


def told(number: Decimal | int) -> str:
    """What is missing, to the byte: `1.5 GiB (1,610,612,736 bytes)`."""
    return f"{format_size(float(number))} ({int(number):,} bytes)"


def sentence(words: str) -> str:
    """With a capital, as it begins."""
    return words[:1].upper() + words[1:]


def plural(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
