"""The page around every view: title, icon, navigation."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from console.web.views import VIEWS

ASSETS = Path(__file__).parent / "assets"


def run() -> None:
    """One run of the script."""
    st.set_page_config(page_title="Tierdeck", page_icon=str(ASSETS / "mark.png"), layout="wide")
    pages = [st.Page(view.render, title=view.title, url_path=view.path, default=view is VIEWS[0]) for view in VIEWS]
    st.navigation(pages, position="top").run()
