"""Whose chunks a pool holds, and what the janitor did last."""

from __future__ import annotations

import streamlit as st

from console.pool_walk import Walk
from console.web.escape import escaped
from console.web.tables import percent_column, table


def draw_walk(walk: Walk) -> None:
    """Identities of the newest walk, and the last rounds."""
    st.subheader("Whose chunks are in it, and when were they last used?", anchor=False)
    st.markdown(escaped(" ".join(walk.words)))
    if not walk.identities.empty:
        share = {"share": percent_column("share", "Of the bytes that the walk found.")}
        table(walk.identities, "identities", "Directories by model identity: size, files, last use.", columns=share)
    if not walk.rounds.empty:
        st.subheader("What did the janitor do?", anchor=False)
        wide = {"what came of it": st.column_config.TextColumn(width="large")}
        table(walk.rounds, "rounds", "The janitor's last rounds, the newest first.", most_rows=8, columns=wide)
