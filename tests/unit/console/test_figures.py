"""Figures: gaps are gaps, unknown is words, labels stand where they fit."""

from __future__ import annotations

import base64

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from console.segments import Segment, Source
from console.web.figures.frame import Event, TimeAxis
from console.web.figures.heat_map import heat_map
from console.web.figures.hit_line import hit_line
from console.web.figures.runs import Run, holes, line, polygon, runs
from console.web.figures.tier_area import tier_area
from console.web.figures.tier_bar import tier_bar
from console.web.figures.ttft import ttft_lines
from console.web.palette import DARK, LIGHT
from console.web.sparks import mini_bar, spark

NAN = float("nan")
START = pd.Timestamp("2026-11-29 12:00", tz="UTC")
AXIS = TimeAxis(START, START + pd.Timedelta(minutes=15))


def minutes(*numbers: int) -> pd.Series:
    return pd.Series([START + pd.Timedelta(minutes=number) for number in numbers])


def sources(at: pd.Series, **columns: list[float]) -> pd.DataFrame:
    blank = dict.fromkeys((str(source) for source in Source), 0.0)
    return pd.DataFrame({"at": at, "width_seconds": 60.0}).assign(**(blank | columns))


def said(figure: go.Figure) -> list[str]:
    return [note.text for note in figure.layout.annotations]


def test_a_hole_ends_a_run() -> None:
    at = np.array([0.0, 60.0, 240.0, 300.0])
    found = runs(at, np.array([True, True, True, False]), 60.0)
    assert found == [Run(0, 2, 120.0), Run(2, 3, 300.0)]
    assert list(holes(found, at, -60.0, 360.0)) == [(-60.0, 0.0), (120.0, 240.0), (300.0, 360.0)]


def test_areas_and_lines_are_interrupted_and_hold_the_last_value_to_its_buckets_end() -> None:
    at, values = np.array([0.0, 60.0, 240.0]), np.array([1.0, 2.0, 3.0])
    found = runs(at, np.isfinite(values), 60.0)
    x, y = line(at, values, found)
    np.testing.assert_array_equal(x, [0, 60, 120, NAN, 240, 300, NAN])
    np.testing.assert_array_equal(y, [1, 2, 2, NAN, 3, 3, NAN])
    x, y = polygon(at, np.zeros(3), values, found)
    np.testing.assert_array_equal(x, [0, 60, 120, 120, 60, 0, NAN, 240, 300, 300, 240, NAN])
    np.testing.assert_array_equal(y, [1, 2, 2, 0, 0, 0, NAN, 3, 3, 0, 0, NAN])


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_one_area_per_source_that_serves_anything(palette: object) -> None:
    series = sources(minutes(*range(15)), prompt_tokens=[1.0] * 15, L0=[0.4] * 15, miss=[0.6] * 15)
    figure = tier_area(series, AXIS, LIGHT if palette is LIGHT else DARK, "Which tier?")
    assert [trace.name for trace in figure.data if trace.fill] == ["L0 · GPU", "recomputed"]
    assert next(trace.fillcolor for trace in figure.data if trace.fill) == "#F0A92B"


def test_a_hole_is_named_by_its_reason() -> None:
    at = minutes(*range(10))  # nothing came in the last five minutes
    idle = sources(at, prompt_tokens=[1.0] * 5 + [0.0] * 5, L0=[1.0] * 5 + [NAN] * 5)
    assert {"no traffic", "UTC"} == set(said(tier_area(idle, AXIS, LIGHT, "?")))
    assert "no data in this window" in said(tier_area(idle.iloc[:0], AXIS, LIGHT, "?"))
    dark = sources(minutes(*range(15)), prompt_tokens=[1.0] * 5 + [NAN] * 10, L0=[1.0] * 5 + [NAN] * 10)
    assert "not readable" in said(tier_area(dark, AXIS, LIGHT, "?"))
    # only the first scrape, which has nothing to compare with, lies before minute 11
    begun = sources(minutes(*range(10, 15)), prompt_tokens=[NAN] + [1.0] * 4, L0=[NAN] + [1.0] * 4)
    assert {"no data", "UTC"} == set(said(tier_area(begun, AXIS, LIGHT, "?")))


