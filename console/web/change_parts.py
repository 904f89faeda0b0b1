"""Parts of a change that dialog and page draw alike: what would be written, what it costs, why it is refused."""

from __future__ import annotations

from html import escape

import streamlit as st

from console.change_words import SHAPES, asks_words, cost_words, label, state_words
from console.web.escape import escaped, marked
from console.web.palette import Palette
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Plan, Preview, Surface

_DIFF_HEIGHT = 320
_MANY_LINES = 14
_COURSE = (
    (State.PROPOSED, "looked at"),
    (State.APPROVED, "approved"),
    (State.APPLYING, "applied"),
    (State.PROVING, "proved"),
    (State.OBSERVING, "observed"),
    (State.KEPT, "kept"),
)
"""The way of a change that goes well, in the words of what is done once a state is behind it."""
_AT = {State.PREVIEWED: 1, State.KEPT: len(_COURSE)}
_WOULD, _WAS = "What would be written; nothing is written yet.", "What is written, as previewed."
_SAID_OF_DIFF = {
    State.PREVIEWED: _WOULD,
    State.APPROVED: _WOULD,
    **dict.fromkeys((State.APPLYING, State.PROVING, State.OBSERVING, State.KEPT, State.ROLLED_BACK), _WAS),
    State.FAILED: "What was to be written, as previewed; what came of it is said above.",
}
_WHOLE = {state: number for number, (state, _) in enumerate(_COURSE)} | _AT


def draw_preview(preview: Preview, state: State = State.PREVIEWED) -> None:
    """The exact diff, what restarts, which cache is lost, and what to know before."""
    plan = preview.plan
    restarts, loses = cost_words(plan)
    for warning in plan.warnings:
        st.markdown(f"▲ {marked(warning)}")
    st.markdown(f"{'↻' if plan.restarts else '●'} {escaped(restarts)} {escaped(loses)}")
    if preview.diff:
        many = preview.diff.count("\n") > _MANY_LINES
        dry = " It is what the API server answered to a dry run." if _is_dry_run(plan) else ""
        st.caption(_SAID_OF_DIFF.get(state, "What was to be written; nothing of it was.") + dry)
        st.code(preview.diff, language="diff", height=_DIFF_HEIGHT if many else "content")


def _is_dry_run(plan: Plan) -> bool:
    return any(write.surface is Surface.KUBERNETES for write in plan.writes)


def draw_refusals(change: Change) -> None:
    """Each reason with what to do instead."""
    st.markdown("⊘ **Refused: nothing was written.**")
    for one in change.refusals:
        fix = f"  \n{marked(one.fix)}" if one.fix else ""
        st.markdown(f"- {marked(one.reason)}{fix}")
    if not change.refusals and change.outcome:
        st.markdown(escaped(change.outcome))


def draw_course(change: Change, palette: Palette) -> None:
    """Where it is on the way that a change goes, in one line of shapes and words."""
    at = _WHOLE.get(change.state)
    if at is None:
        st.html(
            f"<div role='status' style='font-weight:600'>{SHAPES[change.state]} {escape(label(change.state))}</div>"
        )
        return
    parts = []
    for number, (_, done) in enumerate(_COURSE):
        told = label(change.state) if number == at else done
        shape = "●" if number < at else "◑" if number == at else "○"
        weight = "600" if number == at else "400"
        color = palette.text if number <= at else palette.muted
        parts.append(f"<span style='color:{color};font-weight:{weight};white-space:nowrap'>{shape} {told}</span>")
    st.html(
        f"<div role='status' style='display:flex;flex-wrap:wrap;gap:6px 22px;font-size:15px'>{''.join(parts)}</div>"
    )


def draw_open(change: Change | None, palette: Palette) -> None:
    """The change that is under way, with the way to it; nothing where there is none."""
    if change is None:
        return
    link = f"color:{palette.primary};font-weight:600;text-decoration:none"
    st.html(
        f"<div role='status' style='border:1px solid {palette.border};border-left:4px solid {palette.primary};"
        f"border-radius:8px;padding:8px 14px;background:{palette.raised}'>{escape(state_words(change.state))} &ensp;"
        f"<a href='changes?change={change.id}' target='_self' style='{link}'>Change {change.id}</a>&ensp;"
        f"{escape(asks_words(change))}, by {escape(change.by)}</div>"
    )
