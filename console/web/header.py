"""The title row: the view's name, what it is about and how old the data is, and the window."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from console import queries
from console.web.escape import escaped
from console.web.live import live
from console.windows import DEFAULT, WINDOWS

_LAST = "window"


def header(title: str, about: Callable[[str], str], pick: Callable[[], None] | None = None) -> str:
    """Draw the row.

    Args:
        about: what the view is about, given the window's name; asked anew at every refresh.
        pick: draws a selector beside the title.

    Returns:
        The window's name; it lives in the URL.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header(title, anchor=False, width="content")
        if pick is not None:
            pick()
        status = st.container(width="stretch")
        window = window_picker()
    with status:
        live(title.lower(), lambda: _status(about(window)), is_quiet=True)
    return window


def window_picker() -> str:
    """The URL names the window; a page that is opened without one keeps the session's last."""
    named = st.query_params.get("window", st.session_state.get(_LAST, DEFAULT))
    picked: str = st.segmented_control(
        "Window", list(WINDOWS), default=named if named in WINDOWS else DEFAULT, required=True, key="picked_window",
        label_visibility="collapsed", width="content",
    )  # fmt: skip
    st.session_state[_LAST] = st.query_params["window"] = picked
    return picked


def _status(about: str) -> None:
    now = time.time()
    told = [queries.data_age(now), *filter(None, (queries.filling_in(now), queries.trouble(now), queries.blindness()))]
    is_fine = all(one.fresh for one in told)
    words = escaped(" · ".join(filter(None, (about, *(one.words for one in told)))))
    st.caption(words if is_fine else f":orange[{words}]")