def test_a_quantile_beyond_the_last_bound_is_a_mark_at_that_bound() -> None:
    series = pd.DataFrame(
        {
            "at": minutes(0, 1), "width_seconds": 60.0,
            "ttft_p50": [0.2, 0.2], "ttft_p50_low": [0.1, 0.1], "ttft_p50_high": [0.25, 0.25],
            "ttft_p95": [2.0, NAN], "ttft_p95_low": [1.0, 60.0], "ttft_p95_high": [2.5, np.inf],
        }
    )  # fmt: skip
    figure = ttft_lines(series, AXIS, LIGHT, "How long?")
    beyond = next(trace for trace in figure.data if trace.mode == "markers")
    assert beyond.name == "p95 ≥ 60 s"
    assert list(beyond.y) == [60.0]
    assert figure.layout.yaxis.type == "log"  # 60 s is more than 30 times 200 ms
    assert "no time to first token was observed" in said(
        ttft_lines(series.assign(**dict.fromkeys(series.columns[2:], NAN)), AXIS, LIGHT, "?")
    )


def test_events_are_words_under_the_axis_and_dotted_lines() -> None:
    axis = TimeAxis(AXIS.start, AXIS.end, [Event(START + pd.Timedelta(minutes=14.5), "restart 1")])
    figure = hit_line(
        pd.DataFrame({"at": minutes(0, 1), "width_seconds": 60.0, "hit_ratio": [0.5, NAN]}), axis, LIGHT, "?"
    )
    assert figure.layout.shapes[0].line.dash == "dot"
    event = next(note for note in figure.layout.annotations if note.text == "restart 1")
    assert event.xanchor == "right"  # it would leave the chart


@pytest.mark.parametrize("replicas", [1, 200])
def test_the_heat_map_fits_one_replica_and_two_hundred(replicas: int) -> None:
    names = [f"pod-with-quite-a-long-generated-name-{number}" for number in range(replicas)]
    heat = pd.DataFrame(np.full((replicas, 3), 0.5), index=names, columns=list(minutes(0, 1, 2)))
    figure = heat_map(heat, AXIS, LIGHT, "Which replica?")
    assert figure.layout.height < 700
    assert len(figure.layout.yaxis.ticktext) <= 24
    assert "no hit ratio is known in this window" in said(heat_map(heat * NAN, AXIS, LIGHT, "?"))


def bar(*shares: float) -> list[str]:
    parts = [Segment(source, 1e6 * share, share, share, share) for source, share in zip(Source, shares, strict=False)]
    return said(tier_bar(parts, LIGHT))


def test_wide_segments_carry_their_label_and_narrow_ones_have_it_below() -> None:
    assert bar(0.6, 0.4) == ["<b>60 %</b>  L0 · GPU<br>600 k tokens", "<b>40 %</b>  L1 · CPU<br>400 k tokens"]
    inside, short, below = bar(0.95, 0.05)
    assert inside.startswith("<b>95 %</b>")
    assert short == "<b>5 %</b>"
    assert below.endswith("<b>5 %</b> L1 · CPU, 50 k tokens")
    assert len([text for text in bar(0.9, 0.02, 0.02, 0.02, 0.02, 0.02) if "tokens" in text]) == 6


def test_labels_below_the_bar_do_not_overlap_and_stay_on_it() -> None:
    parts = [Segment(source, 1e4, 0.02, 0.02, 0.02) for source in Source]
    places = [note.x for note in tier_bar(parts[:4], LIGHT).layout.annotations]
    assert places == sorted(places)
    assert min(places) >= 0
    assert max(places) < 0.9


def test_an_estimate_shows_its_bounds() -> None:
    parts = [Segment(Source.L1, 500.0, 0.5, 0.4, 0.5), Segment(Source.MISS, 500.0, 0.5, 0.5, 0.5)]
    assert said(tier_bar(parts, LIGHT))[0].endswith("500 tokens (40–50 %)")


def svg(uri: str) -> str:
    return base64.b64decode(uri.partition(",")[2]).decode()


def test_a_sparkline_is_interrupted_by_a_gap_and_a_lone_value_is_a_dot() -> None:
    drawn = svg(spark((0.1, 0.2, NAN, 0.3), "#123456"))
    assert drawn.count("<path") == 1
    assert drawn.count("<circle") == 1
    assert spark((NAN, NAN), "#123456") == ""
    assert spark((), "#123456") == ""
    assert "nan" not in svg(spark((0.0, 0.0), "#123456"))


def test_a_small_bar_hatches_what_was_recomputed() -> None:
    parts = [Segment(Source.L0, 1.0, 0.5, 0.5, 0.5), Segment(Source.MISS, 1.0, 0.5, 0.5, 0.5)]
    drawn = svg(mini_bar(parts, LIGHT))
    assert drawn.count("<rect") == 2
    assert drawn.count("<path") == 1
    assert mini_bar([], LIGHT) == ""
