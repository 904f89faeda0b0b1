"""A change as files for a Git repository, on its page: shown, and to be downloaded."""

from __future__ import annotations

import streamlit as st

from console.web.escape import marked
from tierdeck.changes.change import Change
from tierdeck.changes.export import as_kustomize
from tierdeck.changes.plan import Surface
from tierdeck.errors import TierdeckError


def draw_export(change: Change) -> None:
    """Its kustomize patches; nothing where it writes no Kubernetes object."""
    plan = change.preview.plan if change.preview is not None else None
    if plan is None or not any(one.surface is Surface.KUBERNETES for one in plan.writes):
        return
    with st.expander("As a patch for Git", expanded=bool(plan.exports_only)):
        try:
            found = as_kustomize(plan)
        except TierdeckError as error:
            st.markdown(marked(str(error)))
            return
        st.caption(marked(f"For kustomize; `tierdeck export-change {change.id} --helm` gives a chart's values."))
        for number, (name, content) in enumerate(found.files):
            st.code(content, language="yaml")
            st.download_button(name, content, file_name=name, mime="application/yaml",
                               key=f"export-{number}", on_click="ignore", icon=":material/download:")  # fmt: skip
        for one in found.by_hand:
            st.markdown(f"▲ By hand: {marked(one)}")
