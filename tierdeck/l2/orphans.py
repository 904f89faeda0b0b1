"""Chunks that a pool lists and no longer holds: what a lost worker took with it stays in the master's tree.

Source: Curvine gives a file of a KV pool no other copy; lookups go on finding it, and reading it fails (EIO).
"""

from __future__ import annotations

from tierdeck.account import PoolAccount
from tierdeck.figure import Figure


def orphan_chunks(pool: PoolAccount) -> Figure:
    """Files − blocks, where each file is one block and each block counted once."""
    if pool.files is None or pool.blocks is None:
        return Figure.unknown(pool.reason or "the master's metrics, which count files and blocks, were not read")
    if pool.data_dirs is None:
        return Figure.unknown("how many data directories its workers have is not told, and blocks are counted by them")
    if pool.data_dirs > 1:
        many = f"{pool.data_dirs:.0f} data directories"
        return Figure.unknown(f"its workers have {many}, and the master counts their blocks once for each")
    if pool.blocks > pool.files:
        return Figure.unknown("there are more blocks than files: files of several blocks hide what is missing")
    return Figure(pool.files - pool.blocks)
