"""Lists on the Alerts view: alerts in a line each, silences, channels, rules; real text, with links and buttons."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

import streamlit as st

from console import alert_queries, commands
from console.alert_card import AlertCard
from console.alerts_page import AlertsPage, Line
from console.channel_rows import ChannelRow
from console.handover import as_markdown
from console.rule_rows import RuleRow
from console.silence_rows import SilenceRow
from console.web import alert_dialogs
from console.web.escape import coded, escaped, marked
from console.web.palette import Palette

_CELL = "padding:6px 12px 6px 0;vertical-align:top"
_STACKED = (
    "@media(max-width:640px){.tierdeck-rules thead{display:none}.tierdeck-rules tr{display:block;padding:6px 0}"
    ".tierdeck-rules td{display:inline-block;padding:2px 14px 2px 0!important}}"
)
"""On a narrow screen a rule's cells stand below each other."""
_NO_CHANNEL = (
    "No channel is configured, so that alerts stand on this page alone. Name one in the alerting configuration "
    "(docs/notify.md): Slack, PagerDuty, e-mail, a webhook, Alertmanager and more."
)


def draw_lists(page: AlertsPage, palette: Palette) -> None:
    """What does not need anybody now, folded."""
    for key, lines, label, nothing in (
        ("pending", page.pending, "pending: bad, but not for long enough", "Nothing is about to fire."),
        ("quiet", page.quiet, "kept quiet, each with the reason", "Nothing is kept quiet."),
        ("resolved", page.resolved, "resolved in the last 24 hours", "Nothing fired and ended in the last 24 hours."),
    ):
        box = st.expander(f"{len(lines)} {label}", key=key, on_change="rerun", bind="query-params")
        if box.open:
            with box:
                st.html(_table(lines, palette) if lines else f"<span>{escape(nothing)}</span>")


def draw_more(cards: Sequence[AlertCard], palette: Palette) -> None:
    """Alerts that fire beyond those that have a card here; each opens by its link."""
    st.subheader(f"And {len(cards)} more that fire", anchor=False)
    lines = [Line(one.id, one.severity, one.title, one.whom, one.since, one.acknowledged) for one in cards]
    st.html(_table(lines, palette))


def draw_silences(rows: Sequence[SilenceRow], palette: Palette, *, has_endpoints: bool) -> None:
    """Those that hold and those to come, each with a button that ends it."""
    st.subheader("What is silenced, and until when?", anchor=False)
    if not rows:
        st.markdown("Nothing is silenced, and no endpoint is under maintenance.")
    for row in rows:
        with st.container(
            horizontal=True, vertical_alignment="center", gap="medium", wrap=False, key=f"silence-row-{row.id}"
        ):
            shape, told = "◐" if row.is_active else "○", " · ".join(filter(None, (row.when, row.keeps)))
            st.html(
                f"<div><b>{shape} {escape(row.what)}</b>&ensp;{escape(row.whom)}</div><div style='color:"
                f"{palette.muted};font-size:14px'>{escape(told)} · {escape(row.by)}: {escape(row.why)}</div>"
            )
            if st.button("End", key=f"end-{row.id}", help=f"End {row.what} {row.id} now"):
                alert_dialogs.ask("end", row.id, row.matchers)
    with st.container(horizontal=True, gap="small"):
        if st.button("New silence", key="new-silence"):
            alert_dialogs.ask("silence")
        if has_endpoints and st.button("New maintenance window", key="new-maintenance"):
            alert_dialogs.ask("maintenance")


def draw_channels(rows: Sequence[ChannelRow], palette: Palette, *, is_sending: bool) -> None:
    """Each with how the last message to it ended, and a test."""
    st.subheader("Who is told?", anchor=False)
    if not rows:
        st.markdown(_NO_CHANNEL)
        return
    for row in rows:
        with st.container(
            horizontal=True, vertical_alignment="center", gap="medium", wrap=False, key=f"channel-row-{_key(row)}"
        ):
            st.html(
                f"<div><b>{escape(row.name)}</b>&ensp;<span style='color:{palette.muted}'>"
                f"{escape(' · '.join(filter(None, (row.kind, row.whose and f'cluster {row.whose}'))))}</span>"
                f"</div><div style='font-size:14px'>{escape(row.outcome)}</div>"
            )
            if st.button("Test", key=f"test-{_key(row)}", help=escaped(f"Send a test message to {row.name}")):
                _try(row)
    if not is_sending:
        st.caption("Where the alerting process is not running, what is to be sent waits for it.")


