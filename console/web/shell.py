"""The page around every view: title, icon, navigation."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from console.web.navigation import pages

ASSETS = Path(__file__).parent / "assets"


def run() -> None:
    """One run of the script."""
    st.set_page_config(page_title="Tierdeck", page_icon=str(ASSETS / "mark.png"), layout="wide")
    st.navigation(pages(), position="top").run()
