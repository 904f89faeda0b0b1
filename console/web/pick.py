"""Which endpoint a view is about: a selector, whose choice lives in the URL."""

from __future__ import annotations

import streamlit as st

from console.web.escape import escaped

Known = tuple[tuple[str, str], ...]
"""(cluster, endpoint)."""


def pick(known: Known) -> None:
    """The selector; the URL tells the first choice and follows the next ones."""
    wanted = chosen(known)
    several = len({cluster for cluster, _ in known}) > 1
    st.selectbox(
        "Endpoint", known, index=known.index(wanted), key="chosen", on_change=_remember, label_visibility="collapsed",
        format_func=lambda one: " / ".join(one) if several else one[1], width=320,
    )  # fmt: skip


def chosen(known: Known) -> tuple[str, str]:
    """What the URL names; the first endpoint where it names none that exists."""
    cluster, name = st.query_params.get("cluster"), st.query_params.get("endpoint")
    return next((one for one in known if one[1] == name and cluster in (None, one[0])), known[0])


def tell_if_gone(known: Known) -> None:
    """Where the URL names an endpoint that is not there, which one is shown instead."""
    name = st.query_params.get("endpoint")
    if name is not None and chosen(known)[1] != name:
        shown = chosen(known)[1]
        st.warning(escaped(f"There is no endpoint {name!r} any more, or not in that cluster: this is {shown}."))


def _remember() -> None:
    cluster, name = st.session_state["chosen"]
    st.query_params["cluster"], st.query_params["endpoint"] = cluster, name
