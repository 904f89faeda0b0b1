"""Workers and mounts of a pool, each state as a shape and a word."""

from __future__ import annotations

from typing import Any

import streamlit as st

from console.pool_page import PoolPage
from console.web.escape import escaped
from console.web.tables import percent_column, table
from tierdeck.l2.computation import POOL_COMPUTATIONS

_COLUMNS = st.column_config


def draw_workers(page: PoolPage) -> None:
    """One row per worker."""
    st.subheader("Which workers hold it?", anchor=False)
    if page.workers.empty:
        st.markdown("No worker is known: add `curvine-master-api`, or each `curvine-worker`, to the pool's targets.")
        return
    columns: dict[str, Any] = {
        "worker": _COLUMNS.TextColumn(pinned=True),
        "state": _COLUMNS.Column(help=_how("worker")),
        "used": percent_column("used", _how("used")),
    }
    table(page.workers, "workers", "Workers: state, room, disks, reads and writes of each.", columns=columns)
    st.caption(escaped("  ·  ".join(page.worker_states)))


def draw_mounts(page: PoolPage) -> None:
    """One row per mount, the worst first."""
    st.subheader("Do its mounts work?", anchor=False)
    if page.mounts.empty:
        st.markdown(
            "No FUSE mount is known: errors, hangs and what is read are exported by each node's FUSE client. Add them "
            "as `curvine-fuse.NODE` to the pool's targets (docs/config.md); on Kubernetes they are found."
        )
        return
    columns: dict[str, Any] = {
        "mount": _COLUMNS.TextColumn(pinned=True),
        "state": _COLUMNS.Column(help=_how("hang")),
        "errors": _COLUMNS.Column(help="Failed requests since its client started, by errno; lookups' ENOENT left out."),
        "last sent": _COLUMNS.Column(help="By the sender that is furthest behind; an idle mount sends nothing either."),
        "why": _COLUMNS.TextColumn(width="large"),
    }
    table(page.mounts, "mounts", "Mounts: state, errors, what waits, reads and writes of each.", columns=columns)
    st.caption(escaped("  ·  ".join(page.mount_states)))


def _how(key: str) -> str:
    return f"{POOL_COMPUTATIONS[key].sentence}."
