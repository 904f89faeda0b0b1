"""Proofs that are repeated until one tells: a few in a hundred can't, and say so, which is no wrong verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

MOST_PROBES = 5
Told = TypeVar("Told")


def first_that_tells(probe: Callable[[], Told], verdict: Callable[[Told], str]) -> Told:
    """Of five at most; the last one where none tells."""
    for _ in range(MOST_PROBES):
        proof = probe()
        if verdict(proof) != "cannot_tell":
            break
    return proof
