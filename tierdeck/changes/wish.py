"""What a change asks of an endpoint: another routing strategy, or other tier sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tierdeck.errors import UsageError
from tierdeck.units import format_size, parse_size

_SHARE = re.compile(r"0?\.\d+|1(\.0*)?")
_BLOCKS = re.compile(r"([1-9]\d*) ?blocks")


@dataclass(frozen=True, slots=True)
class L0Wish:
    """How much GPU memory the prefix cache gets; exactly one of these is given.

    Attributes:
        share: of the GPU's memory that the engine may take, weights included (`--gpu-memory-utilization`).
        size_bytes: of the KV cache of one GPU (`--kv-cache-memory-bytes`).
        blocks: `--num-gpu-blocks-override`.
    """

    share: float | None = None
    size_bytes: int | None = None
    blocks: int | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.share, self.size_bytes, self.blocks)) != 1:
            raise ValueError("an L0 size is a share, bytes, or blocks")

    @classmethod
    def parse(cls, text: str) -> L0Wish:
        """`0.85`, `12GiB` or `4096blocks`.

        Raises:
            UsageError: it is none of these.
        """
        text = text.strip()
        if _SHARE.fullmatch(text):
            return cls(share=float(text))
        blocks = _BLOCKS.fullmatch(text)
        if blocks:
            return cls(blocks=int(blocks[1]))
        size = parse_size(text)
        if size < 2**20:
            raise UsageError(
                f"{text!r} is no size of L0", "Give a share of the GPU's memory (0.85), a size (12GiB), or 4096blocks."
            )
        return cls(size_bytes=size)

    @property
    def text(self) -> str:
        """As a person would write it; sizes to three digits."""
        if self.share is not None:
            return f"{self.share:g}"
        return f"{self.blocks}blocks" if self.blocks is not None else format_size(self.size_bytes or 0)


@dataclass(frozen=True, slots=True)
class Wish:
    """Either a strategy or at least one size; what is None (or empty) stays as it is.

    Attributes:
        strategy: as the router in use spells it.
        l1_bytes: of one replica, all its tensor-parallel ranks together; 0: off.
        l2_bytes: of the whole pool.
        salt: whose L2 it is, where a coordinator keeps a quota by cache salt; empty: of requests without one.
    """

    strategy: str = ""
    l0: L0Wish | None = None
    l1_bytes: int | None = None
    l2_bytes: int | None = None
    salt: str = ""

    def __post_init__(self) -> None:
        if bool(self.strategy) == self.is_resize:
            raise ValueError("a change asks for a strategy, or for sizes")
        if self.salt and self.l2_bytes is None:
            raise ValueError("a cache salt has a size of L2 only")

    @property
    def is_resize(self) -> bool:
        return self.l0 is not None or self.l1_bytes is not None or self.l2_bytes is not None

    @property
    def text(self) -> str:
        """`prefixaware`, or `L0 0.85, L1 40 GiB`."""
        parts = [self.strategy] if self.strategy else []
        parts += [f"L0 {self.l0.text}"] if self.l0 is not None else []
        parts += [f"L1 {format_size(self.l1_bytes) if self.l1_bytes else 'off'}"] if self.l1_bytes is not None else []
        whose = f" of the cache salt {self.salt}" if self.salt else ""
        parts += [f"L2 {format_size(self.l2_bytes)}{whose}"] if self.l2_bytes is not None else []
        return ", ".join(parts)
