"""When drops are to be expected: after restarts, rollouts and scale-outs tiers fill again. Always with an end."""

from __future__ import annotations

WARMING = "warming"
RECOVERING = "recovering"
# Where nothing dipped so long after it, nothing will for this reason.
_DIP_SECONDS = 1200.0
# Later restarts of the same rollout lengthen the mute, up to half as long again.
_MOST = 1.5


class Warming:
    """Mutes one endpoint.

    Args:
        seconds: the longest mute after one event. An endpoint that restarts over and over is muted no more than
            half of the time.
    """

    def __init__(self, seconds: float = 3600.0) -> None:
        self._seconds = seconds
        self._first: float | None = None
        self._newest = 0.0
        self._ended = 0.0
        self._has_dipped = False

    def happened(self, at: float) -> None:
        """Something restarted, was rolled out, changed or added."""
        if self._first is None and at >= self._ended:
            self._first, self._has_dipped = at, False
        if self._first is not None:
            self._newest = at

    def seen(self, at: float, *, is_bad: bool, is_clear: bool) -> None:
        """What the ratio looks like: once it has dipped and is well again, the mute is over."""
        if self._first is None:
            return
        self._has_dipped = self._has_dipped or is_bad
        is_well = self._has_dipped and is_clear
        is_late = not self._has_dipped and at - self._newest >= _DIP_SECONDS
        if is_well or is_late or at >= min(self._newest + self._seconds, self._first + _MOST * self._seconds):
            # Only what ran out without an end to its cause has to wait before it may mute again.
            self._ended = at if is_well or is_late else at + self._seconds
            self._first = None

    @property
    def is_on(self) -> bool:
        return self._first is not None
