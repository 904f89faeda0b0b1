"""Clusters on the Admin view: what can't be seen with the rule that grants it, and nodes in trouble."""

from __future__ import annotations

import streamlit as st

from console.cluster_part import ClusterPart
from console.web.escape import escaped
from console.web.tables import table

_NOT_WATCHED = (
    "No cluster is watched: owners, configured sizes, rollouts and nodes are not known. `tierdeck up --kubernetes` "
    "watches one (docs/install.md); `tierdeck inventory` says what it would see, and which rights are missing."
)


def draw_cluster(part: ClusterPart) -> None:
    """What is seen, what is not, and what to do about it."""
    st.subheader("What is seen of the cluster?", anchor=False)
    if not part.seen:
        st.markdown(_NOT_WATCHED)
        return
    st.markdown(escaped(" · ".join(filter(None, (*part.seen, part.nodes_words)))))
    if not part.nodes.empty:
        table(part.nodes, "nodes", "Nodes in trouble.")
    for line in part.blind:
        with st.expander(f"▲ not seen: {escaped(line.title)}"):
            st.markdown(escaped(line.reason))
            if line.fix:
                st.code(line.fix, language="yaml")
