"""Whether a pool's FUSE mounts work, as of when: by what their clients export, since a hung one stays Ready.

Source: Curvine's probes only look into /proc/mounts, and `kernel_fd_health` stayed 1 in a hang (CurvineIO/curvine
#1215); what tells is replies that wait while senders make no progress, or requests of which none is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tierdeck.l2.members import KnownMember, MemberKind, MountFacts

HUNG_SECONDS = 60.0
"""Without progress for so long, with something waiting, a mount hangs."""


class MountState(StrEnum):
    """States, worst first."""

    HUNG = "hung"
    DETACHED = "detached"
    SILENT = "silent"
    NONE = "none"
    WORKING = "working"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    MountState.HUNG: "requests wait and nothing is answered: readers and writers on that node block",
    MountState.DETACHED: "the kernel's side of the mount is not there: files fail at once",
    MountState.SILENT: "its client does not answer, its answer is too old, or tells nothing that would show a hang",
    MountState.NONE: "no mount is known there",
    MountState.WORKING: "answers what it is asked",
}


@dataclass(frozen=True, slots=True)
class MountHealth:
    """How a mount is, with the reason in words.

    Attributes:
        at: epoch seconds of what this rests on; None: nothing was ever told.
        age_seconds: of that, at the time of asking.
    """

    state: MountState
    reason: str
    at: float | None
    age_seconds: float | None
    is_read: bool = True

    @property
    def is_known_healthy(self) -> bool:
        """Only this may be built on: not known is not healthy."""
        return self.state is MountState.WORKING


def mount_health(known: KnownMember, now: float, stale_after_seconds: float) -> MountHealth:
    """The health of one mount.

    Args:
        stale_after_seconds: an older reading says nothing about now; three scrape intervals.
    """
    told_at, mount = known.told_at, known.member.mount
    if told_at is None or mount is None:
        why = known.member.reason or "it has not answered yet"
        return MountHealth(MountState.SILENT, f"its client was never read: {why}", None, None, is_read=False)
    age = max(0.0, now - told_at)
    if age > stale_after_seconds:
        why = known.member.reason or "no round has come since"
        return MountHealth(MountState.SILENT, f"not read for {_words(age)}: {why}", told_at, age, is_read=False)
    if mount.is_attached is False:
        return MountHealth(MountState.DETACHED, "the kernel's side of the mount is gone", told_at, age)
    signs = hang_signs(mount, told_at)
    if signs:
        return MountHealth(MountState.HUNG, "; ".join(signs), told_at, age)
    if not would_show_a_hang(mount):
        return MountHealth(MountState.SILENT, "its client does not tell whether anything waits", told_at, age)
    return MountHealth(MountState.WORKING, "answers what it is asked", told_at, age)


def would_show_a_hang(mount: MountFacts) -> bool:
    """Its client exports what `hang_signs` needs: old ones don't, and that the kernel's side is there says nothing."""
    replies = mount.waiting is not None and mount.progress_at is not None
    return replies or (mount.active is not None and mount.answered is not None)


def hang_signs(mount: MountFacts, at: float) -> tuple[str, ...]:
    """What says that a mount hangs, in words; () where nothing does.

    An idle mount makes no progress either, so that senders count only while replies wait.
    """
    signs = []
    queued = _since(mount.waiting_since, at)
    behind = _since(mount.progress_at, at)
    if mount.waiting and min(queued, behind) > HUNG_SECONDS:
        signs.append(f"{mount.waiting:.0f} replies wait, a sender sent nothing for {_words(behind)}")
    flat = _since(mount.idle_since, at)
    if mount.active and flat > HUNG_SECONDS:
        signs.append(f"{mount.active:.0f} requests under way, none answered for {_words(flat)}")
    return tuple(signs)


def health_on(
    node: str, mounts: Sequence[KnownMember], now: float, stale_after_seconds: float, pool: str = ""
) -> MountHealth:
    """How the mounts on a node are: that of the worst one.

    Args:
        node: its name, or the address of its mounts' targets where no controller knows nodes.
        mounts: as `Store.pool_members` gives them; workers among them don't matter.
        pool: only mounts of this one; "": of any.
    """
    wanted = [one for one in mounts if one.member.kind is MemberKind.MOUNT and pool in ("", one.pool.replica)]
    on_node = [one for one in wanted if node in (one.node, one.member.address)]
    here = [mount_health(one, now, stale_after_seconds) for one in on_node]
    if not here:
        return MountHealth(MountState.NONE, f"no FUSE mount is known on {node}", None, None)
    return min(here, key=lambda one: list(MountState).index(one.state))


def _since(instant: float | None, at: float) -> float:
    """Seconds from an instant to now; 0 where there is none."""
    return 0.0 if instant is None else max(0.0, at - instant)


def _words(seconds: float) -> str:
    """`90 s`, `5 min`."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
