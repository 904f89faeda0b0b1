"""Chunks that are listed and gone: counted only where files and blocks can be held against each other."""

from __future__ import annotations

import pytest

from tierdeck.account import PoolAccount
from tierdeck.l2.orphans import orphan_chunks


@pytest.mark.parametrize(
    ("files", "blocks", "dirs", "orphans", "reason"),
    [
        (15.0, 12.0, 1.0, 3.0, ""),
        (12.0, 12.0, 1.0, 0.0, ""),
        (None, None, 1.0, None, "the master's metrics, which count files and blocks, were not read"),
        (15.0, 12.0, None, None, "how many data directories its workers have is not told"),
        (15.0, 24.0, 2.0, None, "its workers have 2 data directories"),
        (10.0, 12.0, 1.0, None, "there are more blocks than files"),
    ],
)
def test_files_without_a_block_are_orphans(
    files: float | None, blocks: float | None, dirs: float | None, orphans: float | None, reason: str
) -> None:
    found = orphan_chunks(PoolAccount(files=files, blocks=blocks, data_dirs=dirs))
    assert found.value == orphans
    assert found.reason.startswith(reason)
