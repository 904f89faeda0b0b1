"""One replica's tiers together: where a prompt's tokens come from, and what is kept of it afterwards.

Rules (observed on vLLM 0.32.0 with LMCache 0.5.6): L0 serves whole blocks from the front, and never the
last token. LMCache looks up all whole chunks, L0's too; L2 is asked for what follows L1's part. vLLM
loads what lies beyond L0's part, less the last token of a prompt that was found whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.sizing.blocks import BlockCache
from tierdeck.sizing.chunks import ChunkCache, Stored
from tierdeck.sizing.prompt import Geometry, Prompt


@dataclass(frozen=True, slots=True)
class Lookup:
    """One prompt's tokens: l0 + l1 + l2 + transferred + miss = tokens.

    Attributes:
        requested: whole chunks' tokens that LMCache was asked for; 0 without a cache.
        found_l1, found_l2: what LMCache found, in tokens, whoever served it then.
        unread: found in L2, and not readable after all; they are among the missed.
        transferred: came from a prefill replica, which is no cache hit.
    """

    tokens: int
    l0: int = 0
    l1: int = 0
    l2: int = 0
    requested: int = 0
    found_l1: int = 0
    found_l2: int = 0
    unread: int = 0
    transferred: int = 0

    @property
    def external(self) -> int:
        """Tokens that vLLM loads instead of computing them."""
        return self.l1 + self.l2 + self.transferred

    @property
    def miss(self) -> int:
        return self.tokens - self.l0 - self.l1 - self.l2 - self.transferred


class ReplicaCache:
    """L0 and L1 of one replica, and the L2 that it shares with others."""

    def __init__(
        self, geometry: Geometry, l0: BlockCache, l1: ChunkCache, l2: ChunkCache, *, promotes: bool = False
    ) -> None:
        """
        Args:
            promotes: keep in L1 what was loaded from L2 (LMCache's prefetch policy `retain`).
        """
        self.geometry = geometry
        self.l0 = l0
        self.l1 = l1
        self.l2 = l2
        self.promotes = promotes
        self.key_mask = 0
        """Mixed into chunk ids: replicas find each other's chunks only under the same one."""
        self.connected = True
        """Whether vLLM reaches LMCache at all."""
        self.readable = True
        """Whether what L2 says it has can be read."""
        self._latest: tuple[Prompt | None, int, tuple[int, ...]] = (None, 0, ())

    def chunks_of(self, prompt: Prompt) -> tuple[int, ...]:
        """The prompt's whole chunks as this replica calls them."""
        mask = self.key_mask
        known, under, chunks = self._latest
        if known is not prompt or under != mask:
            chunks = self.geometry.chunks_of(prompt)
            chunks = tuple([chunk ^ mask for chunk in chunks]) if mask else chunks
            self._latest = (prompt, mask, chunks)
        return chunks

    def held_tokens(self, prompt: Prompt) -> int:
        """Leading tokens that L0 or L1 has now; touches nothing."""
        geometry = self.geometry
        return max(
            self.l0.match(prompt.blocks) * geometry.block_tokens,
            self.l1.match(self.chunks_of(prompt)) * geometry.chunk_tokens,
        )

    def look_up(self, prompt: Prompt) -> Lookup:
        """Where the tokens would come from now; counts as a use of what is found."""
        geometry = self.geometry
        l0 = self.l0.match(prompt.blocks[: (prompt.tokens - 1) // geometry.block_tokens]) * geometry.block_tokens
        if not self.connected:
            return Lookup(prompt.tokens, l0)
        chunks = self.chunks_of(prompt)
        in_l1 = self.l1.match(chunks)
        in_l2 = self.l2.match(chunks, in_l1)
        self.l1.touch(chunks[:in_l1])
        self.l2.touch(chunks[: in_l1 + in_l2])
        found_l1, found_l2 = in_l1 * geometry.chunk_tokens, in_l2 * geometry.chunk_tokens
        usable = min(found_l1 + (found_l2 if self.readable else 0), prompt.tokens - 1)
        loaded = max(0, usable - l0)
        l1 = max(0, min(found_l1, usable) - l0)
        unread = 0 if self.readable else max(0, found_l1 + found_l2 - max(found_l1, l0))
        return Lookup(
            prompt.tokens, l0, l1, loaded - l1, len(chunks) * geometry.chunk_tokens, found_l1, found_l2, unread
        )

    def to_store(self, prompt: Prompt, lookup: Lookup) -> tuple[int, ...]:
        """Chunks that LMCache has nowhere yet, as far as its lookup saw."""
        if not self.connected:
            return ()
        found = (lookup.found_l1 + lookup.found_l2) // self.geometry.chunk_tokens
        return self.chunks_of(prompt)[found:]

    def store_l1(self, prompt: Prompt, lookup: Lookup) -> Stored:
        """Keep a prefilled prompt's new chunks in L1, and those from L2 where the policy keeps them."""
        if not self.connected:
            return Stored()
        first = lookup.found_l1 if self.promotes else lookup.found_l1 + lookup.found_l2
        return self.l1.store(self.chunks_of(prompt)[first // self.geometry.chunk_tokens :], self.geometry.chunk_bytes)

    def serve(self, prompt: Prompt) -> Lookup:
        """Look up, load, prefill and store at once, as if nothing else were going on: the what-if's step."""
        lookup = self.look_up(prompt)
        if self.l0.acquire(prompt.blocks):
            self.l0.release(prompt.blocks)
        self.store_l1(prompt, lookup)
        self.l2.store(self.to_store(prompt, lookup), self.geometry.chunk_bytes)
        return lookup
