"""The views of a fleet that a controller watches, and of one that none does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from console.web.views import VIEWS
from db import Store
from tests.support.console_store import Habit, Made, fill
from tests.support.seen_fleet import CHAT, FIX, RAG, fill_watched
from tests.unit.console.test_views import frame, open_view, table, words
from tierdeck.fleet import Endpoint


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('watched')}/tierdeck.db"
    fill_watched(url, time.time())
    return url


@pytest.fixture
def store(watched: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERDECK_DATABASE_URL", watched)
    monkeypatch.setenv("TIERDECK_SCRAPE_INTERVAL_SECONDS", "250")  # it stays fresh until the last test


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/tierdeck.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    return url


@pytest.mark.usefixtures("store")
def test_the_endpoint_view_shows_each_tier_as_configured_running_and_used() -> None:
    app = open_view("endpoint", endpoint=CHAT)
    assert not app.exception
    rows = frame(app, "configured").set_index("tier")
    assert rows.loc["L0 · GPU", "configured"] == "--gpu-memory-utilization 0.9"
    # the gauges of every replica: 62 % of 480,000 tokens; 61 of 96 GiB in L1
    assert rows.loc["L0 · GPU", "used"] == "62 % of 480 k tokens"
    assert list(rows.loc["L1 · CPU"])[:3] == ["120 GiB", "96 GiB", "61 GiB (64 %)"]
    assert rows.loc["L1 · CPU", "state"] == "≠ drift: 120 GiB configured, 96 GiB in the pods"
    assert list(rows.loc["L2 · Curvine"])[:3] == ["500 GiB", "500 GiB", "not known"]
    said = words(app)
    assert "L2 used: no pool is scraped" in said
    assert "≠ configured prefixaware, running roundrobin" in said
    assert "InferenceEndpointConfig inference/chat · also written by argo-cd chat, keda chat-scaler" in said
    assert "▲ two routers answer for this endpoint" in said
    assert "▲ chat-2: Unschedulable: 0/3 nodes are available" in said


@pytest.mark.usefixtures("store")
def test_the_endpoint_view_lists_what_happened_to_it_and_to_the_pool() -> None:
    rows = frame(open_view("endpoint", endpoint=CHAT), "in words")
    assert rows["what"].tolist() == ["restart", "node gone", "drift", "oom", "routing changed"]
    assert rows["endpoint"].tolist()[:2] == ["(pool)", CHAT]
    assert rows["in words"].tolist()[2] == "strategy: prefixaware is configured, roundrobin runs"
    other = frame(open_view("endpoint", endpoint=RAG), "in words")
    assert other["what"].tolist() == ["restart", "rollout"]


@pytest.mark.usefixtures("store")
def test_the_fleet_view_names_owners_and_drift() -> None:
    app = open_view("fleet")
    first, second = table(app)
    assert (first["endpoint"], first["owners"], first["drift"]) == (
        CHAT,
        "argo-cd chat, keda chat-scaler",
        "≠ strategy, L1",
    )
    assert (second["owners"], second["drift"]) == ("argo-cd chat", "–")
    markup = app.get("html")[0].proto.body
    assert "endpoint=inference%2Fchat" in markup  # the link's name is one value, whatever is in it
    assert "L1: 120 GiB configured, 96 GiB runs" in markup


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["fleet", "endpoint"])
def test_a_blind_part_is_said_once_in_the_header(path: str) -> None:
    assert words(open_view(path)).count("the controller can't see inferenceendpointconfigs: Admin says") == 1


@pytest.mark.usefixtures("store")
def test_admin_tells_what_can_t_be_seen_with_the_rule_that_grants_it_and_nodes_in_trouble() -> None:
    app = open_view("admin")
    (box,) = app.expander
    label = box.label.replace("\\", "")
    assert label.startswith(
        "▲ not seen: inferenceendpointconfigs.inference.sagemaker.aws.amazon.com in cluster prod-usw2"
    )
    assert app.code[0].value == FIX
    rows = frame(app, "GPUs").set_index("node")
    assert rows["trouble"].to_dict() == {
        "ip-10-0-1-8": "▲ MemoryPressure", "ip-10-0-1-9": "▲ gone, ip-10-0-1-12 took its place",
    }  # fmt: skip
    assert "2 nodes, 1 in trouble, 1 gone" in words(app)
    assert "events" in frame(app, "kept for")["rows"].tolist()


def test_where_no_controller_watches_the_views_say_what_to_do(new: str) -> None:
    now = time.time()
    fill(new, [Made("chat", [Habit()])], now - 300, now)
    said = words(open_view("endpoint"))
    assert "`tierdeck up --kubernetes`" in said
    assert "No controller watches this endpoint" in said
    assert "No cluster is watched" in words(open_view("admin"))
    assert "owners" not in table(open_view("fleet"))[0]


@pytest.mark.parametrize("path", [view.path for view in VIEWS])
def test_an_endpoint_without_replicas_is_shown(new: str, path: str) -> None:
    with Store.open(new, migrate=True) as deck:
        deck.declare("east", [Endpoint("east", "inference/new", (), "hyperpod")], [], "kubernetes", "controller")
    app = open_view(path)
    assert not app.exception
    assert not app.warning
    shown = {
        "fleet": str(table(app) if path == "fleet" else ""),
        "endpoint": str([box.options for box in app.selectbox]),
    }
    assert "inference/new" in shown.get(path, "inference/new")
