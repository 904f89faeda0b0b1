"""The exported rules and boards on a real Prometheus that scrapes the simulated fleet."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from alerting.export.boards import BoardOptions, boards
from alerting.export.options import Objective, RuleOptions, Windows
from alerting.export.rule_file import rule_file, rules_text
from tests.support.processes import wait_until
from tests.support.prometheus import Prometheus, load_openmetrics, running_prometheus
from tests.support.scraped import Lab, running_lab, scrape_config

DAY = 86_400
WINDOWS = Windows(
    short=10.0,
    long=20.0,
    past=(float(DAY),),
    past_span=600.0,
    stores=15.0,
    pool=60.0,
    deferred=5.0,
    memory=600.0,
    hold=0.01,
)
"""The fleet's time passes twenty times as fast as ours."""
OPTIONS = RuleOptions(
    windows=WINDOWS, objective=Objective.of("0.95:2.5s"), least_tokens=10_000, least_requests=5, interval=1.0
)
USUAL = 0.75
_SUBSTITUTES = {"$__rate_interval": "10s", "$namespace": ".*", "$model_name": ".*"}


class Scene:
    """The fleet, and the Prometheus that scrapes it and judges the rules."""

    def __init__(self, lab: Lab, prometheus: Prometheus) -> None:
        self.lab, self._prometheus = lab, prometheus

    def ask(self, query: str) -> Any:
        return self._get("query?" + urlencode({"query": query}))["result"]

    def has(self, query: str) -> bool:
        return bool(self.ask(query))

    def firing(self, alert: str, **labels: str) -> list[Mapping[str, Any]]:
        wanted = {"alertname": alert, **labels}
        found = self._get("alerts")["alerts"]
        return [one for one in found if one["state"] == "firing" and wanted.items() <= one["labels"].items()]

    def fault(self, name: str, endpoint: str = "", replica: str = "", *, on: bool) -> None:
        place = {key: value for key, value in (("endpoint", endpoint), ("replica", replica)) if value}
        self.lab.change("faults", {"name": name, "on": on, **place})

    def _get(self, path: str) -> Any:
        with urlopen(f"{self._prometheus.url}/api/v1/{path}") as answer:
            return json.load(answer)["data"]


def a_day_ago() -> str:
    """What chat had a day ago, as OpenMetrics: 75 % hits, for ten minutes before this hour and some after."""
    began = int(time.time()) - DAY - 900
    names = {"queries": 2000, "hits": 2000 * USUAL}
    own = 'namespace="inference",job="vllm",instance="chat-0:vllm",pod="chat-0",model_name="qwen2-7b-chat",engine="0"'
    lines = [
        f"vllm:prefix_cache_{name}_total{{{own}}} {15 * step * pace:g} {began + 15 * step}\n"
        for name, pace in names.items()
        for step in range(4 * 60)
    ]
    return "".join(lines) + "# EOF\n"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("export")
    (folder / "rules.yaml").write_text(rules_text(rule_file(OPTIONS)), "utf-8")
    load_openmetrics(folder, a_day_ago())
    with running_lab(folder, "--warm", "--speed", "20") as lab:
        configuration = scrape_config(lab.address, "2s") + "rule_files: [rules.yaml]\n"
        with running_prometheus(folder, configuration) as prometheus:
            scene = Scene(lab, prometheus)
            ratio = 'tierdeck:hit_ratio:rate20s{model_name="qwen2-7b-chat"}'
            wait_until(lambda: bool(scene.ask(ratio)), "a hit ratio", folder / "prometheus.log")
            yield scene


def appears_and_goes(scene: Scene, alert: str, fault: str, endpoint: str = "", replica: str = "", **labels: str) -> Any:
    """The alert as it fires with a fault on; it was quiet before, and is when the fault is over."""
    assert not scene.firing(alert, **labels)
    scene.fault(fault, endpoint, replica, on=True)
    wait_until(lambda: bool(scene.firing(alert, **labels)), f"{alert} on {fault}")
    (told,) = scene.firing(alert, **labels)
    scene.fault(fault, endpoint, replica, on=False)
    wait_until(lambda: not scene.firing(alert, **labels), f"the end of {alert}")
    return told


def test_every_query_of_every_board_has_data(scene: Scene) -> None:
    wait_until(lambda: bool(scene.firing("TierdeckWatchdog")), "the watchdog")
    for board in boards(BoardOptions(datasource_uid="prometheus")).values():
        panels = board["panels"]
        assert isinstance(panels, list)
        for panel in panels:
            for target in panel["targets"]:
                query = target["expr"]
                for variable, value in _SUBSTITUTES.items():
                    query = query.replace(variable, value)
                assert "$" not in query
                what = f"{panel['title']} {target['legendFormat']}: {query}"
                wait_until(partial(scene.has, query), what)
                values = [float(series["value"][1]) for series in scene.ask(query)]
                assert all(value == value and value >= 0 for value in values), panel["title"]


def test_a_healthy_fleet_raises_the_watchdog_alone(scene: Scene) -> None:
    wait_until(lambda: bool(scene.ask('tierdeck:hit_ratio:usual{model_name="qwen2-7b-chat"}')), "what is usual")
    usual = float(scene.ask('tierdeck:hit_ratio:usual{model_name="qwen2-7b-chat"}')[0]["value"][1])
    assert usual == pytest.approx(USUAL, abs=0.001)
    found = {one["metric"]["alertname"] for one in scene.ask('ALERTS{alertstate="firing"}')}
    assert found == {"TierdeckWatchdog"}


def test_a_lost_worker_is_an_outage_of_l2(scene: Scene) -> None:
    told = appears_and_goes(scene, "TierdeckL2Outage", "worker-loss", sign="workers_lost")
    assert told["annotations"]["description"].startswith("1 of Curvine's workers")
    assert told["labels"]["severity"] == "critical"


def test_lost_writes_are_an_outage_of_l2(scene: Scene) -> None:
    appears_and_goes(scene, "TierdeckL2Outage", "l2-writes-lost", sign="stores_incomplete")


def test_requests_that_wait_for_a_frozen_cache_server_are_told(scene: Scene) -> None:
    told = appears_and_goes(
        scene, "TierdeckRequestsDeferred", "cache-server-gone", "rag", "rag-0", model_name="qwen2-7b-rag"
    )
    assert told["labels"]["endpoint"] == "inference/qwen2-7b-rag"


def test_a_drop_below_what_was_usual_a_day_ago_is_told_with_both_figures(scene: Scene) -> None:
    told = appears_and_goes(scene, "TierdeckHitRatioDrop", "workload-shift", "chat", model_name="qwen2-7b-chat")
    assert re.match(r"Hit ratio [\d.]+% over 20s, usually at least 75%", told["annotations"]["description"])


def test_an_endpoint_that_can_not_be_read_is_no_data_and_no_drop(scene: Scene) -> None:
    scene.lab.change("replicas", {"endpoint": "rag", "count": 1})
    told = appears_and_goes(scene, "TierdeckNoData", "no-engine-metrics", "rag", "rag-0")
    assert told["labels"]["model_name"] == "qwen2-7b-rag"
    assert not scene.firing("TierdeckHitRatioDrop")
