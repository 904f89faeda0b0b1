"""Every view on a real store: full, empty, with unknowns, missing."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from console.web.views import VIEWS
from tests.support.console_store import Habit, Made, fill, usual_fleet

NAMES = [view.path for view in VIEWS]


def open_view(path: str, **asked: str) -> AppTest:
    """One run of a view as a page of its own, without live refresh."""

    def page(path: str) -> None:
        from console.web.views import VIEWS  # noqa: PLC0415  # the body is all that AppTest runs

        next(view for view in VIEWS if view.path == path).render()

    app = AppTest.from_function(page, default_timeout=60, args=(path,))
    for key, value in {"freeze": "1", **asked}.items():
        app.query_params[key] = value
    return app.run()


def words(app: AppTest) -> str:
    """Everything that is said outside of charts."""
    told = (app.header, app.subheader, app.markdown, app.caption, app.warning)
    parts = [element.value for elements in told for element in elements]
    parts += [f"{metric.label} {metric.value} {metric.delta}" for metric in app.metric]
    parts += [frame.value.to_string() for frame in app.dataframe] + [table.value.to_string() for table in app.table]
    return " ".join(str(part) for part in parts)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/tierdeck.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    return url


@pytest.fixture
def now() -> float:
    return time.time()


@pytest.mark.parametrize("path", NAMES)
def test_a_view_draws_a_full_store(store: str, now: float, path: str) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    app = open_view(path)
    assert not app.exception
    assert not app.warning
    assert not re.search(r"\b(nan|None|NaT|Traceback)\b", re.sub(r"<NA>|data:\S+", "", words(app)))


@pytest.mark.parametrize("path", NAMES)
def test_a_view_says_what_to_do_on_an_empty_store(store: str, now: float, path: str) -> None:
    fill(store, [], now - 60, now)
    app = open_view(path)
    assert not app.exception
    assert "docs/config.md" in words(app)


@pytest.mark.parametrize("path", NAMES)
def test_a_view_tells_a_missing_store_in_one_sentence(store: str, path: str) -> None:
    app = open_view(path)
    assert not app.exception
    assert len(app.warning) == 1
    assert app.warning[0].value.startswith("There is no store at")


@pytest.mark.parametrize("path", NAMES)
def test_a_view_tells_an_unreachable_store_in_one_sentence(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("TIERDECK_DATABASE_URL", "postgresql://someone:secret@127.0.0.1:1/none")
    app = open_view(path)
    assert not app.exception
    assert len(app.warning) == 1
    assert "secret" not in words(app)


def test_fleet_tells_tokens_numbers_and_rows(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    app = open_view("fleet")
    said = words(app)
    assert re.search(r"Where did the last 15 minutes' [\d.]+ M prompt tokens come from\?", said)
    assert "prod-usw2 · 3 endpoints · 7 replicas" in said.replace("\\", "")
    assert "Strategy: configured, not proved." in said
    assert [metric.label for metric in app.metric] == [
        "Hit ratio, by token", "Hit ratio, by request", "TTFT p50", "TTFT p95", "Requests",
    ]  # fmt: skip
    assert app.metric[3].value == "≥ 60 s"
    rows = app.dataframe[0].value
    assert rows["replicas"].tolist() == ["3", "2", "1 of 2 readable"]
    assert all(uri.startswith("data:image/svg+xml;base64,") for uri in rows["served by"])


def test_fleet_withholds_nothing_that_others_tell(store: str, now: float) -> None:
    # one of four equal endpoints can't tell 60 % of its tokens: a hit ratio of 80 % is known to lie in [70, 85]
    made = [Made(f"e{number}", [Habit(external=number > 0)]) for number in range(4)]
    fill(store, made, now - 900, now)
    app = open_view("fleet")
    low, high = map(int, re.findall(r"\d+", app.metric[0].value))
    assert low < 80 < high
    assert app.metric[0].delta.startswith("e0: external prefix cache hits are not exported")
    assert "not known" not in app.metric[0].value


def test_fleet_says_in_words_that_there_was_no_traffic(store: str, now: float) -> None:
    fill(store, [Made("quiet", [Habit(traffic=False)])], now - 900, now)
    app = open_view("fleet")
    assert "No prompt tokens were looked up in the last 15 minutes." in words(app).replace("\\", "")
    assert app.metric[0].value == "no traffic"


def test_old_data_is_called_stale(store: str, now: float) -> None:
    fill(store, [Made("one", [Habit()])], now - 900, now - 600)
    said = words(open_view("fleet"))
    assert "stale: as of" in said
    assert "10 min ago" in said
    assert "down: no source of the replica answered" in said


def test_the_window_comes_from_the_address_and_a_wrong_one_is_the_default(store: str, now: float) -> None:
    fill(store, [Made("one", [Habit()])], now - 900, now)
    assert "last hour's" in words(open_view("fleet", window="1h"))
    assert "last 15 minutes'" in words(open_view("fleet", window="3 weeks"))


def test_endpoint_comes_from_the_address(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    said = words(open_view("endpoint", cluster="prod-usw2", endpoint="rag-32b"))
    assert "Qwen2.5-32B" in said.replace("\\", "")
    assert "kvaware (configured, not proved)" in said.replace("\\", "")
    assert "embedded LMCache does not export L1 and L2 hits apart" in said
    first = words(open_view("endpoint", endpoint="gone"))
    assert "Llama-3.3-70B" in first.replace("\\", "")


def test_endpoint_shows_each_replica_with_its_state(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    app = open_view("endpoint", endpoint="batch-7b")
    rows = app.dataframe[0].value.set_index("replica")
    assert rows.loc["batch-7b-0", "state"] == "● ok"
    assert rows.loc["batch-7b-1", "state"] == "✕ down"
    assert rows.loc["batch-7b-0", "recomputed"] == "69 %"
    assert "down: no source of the replica answered the last scrape" in words(app)


def test_admin_puts_failing_targets_first(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    app = open_view("admin")
    targets = app.dataframe[0].value
    assert targets["replica"].tolist()[0] == "batch-7b-1"
    assert targets["last error"].tolist()[0] == "connection refused"
    assert "1 failing" in words(app)
    assert "SQLite, one file" in words(app)


def test_names_from_outside_are_text_not_markup(store: str, now: float) -> None:
    fill(store, [Made("a*b*[x](y)_<b>", [Habit(), Habit(silent_after=now - 300)])], now - 900, now)
    app = open_view("fleet")
    remark = next(caption.value for caption in app.caption if "Left out" in caption.value)
    assert r"a\*b\*\[x\]\(y\)\_\<b\>\-1" in remark
