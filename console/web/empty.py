"""Empty states: what to do next."""

from __future__ import annotations

import streamlit as st


def no_endpoints() -> None:
    """Nothing is declared yet."""
    with st.container(border=True):
        st.subheader("No endpoint is observed yet", anchor=False)
        st.markdown(
            "Name the endpoints and their targets in a YAML file (docs/config.md) and start with "
            "`tierdeck up --config FILE`, read them from a Prometheus (docs/connect.md) with "
            "`tierdeck up --prometheus ADDRESS`, or look around on a simulated fleet: `tierdeck up --demo`."
        )


def no_targets() -> None:
    """No target is declared yet."""
    with st.container(border=True):
        st.markdown(
            "No target is scraped yet. Add targets to the configuration file (docs/config.md); the collectors "
            "read it again when it changes."
        )


def no_pools() -> None:
    """No Curvine is configured."""
    with st.container(border=True):
        st.subheader("No L2 pool is observed yet", anchor=False)
        st.markdown(
            "Name the pool's masters, workers and FUSE clients under `pools` in the configuration file "
            "(docs/config.md); `tierdeck up --kubernetes` finds those of Curvine's Helm charts by itself, a Prometheus "
            "that scrapes them will do (docs/connect.md), and `tierdeck up --demo` has a simulated one."
        )
