"""What `backtest` reads, refuses and tells."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from tests.support.hit_series import Endpoint, Row, csv_lines, rows, step_down
from tierdeck.alerts.backtest import backtest, document, instant, read_minutes, told
from tierdeck.errors import UsageError

HEADER = "at,endpoint,prompt_tokens,hit_tokens,requests"


def read(*lines: str, header: str = HEADER) -> list[tuple[str, float, float | None, float | None]]:
    found = read_minutes([header, *lines])
    return [(name, one.at, one.prompt_tokens, one.hit_tokens) for name, minutes in found.items() for one in minutes]


@pytest.mark.parametrize(
    "at",
    [
        "2026-03-02T00:00:00Z",
        "2026-03-02T00:00:00+00:00",
        "2026-03-02 00:00:00",
        "2026-03-02T01:00:00+01:00",
        "20260302T000000Z",
        "1772409600",
        "1772409600.0",
    ],
)
def test_instants_are_iso_8601_or_epoch_seconds(at: str) -> None:
    assert read(f"{at},chat,100,78,3") == [("chat", 1_772_409_600.0, 100.0, 78.0)]


def test_columns_may_come_in_any_order_with_others_between() -> None:
    line = "78,chat,x,3,100,1772409600"
    assert read(line, header="hit_tokens,endpoint,note,requests,prompt_tokens,at") == [
        ("chat", 1_772_409_600.0, 100.0, 78.0)
    ]


def test_endpoints_may_come_in_turns_or_one_after_the_other() -> None:
    turns = read("1772409600,a,1,1,1", "1772409600,b,2,1,1", "1772409660,a,3,1,1")
    after = read("1772409600,a,1,1,1", "1772409660,a,3,1,1", "1772409600,b,2,1,1")
    assert turns == after


def test_changes_and_restarts_are_read() -> None:
    header = HEADER + ",restarts,config_change"
    lines = [
        f"{1_772_409_600 + 60 * number},chat,1,1,1,{cells}" for number, cells in enumerate(["2,", ",1", "0,restated"])
    ]
    minutes = read_minutes([header, *lines])["chat"]
    assert [(one.restarts, one.is_changed, one.is_restated) for one in minutes] == [
        (2, False, False),
        (0, True, False),
        (0, True, True),
    ]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["1772409600,chat,100,78,3", "yesterday,chat,100,78,3"], "line 3: at 'yesterday' is not an instant"),
        (["12,chat,100,78,3"], "line 2: at '12' is not an instant of this century"),
        (["nan,chat,100,78,3"], "line 2: at 'nan' is not an instant of this century"),
        (["1772409600,chat,many,78,3"], "line 2: prompt_tokens 'many' is not a count"),
        (["1772409600,chat,100,-1,3"], "line 2: hit_tokens '-1' is not a count"),
        (["1772409600,chat,100,78,inf"], "line 2: requests 'inf' is not a count"),
        (["1772409600,chat,100,,3"], "line 2: hit_tokens '' is not a count"),
        (["1772409600,chat,100,101,3"], "line 2: hit_tokens 101 is above prompt_tokens 100"),
        (["1772409600,,100,78,3"], "line 2: endpoint is empty"),
        (["1772409600,chat,100,78"], "line 2: it has 4 cells, and the header has 5"),
        (["1772409600,chat,100,78,3,9"], "line 2: it has 6 cells, and the header has 5"),
        (["1772409600,chat,1,1,1"] * 2, "line 3: a second line of chat for the minute 2026-03-02T00:00:00Z"),
        (
            ["1772409660,chat,1,1,1", "1772409600,chat,1,1,1"],
            "line 3: 2026-03-02T00:00:00Z of chat comes after 2026-03-02T00:01:00Z",
        ),
        (['1772409600,"chat,1,1,1'], "line 2: unexpected end of data"),
    ],
)
def test_refuses_a_bad_line_with_its_number(lines: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(*lines)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    "header", ["", "at,endpoint,prompt_tokens,hit_tokens", "at,at,endpoint,prompt_tokens,hit_tokens,requests"]
)
def test_refuses_a_header_that_lacks_a_column_or_has_one_twice(header: str) -> None:
    with pytest.raises(UsageError, match=r"line 1: (no column|column at is there twice)"):
        read(header=header)


def test_a_header_alone_is_a_series_without_minutes() -> None:
    answer = document(backtest(read_minutes([HEADER])))
    assert answer == {
        "alerts": [],
        "evaluated_minutes": 0,
        "not_enough_traffic_minutes": 0,
        "learning_minutes": 0,
    }


def file_of(*made: tuple[str, Iterable[Row]]) -> list[str]:
    lines = [HEADER]
    for name, one in made:
        lines += [*csv_lines(iter(one), name)][1:]
    return lines


def test_tells_who_what_when_and_how_deep_for_each_endpoint_and_counts_every_line() -> None:
    three_days = Endpoint(days=3)
    # at noon of the third day, for two hours
    broken = list(rows(three_days, 1, step_down(2 * 1440 + 720, 25.0, 120)))
    # nobody asks for anything: 3 × 1440 minutes without traffic
    idle = list(rows(Endpoint(days=3, requests=0.0), 2))
    lines = file_of(("chat", broken), ("idle", idle))
    result = backtest(read_minutes(lines))
    answer = json.loads(json.dumps(document(result)))
    said = [alert for alert in answer["alerts"] if alert["suppressed_by"] is None]
    (alert,) = said
    assert (alert["endpoint"], alert["detector"]) == ("chat", "hit_ratio_drop")
    assert "2026-03-04T12:05:00Z" <= alert["fired_at"] <= "2026-03-04T12:12:00Z"
    assert "2026-03-04T14:05:00Z" <= alert["resolved_at"] <= "2026-03-04T14:25:00Z"
    assert 20 <= alert["depth_points"] <= 30
    assert answer["evaluated_minutes"] + answer["not_enough_traffic_minutes"] == 2 * 3 * 1440
    assert answer["not_enough_traffic_minutes"] in range(3 * 1440, 3 * 1440 + 15)
    assert 0 < answer["learning_minutes"] < 120
    assert document(backtest(read_minutes(lines))) == answer
    text = told(result)
    assert "chat  hit_ratio_drop" in text
    assert "minutes judged" in text


def test_what_still_fires_has_no_end() -> None:
    series = list(rows(Endpoint(days=2), 3, step_down(1440 + 900, 30.0, 1440)))
    alerts = document(backtest(read_minutes(file_of(("chat", series)))))["alerts"]
    assert isinstance(alerts, list)
    assert [alert["resolved_at"] for alert in alerts if alert["suppressed_by"] is None] == [None]


def test_instants_are_told_in_utc() -> None:
    assert instant(1_772_409_600.0) == "2026-03-02T00:00:00Z"
