"""One change alone: where it is, what it writes, what became of it, and what can be done with it."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from console import change_reads
from console.change_commands import approve, cancel
from console.change_queries import ChangeDetail
from console.change_words import SHAPES, asks_words, note_words, progress_words, verdict_words
from console.web import change_dialogs
from console.web.change_export import draw_export
from console.web.change_parts import draw_course, draw_preview, draw_refusals
from console.web.escape import escaped, marked
from console.web.live import tell
from console.web.palette import Palette
from console.words import clock
from db import Store
from tierdeck.changes.change import Change, State
from tierdeck.changes.proof import Proof
from tierdeck.errors import TierdeckError


def draw_change(found: ChangeDetail, palette: Palette) -> None:
    """Everything that is known of it."""
    change, now = found.change, time.time()
    st.html(
        f"<a href='changes' target='_self' style='color:{palette.primary};font-weight:600;text-decoration:none'>"
        "← All changes</a>"
    )
    st.subheader(escaped(f"Change {change.id} · {change.endpoint}: {asks_words(change)}"), anchor=False)
    by = f"proposed by {change.by} at {clock(change.proposed_at, now)}"
    back = f"takes change {change.reverts} back" if change.reverts is not None else ""
    st.caption(escaped(" · ".join(filter(None, (by, back, change.reason, f"cluster {change.cluster}")))))
    with st.container(border=True):
        draw_course(change, palette)
        st.markdown(marked(progress_words(change)))
        if found.trouble:
            st.warning(marked(found.trouble))
        for note in change.notes:
            st.caption(escaped(note_words(note)))
        _buttons(found)
    left, right = st.columns([6, 5], gap="large")
    with left:
        _written(change)
    with right:
        if change.proof is not None:
            _proof(change.proof, now)
        _steps(found, now)


def _written(change: Change) -> None:
    st.subheader("What does it write?", anchor=False)
    if change.refusals:
        draw_refusals(change)
    if change.preview is not None:
        draw_preview(change.preview, change.state)
        draw_export(change)
    elif not change.refusals:
        st.markdown("Nothing is planned yet.")


def _proof(proof: Proof, now: float) -> None:
    st.subheader("Is it in effect?", anchor=False)
    st.markdown(f"**{escaped(verdict_words(proof))}**")
    st.markdown("\n".join(f"- {escaped(one)}" for one in proof.evidence))
    st.caption(escaped(f"{proof.requests} requests in {proof.seconds:.1f} s at {clock(proof.at, now)}"))


def _steps(found: ChangeDetail, now: float) -> None:
    st.subheader("What happened?", anchor=False)
    lines = [f"- **{escaped(clock(one.at, now))}** {SHAPES[one.state]} {escaped(one.words)}"
             for one in found.steps]  # fmt: skip
    st.markdown("\n".join(lines) or "Nothing is written down yet.")


def _buttons(found: ChangeDetail) -> None:
    """What can be done now; what can't says why where one would look for it."""
    change = found.change
    if not change.state.is_over:
        change_dialogs.ask_name()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if change.state is State.PREVIEWED and st.button(
            "Approve", key="approve", type="primary", disabled=bool(found.no_approval), help=found.no_approval or None
        ):
            seen_at = change.preview.at if change.preview is not None else None
            _do(lambda store, by: approve(store, change.id, by, time.time(), seen_at=seen_at))
        if not found.no_cancel and st.button("Cancel", key="cancel", help="Nothing is written."):
            _do(lambda store, by: cancel(store, change.id, by, time.time()))
        if change.state in (State.KEPT, State.FAILED) and st.button(
            "Revert", key="revert", disabled=bool(found.no_revert), help=found.no_revert or None
        ):
            change_dialogs.ask_revert(change)


def _do(act: Callable[[Store, str], object]) -> None:
    by = change_dialogs.name()
    try:
        change_reads.act(lambda store: act(store, by))
    except TierdeckError as error:
        tell(error)
        return
    st.rerun()
