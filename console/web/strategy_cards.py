"""One card per routing strategy: what it is for, whether it can be chosen, the current one with its proof."""

from __future__ import annotations

from html import escape

import streamlit as st

from console.change_queries import EndpointOffers, Offer
from console.web import change_dialogs
from console.web.escape import escaped, marked
from console.web.palette import Palette
from console.words import sentence
from tierdeck.changes.wish import Wish

_IN_A_ROW = 4


def draw_cards(page: EndpointOffers, palette: Palette) -> None:
    """All that the endpoint's router has."""
    if not page.strategies:
        with st.container(border=True):
            st.markdown(marked(f"No strategy can be chosen here: {page.no_strategies}."))
        return
    for start in range(0, len(page.strategies), _IN_A_ROW):
        row = page.strategies[start : start + _IN_A_ROW]
        columns = st.columns(_IN_A_ROW if len(page.strategies) >= _IN_A_ROW else len(row), gap="small")
        for column, offer in zip(columns, row, strict=False):
            with column:
                _card(page, offer, palette)


def _card(page: EndpointOffers, offer: Offer, palette: Palette) -> None:
    name = f"strategy-{offer.strategy}"
    with st.container(border=True, key=name, height="stretch", vertical_alignment="distribute"):
        with st.container(gap="small"):
            st.html(_title(page, offer, palette))
            st.caption(escaped(offer.purpose))
            if offer.why_not and not offer.is_current:
                st.caption(f"⊘ {marked(sentence(offer.why_not))}")
        label = "Configured" if offer.is_current else "Switch"
        is_off = offer.is_current or bool(offer.why_not)
        if st.button(label, key=f"switch-{offer.strategy}", type="secondary" if is_off else "primary",
                     disabled=is_off, width="stretch"):  # fmt: skip
            change_dialogs.ask_for((page.cluster, page.endpoint), Wish(strategy=offer.strategy))


def _title(page: EndpointOffers, offer: Offer, palette: Palette) -> str:
    told = ""
    if offer.is_current:
        shape = "✓" if page.is_proved else "○"
        told = f"<div style='color:{palette.muted};font-size:14px'>{shape} {escape(page.proof_words)}</div>"
    color = palette.primary if offer.is_current else palette.text
    return f"<div style='font-weight:600;font-size:1.05rem;color:{color}'>{escape(offer.strategy)}</div>{told}"


def draw_evidence(page: EndpointOffers) -> None:
    """What the last probe saw."""
    proof = page.proof
    if proof is None:
        st.caption(
            "Nothing has proved yet how requests are routed: a switch is proved by itself, "
            "`tierdeck probe routing` does it at any time."
        )
        return
    with st.expander(f"What did the last probe see? {proof.requests} requests in {proof.seconds:.1f} s"):
        st.markdown("\n".join(f"- {escaped(one)}" for one in proof.evidence))
