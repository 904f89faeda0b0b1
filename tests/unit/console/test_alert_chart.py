"""The chart of an alert: which line, over which time; and what alerts leave on other charts."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from console.alert_chart import alert_chart, chart_span, plan_of
from console.alert_marks import StretchKind, alert_stretches, maintenance_stretches, merged
from console.moments import moments
from console.story import Span
from console.web.figures.alert_line import alert_line
from console.web.figures.frame import TimeAxis, time_chart
from console.web.palette import LIGHT
from console.windows import WINDOWS
from tests.unit.console.test_alerts_page import NOW, alert
from tierdeck.alerts.alert import AlertState, Subject
from tierdeck.alerts.rules import RULES
from tierdeck.alerts.silence import Silence
from tierdeck.fleet import POOL
from tierdeck.resolution import Resolution

NO_EVENTS = pd.DataFrame({"at": pd.to_datetime([], utc=True), "endpoint": [], "replica": [], "kind": []})


def series(*values: float | None) -> pd.DataFrame:
    """A minute each, from an hour ago on."""
    at = pd.date_range(pd.Timestamp(NOW - 3600, unit="s", tz="UTC"), periods=len(values), freq="60s")
    return pd.DataFrame({"at": at, "hit_ratio": values, "prompt_tokens": 1000.0, "l1": 200.0})


def test_every_rule_has_a_chart_with_a_question_and_how_it_is_computed() -> None:
    for rule in RULES:
        plan = plan_of(replace(alert(), rule=rule.name))
        assert plan is not None
        assert plan.question.endswith("?")
        assert plan.how.endswith(".")


def test_what_is_about_no_endpoint_has_no_chart_and_a_pool_has_its_own() -> None:
    assert plan_of(replace(alert(rule="deck_stale"), subject=Subject("east", ""))) is None
    outage = plan_of(replace(alert(rule="l2_outage"), subject=Subject("east", POOL)))
    assert outage is not None
    assert (outage.is_pool, outage.over) == (True, "live")


def test_the_chart_begins_an_hour_before_and_ends_now_while_it_is_open() -> None:
    span = chart_span(alert(), NOW)
    assert (span.start_at, span.end_at) == (NOW - 660 - 3600, NOW)
    assert span.resolution is Resolution.MINUTE


def test_the_chart_of_an_old_alert_is_read_from_what_is_kept() -> None:
    past = replace(
        alert(), state=AlertState.RESOLVED, pending_at=NOW - 20 * 86400, fired_at=NOW - 20 * 86400,
        resolved_at=NOW - 20 * 86400 + 600,
    )  # fmt: skip
    span = chart_span(past, NOW)
    assert span.resolution is Resolution.TEN_MINUTES
    assert span.end_at == past.pending_at + 600 + 900  # a quarter of an hour after it ended


def test_gaps_are_gaps_and_what_it_was_held_against_is_drawn() -> None:
    one = replace(alert(), expected=0.78)
    plan = plan_of(one)
    assert plan is not None
    drawn = alert_line(alert_chart(one, plan, chart_span(one, NOW), series(0.8, None, 0.5), NO_EVENTS), LIGHT)
    assert drawn.data[1].name == "usual"
    assert list(drawn.data[1].y) == [0.78, 0.78]
    assert [value != value for value in drawn.data[0].y] == [False, False, True, False, False, True]
    assert drawn.layout.shapes[0].fillcolor.startswith("rgba(196,40,60")  # red: it fires


def test_no_data_is_said_on_the_chart() -> None:
    one = alert()
    plan = plan_of(one)
    assert plan is not None
    drawn = alert_line(alert_chart(one, plan, chart_span(one, NOW), series(), NO_EVENTS), LIGHT)
    assert "no data around then" in [text.text for text in drawn.layout.annotations]


def test_a_tier_s_share_is_of_the_prompt_tokens() -> None:
    one = replace(alert(rule="tier_drop"), subject=Subject("east", "inference/chat", "L1"), expected=0.3)
    plan = plan_of(one)
    assert plan is not None
    chart = alert_chart(one, plan, chart_span(one, NOW), series(0.8), NO_EVENTS)
    assert chart.series["value"].tolist() == [0.2]  # 200 of 1,000
    assert chart.expected == 0.3


def test_an_alert_that_is_over_leaves_a_grey_stretch_and_a_quiet_one_none() -> None:
    over = replace(alert(), state=AlertState.RESOLVED, resolved_at=NOW - 300)
    quiet = replace(alert(), suppressed_by="warming")
    found = alert_stretches([alert(), over, quiet, alert(fired=None)], NOW - 900, NOW)
    assert [one.kind for one in found] == [StretchKind.FIRING, StretchKind.OVER]
    axis = TimeAxis(pd.Timestamp(NOW - 900, unit="s", tz="UTC"), pd.Timestamp(NOW, unit="s", tz="UTC"), (), found)
    fills = [shape.fillcolor for shape in time_chart("?", axis, LIGHT).figure().layout.shapes]
    assert fills[1::2] == [LIGHT.alert, LIGHT.muted]


def test_a_maintenance_window_is_marked_on_its_endpoints_only_and_ends_when_it_was_ended() -> None:
    window = Silence({"cluster": "east", "endpoint": "a"}, NOW - 600, NOW + 600, "drives", "ada", is_maintenance=True)
    owners = [("east", "a"), ("east", "b"), ("west", "a")]
    ended = replace(window, ended_at=NOW - 300)
    silence = replace(window, is_maintenance=False)
    found = maintenance_stretches([window, ended, silence], NOW - 900, NOW, owners)
    assert [(one.whose, one.end.timestamp()) for one in found] == [("a", NOW), ("a", NOW - 300)]


def test_alerts_that_overlap_are_shaded_once_and_named_under_the_axis() -> None:
    found = alert_stretches([alert(1, fired=600), alert(2, fired=500)], NOW - 900, NOW)
    (one,) = merged(found)
    assert (one.start.timestamp(), one.end.timestamp()) == (NOW - 600, NOW)
    span = Span(WINDOWS["15m"], Resolution.RAW, NOW - 900, NOW, NOW)
    assert [moment.words for moment in moments(span, NO_EVENTS, stretches=found)] == ["2 alerts"]
    assert [moment.words for moment in moments(span, NO_EVENTS, stretches=found[:1], is_fleet=True)] == ["alert chat"]
