"""Admin: can I trust what I see?"""

from __future__ import annotations

import time

import streamlit as st

from console import queries
from console.web.cluster import draw_cluster
from console.web.empty import no_targets
from console.web.escape import escaped
from console.web.live import live
from console.web.tables import table

_ERROR_WIDTH = 240


def render() -> None:
    """The whole view; it stays up to date."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header("Admin", anchor=False, width="content")
        status = st.container()
    with status:
        live("admin", _status, is_quiet=True)
    live("admin", _body, queries.refresh_seconds())


def _status() -> None:
    now = time.time()
    page, age = queries.admin_view(now), queries.data_age(now)
    st.caption(escaped(f"{page.store} · {page.summary} · {age.words}"))


def _body() -> None:
    page = queries.admin_view(time.time())
    failing = f" {page.failing} failing" if page.failing else " All answer" if len(page.targets) else ""
    st.subheader(f"Which targets are read?{failing}", anchor=False)
    if page.targets.empty:
        no_targets()
    else:
        table(
            page.targets,
            "targets",
            "Targets: last success, error, size and duration of each.",
            columns={"last error": st.column_config.TextColumn(width=_ERROR_WIDTH)},
        )
    draw_cluster(page.cluster)
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("Which processes are alive?", anchor=False)
        if page.processes.empty:
            st.markdown("No process has reported yet. `tierdeck up` starts the collectors; each reports by heartbeat.")
        else:
            table(page.processes, "processes", "Processes and their last heartbeat.")
        st.subheader("How long are rows kept?", anchor=False)
        table(page.retention, "retention", "Retention per resolution.")
    with right:
        st.subheader("How large is the store?", anchor=False)
        table(page.sizes, "sizes", "Rows and size of each table.")
    st.subheader("Who changed what?", anchor=False)
    if page.audit.empty:
        st.markdown("Nothing was changed yet: declarations and changes are listed here.")
    else:
        table(page.audit, "audit", "Audit log, newest first.")
