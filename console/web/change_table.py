"""Changes in a list: when, of what, by whom, how it stands; each leads to its own page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from console.change_queries import ChangeRow
from console.web.palette import Palette
from console.words import clock

_EMPTY = (
    "Nothing was changed yet. Routing and Tiers propose changes; so do `tierdeck route` and `tierdeck resize`. Each "
    "shows what would be written before anything is."
)


def draw_table(rows: Sequence[ChangeRow], palette: Palette, now: float, *, with_endpoint: bool) -> None:
    """The newest first."""
    if not rows:
        st.markdown(_EMPTY)
        return
    names = ("id", "when", *(("endpoint",) if with_endpoint else ()), "change", "state", "proof", "by")
    head = "".join(f"<th style='{_cell(palette)};color:{palette.muted};font-weight:400'>{one}</th>" for one in names)
    body = "".join(_row(one, palette, now, with_endpoint=with_endpoint) for one in rows)
    st.html(
        "<div style='overflow-x:auto'><table aria-label='Changes, the newest first' style='border-collapse:collapse;"
        f"width:100%;font-size:14px'><tr>{head}</tr>{body}</table></div>"
    )


def _row(one: ChangeRow, palette: Palette, now: float, *, with_endpoint: bool) -> str:
    link = f"color:{palette.primary};font-weight:600;text-decoration:none"
    back = f" (takes {one.reverts} back)" if one.reverts is not None else ""
    cells = [
        f"<a href='changes?change={one.id}' target='_self' style='{link}'>{one.id}</a>",
        f"<span style='white-space:nowrap'>{escape(clock(one.proposed_at, now))}</span>",
        *([escape(one.endpoint)] if with_endpoint else []),
        escape(f"{one.asks}{back}"),
        f"<span style='white-space:nowrap'>{escape(one.state)}</span>",
        escape(one.verdict) or f"<span style='color:{palette.muted}'>–</span>",
        escape(one.by),
    ]
    told = "".join(f"<td style='{_cell(palette)}'>{cell}</td>" for cell in cells)
    return f"<tr title='{escape(one.progress, quote=True)}'>{told}</tr>"


def _cell(palette: Palette) -> str:
    return f"border:1px solid {palette.border};padding:7px 10px;text-align:left;vertical-align:top"
