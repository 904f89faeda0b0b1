"""Which file system a path lies on, as the kernel tells it: a claim that is not mounted must not be taken for a pool.

Source of Curvine's names: its FUSE client mounts type `fuse.curvinefs`, older ones type `fuse` from `curvinefs`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tierdeck.errors import UnreachableError, UsageError

_TABLE = Path("/proc/self/mountinfo")
_ITSELF = "Name the mounted directory itself."
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount: where, of what type, from what, and its device as `major:minor`."""

    point: Path
    kind: str
    source: str
    device: str = ""


def mount_of(path: Path, table: str) -> Mount | None:
    """The mount on which an absolute path lies; None: the table has none.

    Args:
        table: text in the format of /proc/PID/mountinfo.
    """
    found: Mount | None = None
    for line in table.splitlines():
        left, separator, right = line.partition(" - ")
        where, what = left.split(" "), right.split(" ")
        if not separator or len(where) < 5 or len(what) < 2:
            continue
        mount = Mount(Path(_plain(where[4])), what[0], _plain(what[1]), where[2])
        # the longest one wins, and of several on one point the last
        if path.is_relative_to(mount.point) and (found is None or len(mount.point.parts) >= len(found.point.parts)):
            found = mount
    return found


def check_mount(path: Path, kinds: frozenset[str], table: str | None = None) -> None:
    """
    Args:
        kinds: types of file systems, or sources, on which the path may lie.
        table: instead of the kernel's, which is read anew each time.

    Raises:
        UsageError: it lies on another, is no directory, or leads elsewhere by a link.
        UnreachableError: what is mounted there does not answer.
    """
    if not path.is_absolute() or path.is_symlink() or ".." in path.parts:
        raise UsageError(f"{path} is no absolute path without links", _ITSELF)
    device = _device_of(path) if table is None else None
    try:
        text = _TABLE.read_text(encoding="utf-8", errors="replace") if table is None else table
    except OSError as error:
        raise UsageError(f"{_TABLE} can't be read: {error.strerror}", "The janitor runs on Linux.") from error
    mount = mount_of(Path(*path.parts), text)
    if mount is None or not {mount.kind, mount.source} & kinds:
        told = "no mount" if mount is None else f"{mount.kind}, mounted on {mount.point}"
        hint = "Is the claim mounted? TIERDECK_JANITOR_FILESYSTEMS says which file systems may be cleaned."
        raise UsageError(f"{path} lies on {told}, and not on {' or '.join(sorted(kinds))}", hint)
    if device is not None and device != mount.device:
        raise UsageError(f"{path} is on another device than {mount.point}, on which it seems to lie", _ITSELF)


def _device_of(path: Path) -> str:
    """As `major:minor`; no part of the path may be a link."""
    try:
        real, device = path.resolve(strict=True), path.stat().st_dev
    except FileNotFoundError as error:
        raise UsageError(f"there is no {path}", _ITSELF) from error
    except OSError as error:
        hint = "The mount is broken: restart its client, then the janitor."
        raise UnreachableError(f"{path} can't be looked at: {error.strerror}", hint) from error
    if real != path:
        raise UsageError(f"{path} is no path without links: it leads to {real}", _ITSELF)
    return f"{os.major(device)}:{os.minor(device)}"


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)
