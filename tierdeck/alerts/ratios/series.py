"""One ratio of one endpoint: its window, what is usual for it, and what is left out of learning."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tierdeck.alerts.ratios.noise import Noise
from tierdeck.alerts.ratios.usual import SLOT_SECONDS, Expected, Guards, Usual
from tierdeck.alerts.ratios.window import Sample, Window

# A slot is learnt this long after its end, so that the beginning of a drop is not yet usual when it is noticed.
LAG_SECONDS = 2 * SLOT_SECONDS
_LEAST_REQUESTS = 5.0
# What was left out is kept as long as it may take until it is accepted as usual.
_KEPT_SLOTS = 3 * 144


@dataclass(frozen=True, slots=True)
class Slot:
    """Ten minutes that are over.

    Attributes:
        level: in points. alike: as of a span.
        residual: above what was usual; slow: likewise, for a slow loss. None: nothing was.
    """

    at: float
    level: float
    requests: float
    alike: float
    residual: float | None
    slow: float | None
    samples: tuple[Sample, ...]


@dataclass(slots=True)
class _Waiting:
    slot: Slot
    is_left_out: bool


@dataclass(slots=True)
class _Open:
    """The slot under way."""

    at: float
    samples: list[Sample] = field(default_factory=list)
    is_left_out: bool = False


class Series:
    """Fed each minute in order."""

    def __init__(self, guards: Guards, utc_offset_seconds: float = 0.0) -> None:
        self.window = Window()
        self.noise = Noise()
        self.usual = Usual(guards, utc_offset_seconds)
        self.expected: Expected | None = None
        self._open: _Open | None = None
        self._waiting: deque[_Waiting] = deque()
        self._left_out: deque[Slot] = deque(maxlen=_KEPT_SLOTS)

    def step(self, at: float, counts: tuple[float, float, float] | None) -> Slot | None:
        """One minute: (tokens, hits, requests), or None without traffic or where it is not known.

        Returns:
            The slot that ended with the minute before, if one did and had traffic.
        """
        ended = self._turn(at)
        if counts is not None and self._open is not None:
            tokens, hits, requests = counts
            value = self.expected.value if self.expected else None
            sample = Sample(at, tokens, hits, requests, None if value is None else 100.0 * hits / tokens - value)
            self.window.add(sample)
            self._open.samples.append(sample)
        return ended

    def remember(self, at: float, counts: tuple[float, float, float]) -> None:
        """Ten minutes of long ago, in order: their level alone, without how far they strayed."""
        tokens, hits, requests = counts
        if requests >= _LEAST_REQUESTS:
            self.usual.learn(at, 100.0 * hits / tokens)

    def leave_out(self) -> None:
        """Something is wrong: neither this slot nor those that wait are what is usual."""
        for waiting in self._waiting:
            waiting.is_left_out = True
        if self._open is not None:
            self._open.is_left_out = True

    def forget(self, since: float) -> None:
        """Something has been wrong since then, as is known only now."""
        self.leave_out()
        self.usual.forget(since)

    def restart(self) -> None:
        """Its meaning changed: nothing from before counts."""
        self.usual.restart()
        self.window.clear()
        self.noise = Noise()
        self.expected = None
        self._open = None
        self._waiting.clear()
        self._left_out.clear()

    def accept(self, since: float) -> None:
        """What has been since then is what is usual, though it was left out of learning."""
        slots = [*self._left_out, *(waiting.slot for waiting in self._waiting)]
        self.usual.restart()
        self.window.clear()
        self._waiting.clear()
        self._left_out.clear()
        for slot in slots:
            if slot.at >= since:
                self.usual.learn(slot.at, slot.level)
        self.expected = None
        self._open = None

    def _turn(self, at: float) -> Slot | None:
        """Where a new slot begins: end the one before, learn, and look up what is usual."""
        began = at - at % SLOT_SECONDS
        if self._open is not None and self._open.at == began:
            return None
        ended = self._ended()
        self._learn(at)
        self.expected = self.usual.expected(began)
        self._open = _Open(began)
        return ended

    def _ended(self) -> Slot | None:
        if self._open is None or not self._open.samples:
            return None
        samples = self._open.samples
        tokens, requests = sum(one.tokens for one in samples), sum(one.requests for one in samples)
        level = 100.0 * sum(one.hits for one in samples) / tokens
        residual = slow = None
        if self.expected is not None:
            residual = level - self.expected.value
            slow = None if self.expected.slow is None else level - self.expected.slow
        alike = tokens**2 / sum(one.tokens**2 / max(one.requests, 1.0) for one in samples)
        slot = Slot(self._open.at, level, requests, alike, residual, slow, tuple(samples))
        if requests >= _LEAST_REQUESTS:
            self._waiting.append(_Waiting(slot, self._open.is_left_out))
        return slot

    def _learn(self, now: float) -> None:
        while self._waiting and self._waiting[0].slot.at + SLOT_SECONDS + LAG_SECONDS <= now:
            waiting = self._waiting.popleft()
            slot = waiting.slot
            if waiting.is_left_out:
                self._left_out.append(replace(slot, residual=None, slow=None, samples=()))
                continue
            self.usual.learn(slot.at, slot.level)
            if slot.residual is not None:
                is_sure = slot.slow is not None
                self.noise.learn(slot.residual, slot.alike, _with_residuals(slot.samples), is_sure=is_sure)


def _with_residuals(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.residual is not None]
