"""Tables: rows of one height; a long one scrolls within itself."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

_ROW_HEIGHT = 36


def table(
    rows: pd.DataFrame, key: str, words: str, *, most_rows: int = 15, columns: dict[str, Any] | None = None
) -> None:
    """Show rows.

    Args:
        words: for those who don't see it.
        most_rows: more of them scroll.
        columns: Streamlit's column configuration.
    """
    st.dataframe(
        rows,
        hide_index=True,
        row_height=_ROW_HEIGHT,
        height=_ROW_HEIGHT * (most_rows + 1) if len(rows) > most_rows else "content",
        placeholder="not known",
        key=key,
        alt=words,
        column_config=columns,
    )


def percent_column(label: str, words: str) -> Any:
    """A bar with the number of percent beside it."""
    return st.column_config.ProgressColumn(label, help=words, format="%.0f %%", min_value=0, max_value=100, width=120)
