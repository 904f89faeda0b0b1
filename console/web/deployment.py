"""How an endpoint is deployed, and what happened to it, on its view."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from console.deployment_part import DeploymentPart
from console.web.escape import escaped
from console.web.tables import table

_MOST_PROBLEMS = 5
_NONE = "Nothing has happened since the cluster is watched: no rollout, restart, drift or change of routing or size."
_NOT_WATCHED = (
    "No controller watches this endpoint, so that rollouts, drift and reasons of restarts are not known: "
    "`tierdeck up --kubernetes` (docs/install.md). Restarts that counters show are marked on the charts."
)


def draw_deployment(part: DeploymentPart) -> None:
    """The sizes of the tiers; whose deployment it is; what is wrong with it."""
    st.subheader("Are the tiers as large as configured?", anchor=False)
    table(part.tiers, "tier_sizes", "Tiers: configured, running and used size of each.")
    st.caption("L0 and L1 of one replica, used: the fullest; L2 of the whole pool.")
    if part.facts:
        st.caption(escaped(part.facts))
    shown = [f"▲ {escaped(problem)}" for problem in part.problems[:_MOST_PROBLEMS]]
    if part.problems[_MOST_PROBLEMS:]:
        shown.append(f"▲ and {len(part.problems[_MOST_PROBLEMS:])} more")
    if shown:
        st.markdown("  \n".join(shown))
    if part.unknown:
        st.caption(escaped(f"Not known: {'; '.join(part.unknown)}."))
    if part.advice:
        st.caption(part.advice)


def draw_events(events: pd.DataFrame, *, is_watched: bool) -> None:
    """The latest, whether in the window or before."""
    st.subheader("What happened lately?", anchor=False)
    if events.empty:
        st.markdown(_NONE if is_watched else _NOT_WATCHED)
        return
    columns = {"in words": st.column_config.TextColumn(width="large")}
    table(events, "events", "Events, newest first.", most_rows=8, columns=columns)
