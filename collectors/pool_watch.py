"""A pool from round to round: its account, its workers and mounts, and since when a mount answers nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from collectors.meter import Increase
from collectors.pool import knowledge, pool_account
from collectors.round_parts import Answered
from collectors.source import Key, TargetReading
from tierdeck.account import PoolAccount
from tierdeck.fleet import SourceKind, Target
from tierdeck.l2.members import MemberKind, MountFacts, PoolMember, WorkerFacts
from tierdeck.readings import Reading

_LONGEST_GAP_SECONDS = 120.0
"""After a longer time without a scrape of it, nobody knows what a mount did meanwhile."""
_MOUNT_COUNTS = (Reading.FUSE_READ_BYTES, Reading.FUSE_WRITTEN_BYTES, Reading.FUSE_ERRORS)
_WORKER_COUNTS = (Reading.WORKER_READ_BYTES, Reading.WORKER_WRITTEN_BYTES)
_TOTALS = ("read_bytes", "written_bytes", "failed_requests")


@dataclass(slots=True)
class _Seen:
    """What is remembered of a target from its last page."""

    at: float
    requests: float = 0.0
    waiting_since: float | None = None
    idle_since: float | None = None
    failed_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Page:
    """One target's answer in a round; `seconds` since the page before, None: it is the first, or of a new process."""

    reading: TargetReading
    counts: Mapping[Reading, float]
    seconds: float | None

    def rate(self, counter: Reading) -> float | None:
        if self.seconds is None or counter not in self.counts:
            return None
        return self.counts[counter] / self.seconds


class PoolWatch:
    """The pool that some targets tell of; of other targets it says nothing."""

    def __init__(self, targets: Sequence[Target], memory: Mapping[str, object] | None = None) -> None:
        kept: Any = memory or {}
        self._kinds = {target.name: target.kind for target in targets}
        self._targets = {
            kind: [target for target in targets if target.kind is kind]
            for kind in (SourceKind.CURVINE_WORKER, SourceKind.CURVINE_FUSE)
        }
        self._seen = {name: _Seen(**one) for name, one in kept.get("seen", {}).items()}
        self._hosts: dict[str, str] = dict(kept.get("hosts", {}))
        self._totals: dict[str, float] = dict(kept.get("totals", {}))

    def memory(self) -> dict[str, object]:
        """What the next start needs; JSON-able."""
        seen = {name: asdict(one) for name, one in self._seen.items()}
        kept = {"seen": seen, "hosts": dict(self._hosts), "totals": dict(self._totals)}
        return {name: some for name, some in kept.items() if some}

    def feed(
        self,
        at: float,
        answers: Mapping[str, Answered],
        readings: Mapping[str, TargetReading],
        increases: Mapping[str, Increase],
    ) -> tuple[PoolAccount | None, tuple[PoolMember, ...]]:
        """The round at `at` (epoch seconds): the pool and its members; None and () where no target tells of one."""
        account = pool_account(self._kinds, readings)
        if account is None:
            return None, ()
        pages = {
            target.name: self._page(target.name, at, readings[target.name], increases.get(target.name))
            for targets in self._targets.values()
            for target in targets
            if target.name in readings
        }
        reasons = {name: answer.scrape.reason for name, answer in answers.items()}
        workers = tuple(self._workers(pages, readings, reasons))
        mounts = tuple(self._mounts(at, pages, reasons))
        for name in pages:
            self._seen.setdefault(name, _Seen(at)).at = at
        dirs = [one.worker.disks for one in workers if one.worker is not None and one.worker.disks is not None]
        moved = self._moved(pages)
        account = replace(
            account,
            data_dirs=max(dirs, default=None),
            read_bytes=moved.get("read_bytes"),
            written_bytes=moved.get("written_bytes"),
            failed_requests=moved.get("failed_requests"),
        )
        return account, (*workers, *mounts)

    def _page(self, name: str, at: float, reading: TargetReading, increase: Increase | None) -> _Page:
        before = self._seen.get(name)
        told = increase is not None and before is not None and at > before.at
        counts = increase.counts if increase is not None else {}
        return _Page(reading, counts, at - before.at if told and before is not None else None)

    def _moved(self, pages: Mapping[str, _Page]) -> dict[str, float]:
        """Running totals, for as long as at least one of those that count them answers."""
        mounts = self._targets[SourceKind.CURVINE_FUSE]
        counters = _MOUNT_COUNTS if mounts else _WORKER_COUNTS
        own = [pages[one.name] for one in mounts or self._targets[SourceKind.CURVINE_WORKER] if one.name in pages]
        for total, counter in zip(_TOTALS, counters, strict=False):
            added = sum(page.counts.get(counter, 0.0) for page in own)
            self._totals[total] = self._totals.get(total, 0.0) + added
        return {total: self._totals[total] for total, _ in zip(_TOTALS, counters, strict=False)} if own else {}

    def _workers(
        self, pages: Mapping[str, _Page], readings: Mapping[str, TargetReading], reasons: Mapping[str, str]
    ) -> Iterator[PoolMember]:
        """Those that are scraped, and those that the master knows; the same one where host or number says so."""
        told = self._master(readings)
        if told is not None:
            self._hosts = {part: info["host"] for part, info in _infos(told)}
        left = dict(self._hosts)
        for target in self._targets[SourceKind.CURVINE_WORKER]:
            part = _part_of(target, left)
            left.pop(part, None)
            facts = _worker_facts(pages.get(target.name), told, part)
            yield PoolMember(MemberKind.WORKER, _name(target), reasons.get(target.name, ""), facts, None, _host(target))
        for part, host in left.items():
            facts = _worker_facts(None, told, part)
            reason = "" if facts else "the master's list of workers was not read"
            yield PoolMember(MemberKind.WORKER, part, reason, facts, address=host)

    def _master(self, readings: Mapping[str, TargetReading]) -> TargetReading | None:
        """The list of workers of the master that leads; one that stands by lists none."""
        api = SourceKind.CURVINE_MASTER_API
        told = [one for name, one in readings.items() if self._kinds.get(name) is api and one.infos]
        return max(told, key=knowledge) if told else None

    def _mounts(self, at: float, pages: Mapping[str, _Page], reasons: Mapping[str, str]) -> Iterator[PoolMember]:
        for target in self._targets[SourceKind.CURVINE_FUSE]:
            page = pages.get(target.name)
            facts = self._mount_facts(target.name, at, page) if page is not None else None
            reason = reasons.get(target.name, "")
            yield PoolMember(MemberKind.MOUNT, _name(target), reason, None, facts, _host(target))

    def _mount_facts(self, name: str, at: float, page: _Page) -> MountFacts:
        reading, before = page.reading, self._seen.get(name, _Seen(at))
        if at - before.at > _LONGEST_GAP_SECONDS:
            before = _Seen(before.at, failed_at=before.failed_at)
        answered, active = _told(reading, Reading.FUSE_REQUESTS), _active(reading)
        requests = answered or 0.0
        waiting = reading.gauge(Reading.FUSE_WAITING)
        has_failed = page.counts.get(Reading.FUSE_ERRORS, 0.0) > 0
        idle_since = before.idle_since if before.requests == requests else None
        now = _Seen(
            at,
            requests,
            waiting_since=before.waiting_since or at if waiting else None,
            idle_since=idle_since or at if active and answered is not None else None,
            failed_at=at if has_failed else before.failed_at,
        )
        self._seen[name] = now
        attached = reading.gauge(Reading.FUSE_ATTACHED)
        return MountFacts(
            started_at=reading.start_time,
            errors=_errors(reading),
            failed_at=now.failed_at,
            waiting=waiting,
            waiting_since=now.waiting_since,
            active=active,
            idle_since=now.idle_since,
            progress_at=min((value for key, value in reading.gauges.items() if key.reading is Reading.FUSE_PROGRESS),
                            default=None),
            is_attached=None if attached is None else attached > 0,
            read_rate=page.rate(Reading.FUSE_READ_BYTES),
            written_rate=page.rate(Reading.FUSE_WRITTEN_BYTES),
            answered=answered,
        )  # fmt: skip


