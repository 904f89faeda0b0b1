"""Endpoint: where are this endpoint's tokens served from?"""

from __future__ import annotations

import time

import streamlit as st

from console import queries
from console.endpoint_page import EndpointPage
from console.web import palette
from console.web.alert_strip import draw_strip
from console.web.deployment import draw_deployment, draw_events
from console.web.empty import no_endpoints
from console.web.escape import escaped
from console.web.figures.heat_map import heat_map
from console.web.figures.hit_line import hit_line
from console.web.figures.tier_area import tier_area
from console.web.figures.ttft import ttft_lines
from console.web.header import header
from console.web.live import live, tell
from console.web.parts import chart, draw_bar, draw_how, draw_notes, draw_numbers, time_axis
from console.web.pick import chosen, pick, tell_if_gone
from console.web.replica_table import draw_replicas
from console.web.tenants import draw_tenants
from tierdeck.computation import computation
from tierdeck.errors import TierdeckError


def render() -> None:
    """The whole view; its body stays up to date."""
    try:
        known = queries.fleet().endpoints
    except TierdeckError as error:
        st.header("Endpoint", anchor=False)
        tell(error)
        return
    if not known:
        header("Endpoint", lambda _: "")
        no_endpoints()
        return
    window = header("Endpoint", lambda _: "", lambda: pick(known))
    tell_if_gone(known)
    live("endpoint", lambda: _body(_page(known, window), chosen(known)), queries.refresh_seconds(window))


def _page(known: tuple[tuple[str, str], ...], window: str) -> EndpointPage:
    cluster, name = chosen(known)
    return queries.endpoint_view(cluster, name, window, time.time())


def _body(page: EndpointPage, whose: tuple[str, str]) -> None:
    colors, story = palette.current(), page.story
    st.caption(escaped(page.facts))
    axis = time_axis(story.span, page.moments, page.stretches)
    draw_strip(colors, whose)
    draw_bar(story, colors)
    draw_numbers(story.headlines)
    if page.worth:
        st.caption(escaped(page.worth), help=computation("worth.verdict").markdown())
    draw_deployment(page.deployment)
    left, right = st.columns(2, gap="medium")
    with left:
        question = "Which tier served the tokens?"
        chart(tier_area(story.shares, axis, colors, question), "tiers", f"{question} Shares over time.")
        question = "Which share came from a cache?"
        chart(hit_line(page.hits, axis, colors, question), "hits", f"{question} Hit ratio over time.")
    with right:
        question = "How many tokens did each tier serve?"
        chart(tier_area(story.rates, axis, colors, question, absolute=True), "rates", f"{question} Tokens a second.")
        question = "How long until the first token?"
        chart(ttft_lines(story.ttft, axis, colors, question), "ttft", f"{question} p50 and p95 over time.")
    question = "Which replica serves from its caches?"
    chart(heat_map(page.heat, axis, colors, question), "heat", f"{question} Hit ratio per replica over time.")
    draw_events(page.events, is_watched=not page.deployment.advice)
    draw_replicas(page)
    draw_tenants(page.tenants)
    draw_notes(story.notes)
    draw_how()
