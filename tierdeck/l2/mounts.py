"""A FUSE mount of the pool, as its client's metrics tell it: does it work, does it hang, or can't that be told.

Sources: CurvineIO/curvine, curvine-fuse/src/fuse_metrics.rs, and its issue 1215: senders stand still while requests
wait, and the pod stays ready.
"""

from __future__ import annotations

from dataclasses import dataclass

HUNG_SECONDS = 60.0
"""Requests that wait while nothing moves for so long are stuck."""


@dataclass(frozen=True, slots=True)
class MountReading:
    """One page of a FUSE client.

    Attributes:
        target: its name, such as `curvine-fuse.1a2b3c4d`.
        active: requests under way. None: not exported, as for what follows.
        queued: replies that wait to be sent.
        progress_at: when the slowest sender last got on, in epoch seconds.
        requests: how many it has answered so far.
    """

    target: str
    at: float
    active: float | None = None
    queued: float | None = None
    progress_at: float | None = None
    requests: float | None = None


@dataclass(frozen=True, slots=True)
class Mount:
    """What the store has of a FUSE client.

    Attributes:
        reading: of its last page that could be read; None: there is none.
        moved_at: when it had last answered something.
        failed: why its last page could not be read; empty: it could.
    """

    pool: str
    target: str
    reading: MountReading | None = None
    moved_at: float = 0.0
    failed: str = ""

    def trouble(self, now: float, stale_after_seconds: float) -> str:
        """Why it does not count as healthy; empty: it does."""
        page = self.reading
        if page is None:
            return f"its mount's metrics were never read{self._why()}"
        if now - page.at > stale_after_seconds:
            return f"its mount's metrics were last read {now - page.at:.0f} s ago{self._why()}"
        if page.active is None and page.queued is None:
            return "its mount's client does not tell what is under way"
        waiting = (page.active or 0) + (page.queued or 0)
        return self._hang(page, waiting) if waiting else ""

    def _hang(self, page: MountReading, waiting: float) -> str:
        """How long nothing moves, where that is too long."""
        if page.progress_at is not None and page.at - page.progress_at > HUNG_SECONDS:
            still = page.at - page.progress_at
            return f"its mount hangs: {waiting:.0f} requests wait, and a sender stands still for {still:.0f} s"
        if page.requests is not None and page.at - self.moved_at > HUNG_SECONDS:
            still = page.at - self.moved_at
            return f"its mount hangs: {waiting:.0f} requests wait, and none was answered for {still:.0f} s"
        return ""

    def _why(self) -> str:
        return f" ({self.failed})" if self.failed else ""
