"""When a replica is scraped: at its own fixed offset within the interval, less often while it is slow."""

from __future__ import annotations

import hashlib

from tierdeck.fleet import ReplicaKey

_PATIENCE = 2
_LONGEST = 8


def offset_seconds(key: ReplicaKey, interval_seconds: float) -> float:
    """A stable share of the interval, so that scrapes spread evenly and keep their place over restarts."""
    digest = hashlib.sha256(f"{key.cluster}/{key.endpoint}/{key.replica}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 * interval_seconds


def next_round(now: float, offset: float, interval_seconds: float) -> float:
    """The first slot of that offset after `now` (epoch seconds)."""
    return now + interval_seconds - (now - offset) % interval_seconds


class BackOff:
    """Leaves out rounds of a target that costs time: after 2 slow failures every 2nd, 4th, then 8th round is tried."""

    def __init__(self) -> None:
        self._slow = 0
        self._skip = 0

    def skips(self) -> bool:
        """True if this round is to be left out; ask once a round."""
        if self._skip == 0:
            return False
        self._skip -= 1
        return True

    def record(self, *, slow: bool) -> None:
        """Tell how the try ended."""
        self._slow = self._slow + 1 if slow else 0
        doublings = max(0, self._slow - _PATIENCE + 1)
        self._skip = min(2**doublings, _LONGEST) - 1 if self._slow else 0

    @property
    def reason(self) -> str:
        return f"left out this round after {self._slow} slow failures in a row"
