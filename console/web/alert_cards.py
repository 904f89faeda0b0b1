"""Cards of alerts: the head with what can be done, figures, causes, chart, advice."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

import streamlit as st

from console import alert_queries
from console.alert_card import AlertCard, CauseLine
from console.alert_queries import Opened
from console.web import alert_dialogs
from console.web.escape import coded, escaped
from console.web.figures.alert_line import alert_line
from console.web.palette import Palette
from console.web.parts import chart
from tierdeck.alerts.wording import section
from tierdeck.settings import load_settings

_MOST_CAUSES = 4


def draw_card(card: AlertCard, palette: Palette) -> None:
    """One alert with everything that is known of it."""
    name = f"alert-card-{card.id}"
    edge = palette.alert if card.is_firing and not card.quiet else palette.border
    st.html(
        f"<style>.st-key-{name}{{border-left:4px solid {edge} !important}}"
        f".st-key-ack-{card.id} button{{color:{palette.background}}}"
        f"@media(max-width:640px){{.st-key-facts-{card.id} [data-testid=stColumn]{{min-width:25%;flex:1}}}}</style>"
    )
    with st.container(border=True, key=name):
        _head(card, palette)
        left, right = st.columns([5, 6], gap="medium")
        with left:
            st.markdown(escaped(card.what))
            _facts(card)
            st.html(_causes(card.causes, palette))
        with right:
            drawn = alert_queries.chart_of(card.id, time.time())
            if drawn is None:
                st.caption("There is no chart: the alert is about no endpoint and no pool.")
            else:
                chart(alert_line(drawn, palette), f"alert-chart-{card.id}", f"{drawn.plan.question} {card.what}")
                st.caption(escaped(drawn.plan.how))
        st.html(_advice(card, palette))


def draw_opened(opened: Opened, palette: Palette) -> None:
    """One alert alone, with its history and its messages."""
    st.html(f"<a href='alerts' target='_self' style='{_link(palette)}'>← All alerts</a>")
    draw_card(opened.card, palette)
    left, right = st.columns(2, gap="medium")
    for column, question, lines, nothing in (
        (left, "What became of it?", opened.steps, "Nothing is written yet."),
        (right, "Who was told?", opened.sendings, "No message: nobody was to be told, or no channel is set."),
    ):  # fmt: skip
        with column:
            st.subheader(question, anchor=False)
            told = [f"- **{escaped(when)}** {escaped(words)}" for when, words in lines]
            st.markdown("\n".join(told) or nothing)
    if opened.card.evidence:
        st.subheader("What is it judged by?", anchor=False)
        st.markdown("\n".join(f"- {escaped(name)}: {escaped(told)}" for name, told in opened.card.evidence))


def _head(card: AlertCard, palette: Palette) -> None:
    color = palette.alert if card.is_firing and not card.quiet else palette.muted
    badge = f"color:{color};font-weight:700;white-space:nowrap"
    title = (
        f"<span style='{badge}'>{escape(card.severity)}</span>&ensp;"
        f"<a href='alerts?alert={card.id}' target='_self' style='color:inherit;font-weight:600;font-size:1.1rem;"
        f"text-decoration:none'>{escape(card.title)}</a>&ensp;<span style='font-weight:600'>{escape(card.whom)}</span>"
    )
    told = " · ".join(filter(None, (card.since, card.acknowledged, card.quiet and f"kept quiet: {card.quiet}")))
    st.html(
        f"<div>{title}</div><div style='color:{palette.muted};font-size:14px;margin-top:2px'>"
        f"{escape(told)} · {escape(card.cluster)} · alert {card.id}</div>"
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if card.is_open:
            if not card.acknowledged and st.button("Acknowledge", key=f"ack-{card.id}", type="primary"):
                alert_dialogs.ask("acknowledge", card.id, card.labels)
            if st.button("Silence", key=f"silence-{card.id}"):
                alert_dialogs.ask("silence", card.id, card.labels)
            if card.asked and st.button("Maintenance", key=f"maintenance-{card.id}"):
                alert_dialogs.ask("maintenance", card.id, card.labels)
        if card.asked:
            address = escape(f"endpoint?{urlencode(card.asked)}")
            st.html(f"<a href='{address}' target='_self' style='{_link(palette)}'>Open the endpoint then →</a>",
                    width="content")  # fmt: skip


def _facts(card: AlertCard) -> None:
    if not card.facts:
        return
    with st.container(key=f"facts-{card.id}"):
        columns = st.columns(len(card.facts))
    for column, fact in zip(columns, card.facts, strict=True):
        column.metric(fact.label, fact.value, help=fact.how)


def _causes(causes: Sequence[CauseLine], palette: Palette) -> str:
    """The likeliest first, each with its share and its evidence."""
    title = "<div style='font-weight:600;margin:4px 0'>Why?</div>"
    muted = f"color:{palette.muted};font-size:13px"
    if not causes:
        return (
            f"{title}<div style='{muted}'>No cause is established: none of those that are looked for was found.</div>"
        )
    rows = "".join(
        f"<tr style='border-top:1px solid {palette.border}'><td style='padding:6px 12px 6px 0;white-space:nowrap;"
        f"font-weight:600;vertical-align:top'>{escape(one.points)}</td><td style='padding:6px 0'>{escape(one.words)}"
        f"<div style='{muted}'>{escape(one.evidence)}</div></td></tr>"
        for one in causes[:_MOST_CAUSES]
    )
    more = len(causes) - _MOST_CAUSES
    rest = f"<div style='{muted}'>and {more} more</div>" if more > 0 else ""
    return (
        f"{title}<table aria-label='Causes, the likeliest first' style='border-collapse:collapse;width:100%;"
        f"font-size:14px'>{rows}</table>{rest}"
    )


def _advice(card: AlertCard, palette: Palette) -> str:
    """What it means and what to do, close together."""
    steps = "".join(f"<li style='margin:3px 0'>{coded(step)}</li>" for step in card.advice)
    todo = f"<div style='font-weight:600'>What to do</div><ol style='margin:4px 0 10px;padding-left:1.4em'>{steps}</ol>"
    place = f"docs/alerts.md#{escape(card.anchor)}"
    url = section(card.anchor, load_settings().docs_url)
    more = f"<a href='{escape(url)}' target='_blank' rel='noopener'>{place}</a>" if url else place
    return (
        f"<div style='font-size:14px'>{todo if steps else ''}<div style='color:{palette.muted}'>{coded(card.meaning)} "
        f"More: {more}</div></div>"
    )


def _link(palette: Palette) -> str:
    return f"color:{palette.primary};font-weight:600;text-decoration:none"
