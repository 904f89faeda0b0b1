"""Every view on a real store: full, empty, with unknowns, missing."""

from __future__ import annotations

import html
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from console import queries
from console.web.views import VIEWS
from db import Store
from tests.support.console_store import Habit, Made, fill, usual_fleet
from tierdeck.changes.proof import Proof, Verdict

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
    return re.sub(r"\\(?=[^\w\s])", "", " ".join(str(part) for part in parts))


def table(app: AppTest) -> list[dict[str, str]]:
    """The fleet's table as text, by column."""
    markup = app.get("html")[0].proto.body
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", markup)]
    texts = [[html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in rows]
    return [dict(zip(texts[0], row, strict=True)) for row in texts[1:]]


def frame(app: AppTest, column: str) -> pd.DataFrame:
    """The table that has this column."""
    found: pd.DataFrame = next(one.value for one in app.dataframe if column in one.value)
    return found


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
    assert "prod-usw2 · 3 endpoints · 7 replicas" in said
    assert "Strategy: configured, not proved." in said
    assert [metric.label for metric in app.metric] == [
        "Hit ratio, by token", "Hit ratio, by request", "TTFT p50", "TTFT p95", "Requests",
    ]  # fmt: skip
    assert app.metric[3].value == "≥ 60 s"
    rows = table(app)
    assert [row["replicas"] for row in rows] == ["3", "2", "1 of 2 readable"]
    assert [row["strategy"] for row in rows] == ["prefixaware", "kvaware", "roundrobin"]
    assert [row["TTFT p95"] for row in rows][2] == "≥ 60 s"


def test_a_strategy_that_was_proved_says_so(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    proof = Proof(Verdict.EFFECTIVE, "kvaware", "kvaware", ("9 of 9 landed so",), 12, 3.0, at=now - 300)
    with Store.open(store) as open_store:
        open_store.save_proof("prod-usw2", "rag-32b", proof)
        open_store.save_proof("prod-usw2", "batch-7b", replace(proof, verdict=Verdict.CANNOT_TELL, wished="roundrobin"))
    app = open_view("fleet")
    assert [row["strategy"] for row in table(app)] == ["prefixaware", "✓ kvaware", "roundrobin"]
    assert "Strategy: ✓ proved by behaviour, else configured, not proved." in words(app)
    said = words(open_view("endpoint", cluster="prod-usw2", endpoint="rag-32b"))
    assert re.search(r"kvaware \(proved \d+ min ago\)", said)


def test_fleet_withholds_nothing_that_others_tell(store: str, now: float) -> None:
    # one of four equal endpoints can't tell 60 % of its tokens: a hit ratio of 80 % is known to lie in [70, 85]
    made = [Made(f"e{number}", [Habit(external=number > 0)]) for number in range(4)]
    fill(store, made, now - 900, now)
    app = open_view("fleet")
    low, high = map(int, re.findall(r"\d+", app.metric[0].value))
    assert low < 80 < high
    assert app.metric[0].delta.startswith(r"e0\: external prefix cache hits are not exported")
    assert "not known" not in app.metric[0].value


def test_fleet_says_in_words_that_there_was_no_traffic(store: str, now: float) -> None:
    fill(store, [Made("quiet", [Habit(traffic=False)])], now - 900, now)
    app = open_view("fleet")
    assert "No prompt tokens were looked up in the last 15 minutes." in words(app)
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
    assert "Qwen2.5-32B" in said
    assert "kvaware (configured, not proved)" in said
    assert "embedded LMCache does not export L1 and L2 hits apart" in said
    other = open_view("endpoint", endpoint="gone")
    assert "Llama-3.3-70B" in words(other)
    assert "There is no endpoint 'gone' any more" in other.warning[0].value


def test_endpoint_shows_each_replica_with_its_state(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    app = open_view("endpoint", endpoint="batch-7b")
    rows = frame(app, "TTFT p50 / p95").set_index("replica")
    assert rows.loc["batch-7b-0", "state"] == "● ok"
    assert rows.loc["batch-7b-1", "state"] == "✕ down"
    assert rows.loc["batch-7b-0", "recomputed"] in ("68 %", "69 %", "70 %", "71 %")
    assert "down: no source of the replica answered the last scrape" in words(app)


def test_endpoint_shows_what_each_replica_runs_where_they_differ(store: str, now: float) -> None:
    mixed = [Habit(version="0.11.1"), Habit(), Habit(version="")]
    fill(store, [Made("mixed", mixed), Made("even", [Habit(), Habit()])], now - 300, now)
    app = open_view("endpoint", endpoint="mixed")
    assert "vLLM 0.11.1 and 0.32.0 and unknown" in words(app)
    assert frame(app, "TTFT p50 / p95")["version"].tolist() == ["vLLM 0.11.1", "vLLM 0.32.0", "vLLM unknown"]
    app = open_view("endpoint", endpoint="even")
    assert "2 replicas · vLLM 0.32.0" in words(app)
    assert "version" not in frame(app, "TTFT p50 / p95")


def test_endpoint_shows_tenants_where_there_are_any(store: str, now: float) -> None:
    fill(store, [Made("one", [Habit(salts=("acme",))]), Made("two", [Habit()])], now - 300, now)
    app = open_view("endpoint", endpoint="one")
    (row,) = frame(app, "cache salt").to_dict("records")
    assert row["cache salt"] == "acme"
    assert row["found"] == 40.0  # (300 + 100) / 1,000, in per cent
    assert row["found in L1"] == 3 * row["found in L2"]
    assert "Whose prompts" in words(app)
    assert "Whose prompts" not in words(open_view("endpoint", endpoint="two"))


def test_endpoint_says_whether_the_tiers_pay(store: str, now: float) -> None:
    fill(store, [Made("one", [Habit()])], now - 300, now)
    assert "Whether L1 and L2 pay for this traffic can't be told: " in words(open_view("endpoint"))


def test_admin_puts_failing_targets_first(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    app = open_view("admin")
    targets = app.dataframe[0].value
    assert targets["replica"].tolist()[0] == "batch-7b-1"
    assert targets["last error"].tolist()[0] == "connection refused"
    assert "1 failing" in words(app)
    assert "SQLite, one file" in words(app)


def test_admin_tells_a_stopped_process_from_a_silent_one(store: str, now: float) -> None:
    with Store.open(store, migrate=True) as deck:
        for instance, beat_at in (("alive", now - 5), ("killed", now - 600), ("stopped", now - 700)):
            deck.beat("collectors", instance, "0.1", now - 1000, beat_at)
        deck.sign_off("collectors", "stopped", now - 690)
    shown = open_view("admin").dataframe[0].value
    at = datetime.fromtimestamp(now - 690, UTC)
    states = ["● alive", "✕ silent", f"○ stopped at {at:%Y-%m-%d %H:%M} UTC"]
    assert dict(zip(shown["instance"], shown["state"], strict=True)) == dict(
        zip(("alive", "killed", "stopped"), states, strict=True)
    )
    assert shown["up for"].tolist()[2] == "5 min"  # 1000 - 690 s


def test_what_keeps_the_collectors_from_reading_stands_in_every_header(store: str, now: float) -> None:
    with Store.open(store, migrate=True) as deck:
        deck.beat("collectors", "a", "0.1", now - 1000, now - 5, trouble="prometheus:9090 can't be reached.")
    for view in ("fleet", "endpoint"):
        assert "collectors: prometheus:9090 can't be reached." in words(open_view(view))
    assert open_view("admin").dataframe[0].value["trouble"].tolist() == ["prometheus:9090 can't be reached."]
    with Store.open(store) as deck:
        deck.beat("collectors", "a", "0.1", now - 1000, now - 2)
    queries._processes.clear()
    assert "can't be reached" not in words(open_view("fleet"))


def test_names_from_outside_are_text_not_markup(store: str, now: float) -> None:
    fill(store, [Made("a*b*[x](y)_<b>", [Habit(), Habit(silent_after=now - 300)])], now - 900, now)
    app = open_view("fleet")
    remark = next(caption.value for caption in app.caption if "Left out" in caption.value)
    assert r"a\*b\*\[x\]\(y\)\_\<b\>\-1" in remark


def test_a_name_from_outside_can_not_leave_its_cell(store: str, now: float) -> None:
    fill(store, [Made("<img src=x onerror=alert(1)>'", [Habit()])], now - 900, now)
    app = open_view("fleet")
    markup = app.get("html")[0].proto.body
    assert "<img src=x" not in markup
    assert table(app)[0]["endpoint"] == "<img src=x onerror=alert(1)>'"
    assert "endpoint=%3Cimg+src%3Dx" in markup


def test_many_endpoints_can_be_sorted_by_what_matters(store: str, now: float) -> None:
    made = [Made(f"e{number}", [Habit(l0=0.1 * number, ttft=1.0 / (number + 1))]) for number in range(6)]
    fill(store, [*made, Made("quiet", [Habit(traffic=False)])], now - 900, now)
    assert [row["endpoint"] for row in table(open_view("fleet"))][:2] == ["e0", "e1"]
    lowest = table(open_view("fleet", sort="lowest hit ratio"))
    assert [row["endpoint"] for row in lowest] == ["e0", "e1", "e2", "e3", "e4", "e5", "quiet"]
    assert lowest[-1]["hit ratio"] == "no traffic"


@pytest.mark.parametrize("path", ["fleet", "endpoint"])
def test_how_each_number_is_computed_is_told_when_it_is_asked(store: str, now: float, path: str) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    how = "sums divided, never a mean of ratios"
    assert how not in [one.value for one in open_view(path).markdown]
    assert any(how in one.value for one in open_view(path, how="true").markdown)


def test_the_notes_are_told_when_they_are_opened(store: str, now: float) -> None:
    fill(store, usual_fleet(now), now - 1200, now)
    assert "5 notes: what makes these figures less than certain" in [box.label for box in open_view("fleet").expander]
    opened = open_view("fleet", notes="true")
    notes = opened.table[0].value
    assert notes["note"].tolist()[:2] == ["`restarted`", "`split_estimated`"]
    assert notes["evidence"].str.contains("1 restarts").any()
