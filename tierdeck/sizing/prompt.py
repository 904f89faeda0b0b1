"""A prompt as caches see it: token blocks whose ids stand for the block and all that precedes it."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.units import format_size


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a request looks up.

    Attributes:
        tokens: length; the tail that fills no block is never cached.
        blocks: ids of the whole blocks in order. Equal ids mean equal content from the first token on,
            as in vLLM's hash chain and in Mooncake traces.
        session: what session routing hashes; empty where the client sends none.
    """

    tokens: int
    blocks: tuple[int, ...]
    session: str = ""

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ValueError("a prompt has at least one token")


@dataclass(frozen=True, slots=True)
class Geometry:
    """Units of the tiers: L0 holds blocks, L1 and L2 hold chunks of several blocks.

    Attributes:
        block_tokens: vLLM's block size.
        chunk_tokens: LMCache's chunk size, a multiple of it.
        kv_bytes_per_token: of the model, all layers, K and V.
    """

    block_tokens: int = 16
    chunk_tokens: int = 256
    kv_bytes_per_token: int = 57_344

    def __post_init__(self) -> None:
        if min(self.block_tokens, self.kv_bytes_per_token) < 1:
            raise ValueError("a block has at least one token, a token at least one byte")
        if self.chunk_tokens < self.block_tokens or self.chunk_tokens % self.block_tokens:
            raise ValueError(f"a chunk of {self.chunk_tokens} tokens holds no whole number of blocks")

    @property
    def block_bytes(self) -> int:
        return self.block_tokens * self.kv_bytes_per_token

    @property
    def chunk_bytes(self) -> int:
        return self.chunk_tokens * self.kv_bytes_per_token

    def blocks_in(self, size_bytes: int) -> int:
        """Whole blocks that fit.

        Raises:
            ValueError: not even one fits.
        """
        blocks = size_bytes // self.block_bytes
        if blocks < 1:
            raise ValueError(f"{format_size(size_bytes)} hold no block of {format_size(self.block_bytes)}")
        return blocks

    def chunks_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Ids of the prompt's whole chunks: a chunk goes by the id of its last block."""
        step = self.chunk_tokens // self.block_tokens
        return prompt.blocks[step - 1 :: step]
