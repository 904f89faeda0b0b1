"""Several tenants' traffic of one kind: each with its own cache salt, so that nobody finds what another computed."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lab.sim.workload import Pace, Request, Workload

_SALT_SHIFT = 64
"""Ids of blocks and chunks lie below; above is the salt that they belong to."""


def salt_key(salt: str) -> int:
    """What stands above the ids of a salt's blocks; 0 without a salt."""
    return int.from_bytes(hashlib.blake2b(salt.encode(), digest_size=4).digest()) if salt else 0


def salt_of(chunk: int) -> int:
    """The `salt_key` that a block or chunk belongs to."""
    return chunk >> _SALT_SHIFT


def salted(request: Request, salt: str) -> Request:
    """The same text, sent by a tenant."""
    key = salt_key(salt) << _SALT_SHIFT
    blocks, answer = (tuple(block | key for block in each) for each in (request.prompt.blocks, request.answer_blocks))
    return replace(request, prompt=replace(request.prompt, blocks=blocks), answer_blocks=answer, salt=salt)


@dataclass(frozen=True, slots=True)
class Tenants:
    """A workload, played once for each tenant at its share of the pace.

    Attributes:
        shares: salts and the parts of the requests that they send; together 1.
    """

    of: Workload
    shares: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:
        return self.of.name

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        return heapq.merge(
            *(
                self._of_one(salt, share, seed * len(self.shares) + number, pace, start, block_tokens)
                for number, (salt, share) in enumerate(self.shares)
            ),
            key=lambda request: request.at,
        )

    def _of_one(
        self, salt: str, share: float, seed: int, pace: Pace, start: float, block_tokens: int
    ) -> Iterator[Request]:
        for request in self.of.requests(seed, lambda at: share * pace(at), start, block_tokens):
            yield salted(request, salt)
