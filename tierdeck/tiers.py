"""Where a prompt token can come from, and how large each tier is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """Where a prompt token was served from, hottest first; MISS was recomputed by a prefill."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    MISS = "miss"

    @property
    def label(self) -> str:
        """The name on screen."""
        return {"L0": "L0 · GPU", "L1": "L1 · CPU", "L2": "L2 · Curvine", "miss": "recomputed"}[self]


@dataclass(frozen=True, slots=True)
class TierSizes:
    """Sizes of the tiers in bytes; None where the size is not known.

    `l0_bytes` and `l1_bytes` are per replica, `l2_bytes` is the shared pool.
    """

    l0_bytes: int | None = None
    l1_bytes: int | None = None
    l2_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("l0_bytes", "l1_bytes", "l2_bytes"):
            size = getattr(self, name)
            if size is not None and size < 0:
                raise ValueError(f"{name} can't be negative: {size}")
