"""`tierdeck backtest` as a child process: the same document for the same file, exit codes, one line for a bad one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.test_command import tierdeck
from tests.support.hit_series import Endpoint, csv_lines, rows, step_down


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days, and on the third two hours at 25 points less, from noon on."""
    made = rows(Endpoint(days=3), 1, step_down(2 * 1440 + 720, 25.0, 120))
    path = tmp_path_factory.mktemp("backtest") / "recorded.csv"
    path.write_text("\ufeff" + "\r\n".join(csv_lines(made)) + "\r\n", encoding="utf-8")
    return path


def test_says_what_would_have_fired_byte_for_byte_the_same_each_time(tmp_path: Path, recorded: Path) -> None:
    done = [tierdeck(tmp_path, "backtest", str(recorded), "--json") for _ in range(2)]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 2
    assert done[0].stdout == done[1].stdout
    document = json.loads(done[0].stdout)
    (alert,) = (one for one in document["alerts"] if one["suppressed_by"] is None)
    assert set(alert) >= {"endpoint", "detector", "fired_at", "resolved_at", "depth_points", "suppressed_by"}
    assert (alert["endpoint"], alert["detector"], alert["fired_at"][:13]) == ("chat", "hit_ratio_drop", "2026-03-04T12")
    assert document["evaluated_minutes"] + document["not_enough_traffic_minutes"] == 3 * 1440


def test_speaks_to_people_too_and_takes_a_floor(tmp_path: Path, recorded: Path) -> None:
    done = tierdeck(tmp_path, "backtest", str(recorded), "--floor", "0.99")
    assert done.returncode == 0
    assert "still firing  chat  hit_ratio_floor" in done.stdout
    assert "minutes judged" in done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "at,endpoint,prompt_tokens,hit_tokens,requests\n2026-03-02T00:00:00Z,chat,100,x,1\n",
            "bad.csv: line 2: hit_tok",
        ),
        ("at,endpoint\n", "bad.csv: line 1: no column prompt_tokens or hit_tokens or requests. The header names at"),
        ("", "bad.csv: line 1: no column at"),
        ("\xff", "bad.csv is not UTF-8 text"),
    ],
)
def test_refuses_a_bad_file_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode("latin-1"))
    done = tierdeck(tmp_path, "backtest", str(path), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["no-such-file"], "can't read no-such-file: No such file"),
        (["."], "can't read .: Is a directory"),
        (["x.csv", "--floor", "60"], "a floor of 60 is no ratio"),
        ([], "missing argument"),
    ],
)
def test_refuses_what_it_can_t_use(tmp_path: Path, args: list[str], says: str) -> None:
    done = tierdeck(tmp_path, "backtest", *args)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