def _key(row: ChannelRow) -> str:
    return f"{row.whose}-{row.name}" if row.whose else row.name


def _try(row: ChannelRow) -> None:
    alert_queries.act(lambda store: commands.try_channel(store, row.cluster, row.name, time.time()))
    st.rerun(scope="fragment")


def draw_rules(rows: Sequence[RuleRow], palette: Palette) -> None:
    """Each with its meaning, how long it holds, and whether it can judge now."""
    st.subheader("What is judged now, and what can't be?", anchor=False)
    heads = ("rule", "severity", "holds for", "has figures of")
    style = f"{_CELL};color:{palette.muted};font-weight:400;text-align:left;white-space:nowrap"
    head = "".join(f"<th scope='col' style='{style}'>{one}</th>" for one in heads)
    body = "".join(_rule(row, palette) for row in rows)
    st.html(
        f"<style>{_STACKED}</style><table class='tierdeck-rules' aria-label='Rules' "
        f"style='width:100%;border-collapse:collapse;font-size:14px'><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
    st.caption(
        "“Has figures of” says whether the last whole minute had the figures that the rule looks at. Guards against "
        "little traffic, and what is usual, are the alerting process's own."
    )


def draw_handover(now: float) -> None:
    """The shift's summary, and the same as a file."""
    box = st.expander("What does the next shift need to know?", key="handover", on_change="rerun", bind="query-params")
    if not box.open:
        return
    with box:
        hours = st.segmented_control("The last", [8, 12, 24], default=12, format_func=lambda one: f"{one} h",
                                     key="handover_hours", required=True)  # fmt: skip
        document = alert_queries.shift_summary(float(hours or 12), now)
        st.download_button(
            "Download as Markdown",
            as_markdown(document),
            "handover.md",
            "text/markdown",
            key="handover_file",
            on_click="ignore",
        )
        st.markdown(as_markdown(document, escaped).replace("\n## ", "\n#### ").replace("# ", "### ", 1))


def _rule(row: RuleRow, palette: Palette) -> str:
    muted = f"color:{palette.muted}"
    shape = "●" if row.is_judged and not row.missing else "◐" if row.is_judged else "○"
    missing = "".join(f"<div style='{muted}'>{escape(reason)}</div>" for reason in (*row.missing, *row.unset))
    return (
        f"<tr style='border-top:1px solid {palette.border}'><td style='{_CELL};min-width:220px'><b>{escape(row.title)}"
        f"</b> <span style='{muted}'>{escape(row.name)}</span><div style='{muted}'>{coded(row.meaning)}</div></td>"
        f"<td style='{_CELL};white-space:nowrap'>{escape(row.severity)}</td><td style='{_CELL};white-space:nowrap'>"
        f"{escape(row.hold)}</td><td style='{_CELL};min-width:200px'>{shape} {escape(row.judges)}{missing}</td></tr>"
    )


def _table(lines: Sequence[Line], palette: Palette) -> str:
    body = "".join(_line(line, palette) for line in lines)
    return (
        "<div style='overflow:auto'><table aria-label='Alerts' style='width:100%;border-collapse:collapse;"
        f"font-size:14px'><tbody>{body}</tbody></table></div>"
    )


def _line(line: Line, palette: Palette) -> str:
    link = f"color:{palette.primary};font-weight:600;text-decoration:none"
    why = f"<div style='color:{palette.muted}'>{escape(line.why)}</div>" if line.why else ""
    return (
        f"<tr style='border-top:1px solid {palette.border}'><td style='{_CELL};white-space:nowrap'>"
        f"{escape(line.severity)}</td><td style='{_CELL}'><a href='alerts?alert={line.id}' target='_self' "
        f"style='{link}'>{escape(line.title)}</a> {escape(line.whom)}{why}</td>"
        f"<td style='{_CELL}'>{escape(line.when)}</td></tr>"
    )


def no_alert(page: AlertsPage) -> None:
    """Nothing fires: said only where somebody looks."""
    with st.container(border=True):
        if page.trouble:
            st.markdown("No alert is known to fire.")
        elif page.quiet or page.pending:
            st.markdown("Nothing fires that anybody must be told of; what is pending or kept quiet stands below.")
        else:
            st.markdown("Nothing fires. Every rule below is judged once a minute; an alert appears here by itself.")


def draw_trouble(page: AlertsPage) -> None:
    """Why nothing is judged, in the colour of what is stale: it is no alert."""
    if page.trouble:
        start, mark, rest = page.trouble.partition(". ")
        st.markdown(f":orange[▲ {marked(start + mark.strip())}] {marked(rest)}")
