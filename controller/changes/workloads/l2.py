"""L2 of an engine: the size of LMCache's local disk; for any other the reason why there is no size to write.

Sources: LMCache: fs_connector.py (put and remove only, no capacity), `max_local_disk_size` (GiB per rank, LRU);
CurvineIO/curvine, curvine-csi (a claim's size limits nothing); production-stack's CacheServer has no size.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from controller.changes.edits.quantities import gib_per_rank
from controller.changes.refused import RefusedError
from controller.changes.workloads.draft import Draft
from controller.changes.workloads.place import Place
from controller.reading.lmcache import FILE, Settings
from controller.reading.processes import Process
from controller.reading.sizes import gib_of, in_gib, ranks_of
from tierdeck.tiers import Tier

DISK_SIZE = "LMCACHE_MAX_LOCAL_DISK_SIZE"
POOL = "Change the pool itself: its workers' data directories (tierdeck pool), not the claim, whose size is cosmetic."


def set_l2(draft: Draft, place: Place, size_bytes: int) -> None:
    """
    Raises:
        RefusedError, NotEditableError: it can't be.
    """
    process = draft.process(place)
    refuse_l2(process)
    ranks = ranks_of(process)
    if isinstance(ranks, str):
        raise RefusedError("not_possible", f"{process.where}: how many ranks keep a disk is not known: {ranks}")
    number = gib_of(Settings(process).value("max_local_disk_size"))
    if number is not None and in_gib(number, ranks).size_bytes == size_bytes:
        return
    value = gib_per_rank(size_bytes, ranks)
    draft.set(place, DISK_SIZE, value)
    draft.lose(Tier.L2)
    draft.warn(
        f"{process.where}: each replica keeps a disk of its own; the size is of one replica, all its ranks together.",
        f"{process.where}: whether the node's disk holds that is not checked.",
    )


def refuse_l2(process: Process) -> None:
    """
    Raises:
        RefusedError: nothing that it is told sets a size of L2.
    """
    where, settings = process.where, Settings(process)
    remote, disk = settings.get("remote_url"), settings.get("local_disk")
    if remote is not None:
        raise RefusedError("not_possible", f"{where}: {_why_no_size(remote.value)}", _fix(remote.value))
    if process.environment.get(FILE) is not None:
        raise RefusedError("not_possible", f"{where}: {FILE} is set, and with a file LMCache ignores its variables")
    if disk is None:
        says = f"{DISK_SIZE} alone turns no tier on" if settings.get("max_local_disk_size") else "no L2 is configured"
        raise RefusedError(
            "not_possible", f"{where}: LMCACHE_LOCAL_DISK is not set: {says}", "Set up L2 first (docs/l2.md)."
        )
    if "://" not in disk.value and not disk.value.startswith("/"):
        raise RefusedError(
            "not_possible",
            f"{where}: LMCACHE_LOCAL_DISK is {disk.value or 'not known'}, a path beside the engine and no disk",
            "Set it to file:///PATH on a volume first.",
        )


def _why_no_size(remote: str) -> str:
    scheme = _scheme(remote)
    if scheme in ("fs", "file"):
        return "LMCache keeps no limit on a file system: it only ever adds files, and a claim's size is cosmetic"
    if scheme in ("lm", "lmcache"):
        return "LMCache's cache server takes no size, and evicts nothing until its pod's memory is full"
    return f"a remote of the kind {scheme or 'unknown'} is not told a size by the engine"


def _fix(remote: str) -> str:
    return POOL if _scheme(remote) in ("fs", "file") else ""


def _scheme(remote: str) -> str:
    try:
        return urlsplit(remote).scheme
    except ValueError:
        return ""
