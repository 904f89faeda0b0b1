"""L2 pool: is the shared tier healthy?"""

from __future__ import annotations

import time

import streamlit as st

from console import pool_queries, queries
from console.pool_page import PoolPage
from console.pool_queries import PoolChoice
from console.web import palette
from console.web.alert_strip import draw_pool_strip
from console.web.deployment import draw_events
from console.web.empty import no_pools
from console.web.escape import escaped
from console.web.figures.pool_flow import pool_flow
from console.web.figures.pool_room import pool_room
from console.web.header import header
from console.web.live import live, tell
from console.web.parts import chart, draw_numbers, time_axis
from console.web.pool_tables import draw_mounts, draw_workers
from console.web.pool_walk import draw_walk
from tierdeck.errors import TierdeckError
from tierdeck.l2.computation import POOL_COMPUTATIONS, every_pool_figure

_TITLE = "L2 pool"


def render() -> None:
    """The whole view; its body stays up to date."""
    try:
        known = pool_queries.pools()
    except TierdeckError as error:
        st.header(_TITLE, anchor=False)
        tell(error)
        return
    if not known:
        header(_TITLE, lambda _: "")
        no_pools()
        return
    window = header(_TITLE, lambda _: "", lambda: _pick(known))
    asked = st.query_params.get("pool")
    if asked is not None and _chosen(known).name != asked:
        st.warning(escaped(f"There is no pool {asked!r}, or not in that cluster: this is {_chosen(known).name}."))
    live("pool", lambda: _body(_chosen(known), window), queries.refresh_seconds(window))


def _pick(known: tuple[PoolChoice, ...]) -> None:
    """The selector, where there is anything to choose; the URL tells the choice."""
    if len(known) == 1:
        return
    several = len({one.cluster for one in known}) > 1
    st.selectbox(
        "Pool", known, index=known.index(_chosen(known)), key="chosen_pool", on_change=_remember,
        label_visibility="collapsed", width=320,
        format_func=lambda one: f"{one.cluster} / {one.name}" if several else one.name,
    )  # fmt: skip


def _remember() -> None:
    chosen = st.session_state["chosen_pool"]
    st.query_params["cluster"], st.query_params["pool"] = chosen.cluster, chosen.name


def _chosen(known: tuple[PoolChoice, ...]) -> PoolChoice:
    """What the URL names; the first pool where it names none that exists."""
    cluster, name = st.query_params.get("cluster"), st.query_params.get("pool")
    return next((one for one in known if one.name == name and cluster in (None, one.cluster)), known[0])


def _body(pool: PoolChoice, window: str) -> None:
    page, colors = pool_queries.pool_view(pool, window, time.time()), palette.current()
    st.caption(escaped(page.facts))
    draw_pool_strip(colors, pool.cluster)
    draw_numbers(page.headlines)
    if page.trouble:
        st.markdown("  \n".join(map(escaped, page.trouble)))
    _charts(page, colors)
    draw_workers(page)
    draw_mounts(page)
    st.markdown(escaped(page.orphans), help=POOL_COMPUTATIONS["orphans"].markdown())
    draw_walk(page.walk)
    if not page.events.empty:
        draw_events(page.events, is_watched=True)
    if page.reservations:
        st.caption(escaped(" ".join(page.reservations)))
    how = st.expander("How is each number computed, and from which readings?", key="how", on_change="rerun",
                      bind="query-params")  # fmt: skip
    if how.open:
        how.markdown(every_pool_figure())


def _charts(page: PoolPage, colors: palette.Palette) -> None:
    axis = time_axis(page.span, page.moments, page.stretches)
    left, right = st.columns(2, gap="medium")
    with left:
        question = "How full is it, and when is it full?"
        chart(pool_room(page.room, page.forecast, axis, colors, question), "room", f"{question} Bytes over time.")
    with right:
        question = "How much is read and written?"
        chart(pool_flow(page.flow, axis, colors, question), "flow", f"{question} Bytes a second over time.")
