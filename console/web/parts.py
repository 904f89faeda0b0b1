"""What Fleet and Endpoint draw alike: the bar, the numbers, a chart, the notes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from console.alert_marks import Stretch
from console.headlines import Headline
from console.moments import Moment
from console.note_lines import NoteLine
from console.story import Span, Story
from console.web.escape import escaped, plain
from console.web.figures.chart import CONFIG
from console.web.figures.frame import Event, TimeAxis
from console.web.figures.tier_bar import describe, tier_bar
from console.web.palette import Palette
from tierdeck.computation import every_figure

_NOTES_HEIGHT = 420
_TWO_IN_A_ROW = "@media(max-width:640px){.st-key-numbers [data-testid=stColumn]{min-width:calc(50% - 1rem);flex:1}}"
"""On a narrow screen, where Streamlit has one column in a row."""
_MANY_NOTES = 8


def draw_bar(story: Story, palette: Palette) -> None:
    """The answer to the first question, and what it leaves open."""
    st.subheader(story.question, anchor=False)
    if story.silence:
        with st.container(border=True):
            st.markdown(escaped(story.silence))
        return
    chart(tier_bar(story.segments, palette), "tier_bar", f"{story.question} {describe(story.segments)}")
    if story.remarks:
        st.caption(escaped(" ".join(story.remarks)))


def draw_numbers(numbers: Sequence[Headline]) -> None:
    """Five at most, each with how it is computed."""
    if not numbers:
        return
    st.html(f"<style>{_TWO_IN_A_ROW}</style>")
    with st.container(key="numbers"):
        columns = st.columns(len(numbers))
    for column, number in zip(columns, numbers, strict=True):
        why = f"**Not known here:** {escaped(number.reason)}.\n\n" if number.reason else ""
        column.metric(
            number.label, number.value, delta=escaped(number.below), delta_color="off", delta_arrow="off",
            help=why + number.help, border=True,
        )  # fmt: skip


def chart(figure: go.Figure, key: str, words: str) -> None:
    """A figure in its own colours; `words` for those who don't see it."""
    st.plotly_chart(figure, key=key, theme=None, config=CONFIG, alt=words)


def time_axis(span: Span, happened: Sequence[Moment], stretches: Sequence[Stretch] = ()) -> TimeAxis:
    """The window of a page's charts, with what happened in it."""
    return TimeAxis(span.start, span.end, [Event(moment.at, plain(moment.words)) for moment in happened], stretches)


def draw_notes(notes: Sequence[NoteLine]) -> None:
    """Everything that makes the figures less than certain, folded; the browser gets it when it is opened."""
    if not notes:
        return
    many = f"{len(notes)} note{'' if len(notes) == 1 else 's'}"
    label = f"{many}: what makes these figures less than certain"
    box = st.expander(label, key="notes", on_change="rerun", bind="query-params")
    if not box.open:
        return
    lines = [
        {
            "note": f"`{note.code}`",
            "where": escaped(note.where),
            "what it means": escaped(note.meaning),
            "evidence": escaped(note.evidence),
        }
        for note in notes
    ]
    with box, st.container(height=_NOTES_HEIGHT if len(notes) > _MANY_NOTES else "content", border=False):
        st.table(pd.DataFrame(lines), border="horizontal", hide_index=True)


def draw_how() -> None:
    """How every figure is computed, folded; it is the same text that `explain` prints."""
    question = "How is each number computed, and from which readings?"
    how = st.expander(question, key="how", on_change="rerun", bind="query-params")
    if how.open:
        how.markdown(every_figure())
