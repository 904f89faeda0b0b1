"""Ways from one view to another, with the state that a colleague should see from the link."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from console.web.views import endpoint


def open_endpoint(cluster: str, name: str, window: str) -> NoReturn:
    """Leave for the endpoint's view, over the same window."""
    page = st.Page(endpoint.render, title="Endpoint", url_path="endpoint")
    st.switch_page(page, query_params={"cluster": cluster, "endpoint": name, "window": window})