def _told(reading: TargetReading, counter: Reading) -> float | None:
    """A counter where it is exported: what an old client does not count is not 0."""
    return reading.counter(counter) if any(key.reading is counter for key in reading.counters) else None


def _active(reading: TargetReading) -> float | None:
    """Requests under way; one that waits for a file lock may do so for as long as it likes."""
    active = reading.gauge(Reading.FUSE_ACTIVE)
    return None if active is None else max(0.0, active - (reading.gauge(Reading.FUSE_LOCK_WAITS) or 0.0))


def _errors(reading: TargetReading) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for key, value in reading.counters.items():
        if key.reading is Reading.FUSE_ERRORS and value:
            found[key.part] = found.get(key.part, 0.0) + value
    return tuple(sorted(found.items()))


def _worker_facts(page: _Page | None, master: TargetReading | None, part: str) -> WorkerFacts | None:
    """As the master tells, and what only the worker's own page has; None where neither tells anything."""
    info = dict(_infos(master)).get(part) if master is not None else None
    if page is None and info is None:
        return None

    def told(of_master: Reading, own: Reading) -> float | None:
        known = master.gauges.get(Key(of_master, part=part)) if master is not None else None
        return known if known is not None or page is None else page.reading.gauge(own)

    return WorkerFacts(
        host=info["host"] if info else "",
        status=info["status"] if info else "",
        capacity_bytes=told(Reading.WORKER_CAPACITY, Reading.POOL_CAPACITY),
        available_bytes=told(Reading.WORKER_AVAILABLE, Reading.POOL_AVAILABLE),
        used_bytes=told(Reading.WORKER_USED, Reading.POOL_USED),
        disks=told(Reading.DATA_DIRS, Reading.DATA_DIRS),
        failed_disks=told(Reading.FAILED_DIRS, Reading.FAILED_DIRS),
        blocks=page.reading.gauge(Reading.POOL_BLOCKS) if page is not None else None,
        read_rate=page.rate(Reading.WORKER_READ_BYTES) if page is not None else None,
        written_rate=page.rate(Reading.WORKER_WRITTEN_BYTES) if page is not None else None,
    )


def _infos(master: TargetReading) -> Iterator[tuple[str, Mapping[str, str]]]:
    return ((key.part, info) for key, info in master.infos.items() if key.reading is Reading.WORKER_STATUS)


def _part_of(target: Target, hosts: Mapping[str, str]) -> str:
    """The worker of the master's list that a target is: by its host, else by the number of its pod; "": none is."""
    own = [part for part, host in hosts.items() if host == _host(target)]
    suffix = target.name.partition(".")[2]
    if not own and suffix:
        own = [part for part, host in hosts.items() if host.partition(".")[0].endswith(f"-{suffix}")]
    return own[0] if len(own) == 1 else ""


def _name(target: Target) -> str:
    """`curvine-worker.0` -> `0`; the whole name where nothing is behind it."""
    return target.name.partition(".")[2] or target.name


def _host(target: Target) -> str:
    return urlsplit(target.url).hostname or "" if target.is_scraped else ""
