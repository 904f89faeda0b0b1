"""What a pool is made of: workers that hold the chunks, and the mounts through which engines reach them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tierdeck.fleet import ReplicaKey


class MemberKind(StrEnum):
    """The kinds of member."""

    WORKER = "worker"
    MOUNT = "mount"


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """One worker; None and "": not told.

    Attributes:
        host: as the master calls it.
        status: the master's word: `Live`, `Blacklist` (silent for 30 s), `Decommission`, `Lost` (silent for 10 min).
        disks, failed_disks: data directories, and those of them whose check failed.
        blocks: as the worker itself counts.
        read_rate, written_rate: bytes a second since the scrape before; reads and writes that a client makes on the
            worker's own machine pass it by.
    """

    host: str = ""
    status: str = ""
    capacity_bytes: float | None = None
    available_bytes: float | None = None
    used_bytes: float | None = None
    disks: float | None = None
    failed_disks: float | None = None
    blocks: float | None = None
    read_rate: float | None = None
    written_rate: float | None = None


@dataclass(frozen=True, slots=True)
class MountFacts:
    """One FUSE client; None: not told. Instants are epoch seconds.

    Attributes:
        errors: requests that failed since the client started, by errno; lookups of what is not there (ENOENT: a cache
            miss) are left out.
        failed_at: the last scrape at which there were more of them than at the one before.
        waiting: replies that wait to be sent. waiting_since: at every scrape from then on some have waited.
        active: requests under way. idle_since: from then on none was answered, though some were under way.
        progress_at: when the sender that is furthest behind sent something last, by the node's clock.
        is_attached: the kernel's side of the mount is there; it stays so in a hang.
        read_rate, written_rate: bytes a second since the scrape before.
        answered: requests that were answered since the client started.
    """

    started_at: float | None = None
    errors: tuple[tuple[str, float], ...] = ()
    failed_at: float | None = None
    waiting: float | None = None
    waiting_since: float | None = None
    active: float | None = None
    idle_since: float | None = None
    progress_at: float | None = None
    is_attached: bool | None = None
    read_rate: float | None = None
    written_rate: float | None = None
    answered: float | None = None


@dataclass(frozen=True, slots=True)
class PoolMember:
    """A worker or a mount at one round.

    Attributes:
        name: what tells it apart among its kind: the end of its target's name, else its host.
        address: host of its target; "": it has none.
        reason: why its own page was not read; "": it was, or it has none that is scraped.
        worker, mount: what is told of it, at most one of them; neither: nothing is.
    """

    kind: MemberKind
    name: str
    reason: str = ""
    worker: WorkerFacts | None = None
    mount: MountFacts | None = None
    address: str = ""

    def __post_init__(self) -> None:
        fitting = self.mount if self.kind is MemberKind.WORKER else self.worker
        if fitting is not None:
            raise ValueError(f"a {self.kind} has no facts of the other kind")


@dataclass(frozen=True, slots=True)
class KnownMember:
    """A member as the store has it; instants are epoch seconds.

    Attributes:
        pool: whose it is.
        at: the last round that it was part of.
        told_at: the last one that told something of it; None: none did. Its facts are of then.
        node: the Kubernetes node that it is on; "": not known.
    """

    pool: ReplicaKey
    member: PoolMember
    at: float
    told_at: float | None
    node: str = ""
