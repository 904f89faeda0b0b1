"""Cache salts (tenants) on the Endpoint view, where anybody uses them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from console.web.tables import percent_column, table
from tierdeck.computation import computation


def draw_tenants(tenants: pd.DataFrame) -> None:
    """What LMCache looked up and found of each."""
    if tenants.empty:
        return
    st.subheader("Whose prompts does LMCache find?", anchor=False)
    tokens = st.column_config.NumberColumn(format="compact")
    table(
        tenants,
        "tenants",
        "Cache salts: tokens looked up and found of each.",
        columns={"looked up": tokens, "found": percent_column("found", "Of what was looked up.")}
        | dict.fromkeys(("found in L1", "found in L2"), tokens),
    )
    st.caption(f"{computation('cache_salts').sentence}.")
