"""The form that asks for other tier sizes; what a tier can't is said in its place."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from console.change_queries import EndpointOffers
from console.web import change_dialogs
from console.web.escape import marked
from console.web.live import tell
from console.words import sentence
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.tiers import Tier
from tierdeck.units import parse_size

_HINTS = {
    Tier.L0: ("0.85, 12GiB or 4096blocks", "A share of the GPU's memory with the weights in it, bytes, or blocks."),
    Tier.L1: ("40Gi", "Of one replica, all its tensor-parallel ranks together; 0 turns it off."),
    Tier.L2: ("2Ti", "Of the whole pool."),
}


def draw_form(page: EndpointOffers) -> None:
    """One field per tier; empty ones stay as they are."""
    st.subheader("Which sizes would you rather have?", anchor=False)
    with st.form("resize", border=True):
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
            wish = _wish({tier: text.strip() for tier, text in typed.items()})
        except TierdeckError as error:
            tell(error)
            return
        change_dialogs.ask_for((page.cluster, page.endpoint), wish)


def _wish(typed: Mapping[Tier, str]) -> Wish:
    if not any(typed.values()):
        raise UsageError("no size is given", "Fill in the tiers that are to change; the others stay as they are.")
    l0, l1, l2 = (typed[tier] for tier in (Tier.L0, Tier.L1, Tier.L2))
    return Wish(
        l0=L0Wish.parse(l0) if l0 else None,
        l1_bytes=parse_size(l1) if l1 else None,
        l2_bytes=parse_size(l2) if l2 else None,
    )
