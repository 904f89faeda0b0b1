"""L0: vLLM's paged blocks in GPU memory, found by prefix, kept until another request needs the room.

Source: vLLM's block pool (v1/core): blocks in use are never evicted; blocks of a finished request go
to the end of the free queue, its last block first, so that the tails of prompts are evicted before
their fronts. Evicted is always the head of the queue.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


class BlockCache:
    """Blocks by id: held by running requests, or idle and evictable."""

    def __init__(self, capacity_blocks: int) -> None:
        if capacity_blocks < 1:
            raise ValueError("L0 holds at least one block")
        self.capacity_blocks = capacity_blocks
        self.evicted = 0
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._held: dict[int, int] = {}
        self._nameless = 0

    @property
    def held_blocks(self) -> int:
        """Blocks that running requests use; the rest may be evicted."""
        return len(self._held) + self._nameless

    @property
    def cached_blocks(self) -> int:
        """Blocks that a prompt may find."""
        return len(self._held) + len(self._idle)

    def match(self, blocks: Sequence[int]) -> int:
        """How many leading blocks are here."""
        idle, held = self._idle, self._held
        count = 0
        for block in blocks:
            if block not in idle and block not in held:
                break
            count += 1
        return count

    def acquire(self, blocks: Sequence[int], nameless: int = 0) -> bool:
        """Hold a request's blocks, evicting idle ones where room is needed; False where it does not fit.

        Args:
            nameless: further blocks without content yet: the unfilled tail, and room for the answer.
        """
        idle, held = self._idle, self._held
        needed = nameless + sum(1 for block in blocks if block not in held)
        if self.held_blocks + needed > self.capacity_blocks:
            return False
        for block in blocks:
            held[block] = held.get(block, 0) + 1
            idle.pop(block, None)
        self._nameless += nameless
        self._shrink()
        return True

    def release(self, blocks: Sequence[int], nameless: int = 0, answer: Sequence[int] = ()) -> None:
        """Give a finished request's blocks back; `answer` names the nameless blocks that it filled."""
        idle, held = self._idle, self._held
        self._nameless -= nameless
        for block in reversed(answer):
            if block not in held:
                idle[block] = None
                idle.move_to_end(block)
        for block in reversed(blocks):
            users = held[block] - 1
            if users:
                held[block] = users
            else:
                del held[block]
                idle[block] = None
        self._shrink()

    def drop_idle(self) -> None:
        """Forget all that no running request holds (`/reset_prefix_cache`)."""
        self._idle.clear()

    def evict(self, blocks: int) -> None:
        """Evict up to so many idle blocks."""
        for _ in range(min(blocks, len(self._idle))):
            self._idle.popitem(last=False)
            self.evicted += 1

    def _shrink(self) -> None:
        self.evict(len(self._idle) + self.held_blocks - self.capacity_blocks)
