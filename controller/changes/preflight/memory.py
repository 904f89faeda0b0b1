"""Whether a pod's own memory holds L1 beside everything else that its container needs.

What that is nobody states: it is taken as what the container has today beyond L1; of a container whose memory the plan
leaves as it is, 16 GiB of that are enough. Sources: LMCache allocates all of
`max_local_cpu_size` on each rank (LMCache#2901); a container that goes over its limit is killed (OOMKilled).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.saying import sentence, size, told
from controller.objects import Raw
from controller.reading.fields import field
from controller.reading.quantities import bytes_of
from tierdeck.changes.plan import Refusal

_USUAL_BESIDE, _ENOUGH_BESIDE = 8 << 30, 16 << 30
"""What engines need beside L1, usually: 8 to 16 GiB for loading weights and for the process itself."""
_NOT_CHECKED = "Whether memory is enough for L1 is not checked"


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Memory of one container in bytes; None: not stated."""

    limit: int | None
    request: int | None

    @classmethod
    def of(cls, container: Raw) -> _Bounds:
        limit, request = (bytes_of(field(container, "resources", side, "memory")) for side in ("limits", "requests"))
        return cls(limit, limit if request is None else request)

    def on(self, side: str) -> int | None:
        return self.limit if side == "limits" else self.request


def find_memory(ahead: Ahead) -> Iterator[Finding]:
    """Only where L1 changes, or the memory of the container that keeps it."""
    for one in ahead.restarts:
        if one.holder is None:
            continue
        where = f"container {one.holder.name} of {one.ref}"
        now, then = _Bounds.of(one.holder.container), _Bounds.of(one.container(one.holder))
        wanted = one.held.size_bytes if ahead.wish.l1_bytes is None else ahead.wish.l1_bytes
        if ahead.wish.l1_bytes is None and now == then:
            continue
        if then.request is None:
            yield f"{_NOT_CHECKED}: {where} states neither a limit nor a request for it."
        elif wanted is None:
            yield f"{_NOT_CHECKED}: how large L1 of {one.ref} is is not known ({one.held.reason})."
        else:
            side = "requests" if then.limit is None else "limits"
            beside = _beside(one, now.on(side))
            if now == then and isinstance(beside, int):
                beside = min(beside, _ENOUGH_BESIDE)
            yield from _holds(where, (side, then.limit or then.request), beside, wanted)
            yield from _risks(where, one, (now, then), wanted)


def _holds(where: str, bound: tuple[str, int], beside: int | str, wanted: int) -> Iterator[Finding]:
    side, most = bound
    has = f"{sentence(where)} will have {size(most)} of memory ({side})"
    if isinstance(beside, str):
        if most > wanted:
            yield f"{_NOT_CHECKED}: {beside}."
            return
        yield Refusal(
            "memory",
            f"{has}, and L1 alone takes {size(wanted)}.",
            f"Raise resources.{side}.memory above {told(wanted)}, by what the engine needs beside it.",
        )
        return
    missing = beside + wanted - most
    if missing > 0:
        yield Refusal(
            "memory",
            f"{has}; L1 takes {size(wanted)} and the rest needs {size(beside)}, so {told(missing)} are missing and it "
            "would be OOMKilled.",
            f"Raise resources.{side}.memory of {where} by {told(missing)}, or make L1 smaller.",
        )


def _beside(one: Restart, before: int | None) -> int | str:
    """Bytes that the container has today beyond L1; a text is the reason why that is not known."""
    if one.held.size_bytes is None:
        return f"how large L1 of {one.ref} is today is not known ({one.held.reason})"
    if before is None:
        return f"how much memory {one.ref} has today is not stated"
    if before < one.held.size_bytes:
        return f"{one.ref} has {size(before)} of memory today, less than its L1 of {size(one.held.size_bytes)}"
    return before - one.held.size_bytes


def _risks(where: str, one: Restart, bounds: tuple[_Bounds, _Bounds], wanted: int) -> Iterator[str]:
    """What may go wrong though nothing is missing by the numbers."""
    now, then = bounds
    grows = wanted - (one.held.size_bytes or 0)
    if then.limit is None:
        yield f"{sentence(where)} states no memory limit: what it takes beyond its request is missing on its node."
    elif then.request is not None and now.request is not None and 0 <= then.request - now.request < grows:
        yield (
            f"{sentence(where)} asks for {size(then.request)} of memory, which grows by less than L1 does: its node "
            "may run out of memory below the limit."
        )
    before, left = _beside(one, now.limit or now.request), (then.limit or then.request or 0) - wanted
    if isinstance(before, str) or grows <= 0 or left <= 0:
        return
    if left < _USUAL_BESIDE:
        yield (
            f"Beside L1 {where} will have {size(left)} of memory; 8 to 16 GiB are usual, and where they are needed it "
            "is OOMKilled once L1 is full."
        )
    elif left < before:
        yield f"Beside L1 {where} will have {size(left)} of memory, and has {size(before)} today."


MEMORY_OF_POD = Check("memory of the pod", ("memory",), find_memory)
