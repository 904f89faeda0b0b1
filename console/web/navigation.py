"""The views as Streamlit's pages, and going from one to another without losing the session."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st
from streamlit.navigation.page import Page


def pages() -> list[Page]:
    """One per view, in the order of the navigation."""
    from console.web.views import VIEWS  # noqa: PLC0415  # the views import this module

    return [st.Page(view.render, title=view.title, url_path=view.path, default=view is VIEWS[0]) for view in VIEWS]


def go(path: str, **query: str) -> NoReturn:
    """Show the view of that path; what stands in the URL is what is given here.

    Args:
        path: as in `VIEWS`.
    """
    found = next(page for page in pages() if page.url_path == path)
    st.switch_page(found, query_params=query)
