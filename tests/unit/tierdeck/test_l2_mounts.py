"""A FUSE mount works, hangs, or can't be told; only the first counts as healthy."""

from __future__ import annotations

import pytest

from tierdeck.l2.mounts import Mount, MountReading

NOW = 1_700_000_000.0


def mount(moved: float = 0.0, failed: str = "", age: float = 5.0, **told: float | None) -> Mount:
    """Last answered something `moved` seconds before its page, which is `age` seconds old."""
    at = NOW - age
    return Mount("curvine/curvine", "curvine-fuse.a", MountReading("curvine-fuse.a", at, **told), at - moved, failed)


@pytest.mark.parametrize(
    "healthy",
    [
        mount(active=0, queued=0, progress_at=NOW - 9000, requests=10, moved=9000),  # idle for long
        mount(active=4, queued=1, progress_at=NOW - 6, requests=10),
        mount(active=4, requests=10, moved=30),  # a version without senders, half a minute without an answer
        mount(active=4),
    ],
)
def test_a_mount_that_works_has_no_trouble(healthy: Mount) -> None:
    assert healthy.trouble(NOW, 45) == ""


@pytest.mark.parametrize(
    ("troubled", "words"),
    [
        (Mount("p", "t"), "its mount's metrics were never read"),
        (Mount("p", "t", failed="refused"), "its mount's metrics were never read (refused)"),
        (mount(active=0, age=100, failed="timed out"), "its mount's metrics were last read 100 s ago (timed out)"),
        (mount(), "its mount's client does not tell what is under way"),
        (
            # 100 - 5: since its page of 5 s ago
            mount(active=3, queued=2, progress_at=NOW - 100, requests=10),
            "its mount hangs: 5 requests wait, and a sender stands still for 95 s",
        ),
        (
            mount(active=3, requests=10, moved=61),
            "its mount hangs: 3 requests wait, and none was answered for 61 s",
        ),
    ],
)
def test_what_is_not_known_to_work_is_said(troubled: Mount, words: str) -> None:
    assert troubled.trouble(NOW, 45) == words
