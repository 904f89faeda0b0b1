"""The form that asks for other tier sizes; what a tier can't is said in its place."""

from __future__ import annotations

import streamlit as st

from console.change_queries import EndpointOffers
from console.size_wish import size_wish
from console.web import change_dialogs
from console.web.escape import marked
from console.web.live import tell
from console.words import sentence
from tierdeck.errors import TierdeckError
from tierdeck.tiers import Tier

_HINTS = {
    Tier.L0: ("0.85, 12GiB or 4096blocks", "A share of the GPU's memory with the weights in it, bytes, or blocks."),
    Tier.L1: ("40Gi", "Of one replica, all its tensor-parallel ranks together; 0 turns it off."),
    Tier.L2: ("2Ti", "Of the whole pool."),
}


def draw_form(page: EndpointOffers) -> None:
    """One field per tier; empty ones stay as they are."""
    st.subheader("Which sizes would you rather have?", anchor=False)
    with st.form("resize", border=True, enter_to_submit=False):
        columns = st.columns(len(_HINTS), gap="medium")
        typed = {}
        for column, (tier, (example, words)) in zip(columns, _HINTS.items(), strict=True):
            reason = page.no_resize.get(tier, "")
            with column:
                typed[tier] = st.text_input(
                    tier.label, key=f"resize-{tier.value}", placeholder=f"as it is; or {example}", help=words,
                    disabled=bool(reason),
                )  # fmt: skip
                if reason:
                    st.caption(f"⊘ {marked(reason)}")
        if page.why_not:
            st.caption(f"⊘ {marked(sentence(page.why_not))}")
        is_asked = st.form_submit_button("Resize", type="primary", disabled=bool(page.why_not))
    st.caption("Nothing is written yet: the next step shows what would be, and what restarts.")
    if is_asked:
        try:
            wish = size_wish(typed[Tier.L0], typed[Tier.L1], typed[Tier.L2])
        except TierdeckError as error:
            tell(error)
            return
        change_dialogs.ask_for((page.cluster, page.endpoint), wish)
