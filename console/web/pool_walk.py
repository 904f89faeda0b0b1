"""Whose chunks a pool holds: its directories by model identity, which only a walk through the pool can tell.

The janitor's runs are shown here once the store has them: sizes and last use by identity, and what was deleted.
"""

from __future__ import annotations

import streamlit as st


def draw_walk() -> None:
    """Nothing walks a pool yet."""
    st.subheader("Whose chunks are in it, and when were they last used?", anchor=False)
    st.markdown(
        "Not walked: the janitor is off. Curvine tells neither the size nor the last use of a directory; only a walk "
        "through the pool does."
    )
