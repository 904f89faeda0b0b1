"""A real Prometheus that scrapes the simulated fleet: what the command makes of it, and what goes wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from db import Store
from tests.support.deck import TIERDECK, Deck, tokens, up
from tests.support.processes import running, wait_until
from tests.support.prometheus import Prometheus, running_prometheus
from tests.support.scraped import Lab, running_lab, scrape_config, scraping

SPEED = ("--speed", "10")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_lab(tmp_path_factory.mktemp("lab"), *SPEED) as found:
        yield found


@pytest.fixture(scope="module")
def prometheus(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with scraping(tmp_path_factory.mktemp("prometheus"), lab) as server:
        yield server


def tierdeck(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TIERDECK, *args], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


def explained(address: str, *args: str) -> dict[str, Any]:
    """The document, or nothing where the command fails."""
    done = tierdeck("explain", "--prometheus", address, "--json", *args)
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def is_busy(document: dict[str, Any]) -> bool:
    return bool(document) and (document["fleet"]["prompt_tokens"] or 0) > 0


def test_explain_tells_a_window_of_one_endpoint(prometheus: Prometheus) -> None:
    window = ("--window", "15s", "--endpoint", "chat")
    wait_until(lambda: is_busy(explained(prometheus.url, *window)), "traffic in the window")
    document = explained(prometheus.url, *window)
    assert document["window_seconds"] == 15
    assert sorted(document["replicas"]) == ["chat-0", "chat-1", "chat-2"]
    assert document["source"]["endpoints"] == ["chat"]
    assert document["pool"]["workers"] == {"live": 3, "lost": 0, "blacklisted": 0, "decommissioned": 0}
    tiers = document["fleet"]["tiers"]
    assert (
        tiers["L0"]["tokens"] + tiers["L1+L2"]["tokens"] + tiers["miss"]["tokens"]
        == (document["fleet"]["prompt_tokens"])
    )


def test_explain_tells_all_endpoints_together_for_people_too(prometheus: Prometheus) -> None:
    wait_until(lambda: is_busy(explained(prometheus.url, "--window", "15s")), "traffic in the window")
    text = tierdeck("explain", "--prometheus", prometheus.url, "--window", "15s").stdout
    assert re.search(r"endpoints: batch, chat, rag", text)
    assert "rag/rag-0" in text
    assert "Guessed: a replica is named by" in text


def test_an_endpoint_that_is_not_there_is_named_with_those_that_are(prometheus: Prometheus) -> None:
    done = tierdeck("explain", "--prometheus", prometheus.url, "--endpoint", "chta")
    assert (done.returncode, done.stdout) == (2, "")
    told = r"tierdeck: there is no endpoint 'chta'\. Known: \S*batch, \S*chat, \S*rag\.\n"
    assert re.fullmatch(told, done.stderr), done.stderr


def test_discover_shows_what_there_is_and_what_was_guessed(prometheus: Prometheus) -> None:
    found = json.loads(tierdeck("discover", "--prometheus", prometheus.url, "--json").stdout)
    assert {one["name"]: one["replicas"] for one in found["endpoints"]} == {
        "batch": ["batch-0", "batch-1"],
        "chat": ["chat-0", "chat-1", "chat-2"],
        "rag": ["rag-0", "rag-1"],
    }
    assert found["pools"] == ["curvine"]
    assert found["not_placed"] == []
    assert found["interval_seconds"] < 5  # a second, more where this machine is busy


def test_rules_say_it_where_the_guess_is_wrong(prometheus: Prometheus, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "prometheus:\n  relabel:\n"
        "  - {source_labels: [namespace, model_name], target_label: endpoint, separator: '.', regex: '(.+[.].+)'}\n"
        "  - {source_labels: [pod], regex: 'rag-.*', action: drop}\n"
    )
    found = json.loads(tierdeck("discover", "--prometheus", prometheus.url, "--config", str(rules), "--json").stdout)
    names = {one["name"] for one in found["endpoints"]}
    assert names == {"inference.qwen2-7b-chat", "inference.qwen2-7b-batch"}


def test_a_prometheus_without_vllm_says_what_it_has(lab: Lab, tmp_path: Path) -> None:
    configuration = scrape_config(lab.address).split("scrape_configs:")[0]
    own = "scrape_configs:\n- job_name: node\n  static_configs: [{targets: ['127.0.0.1:9']}]\n"
    with running_prometheus(tmp_path, configuration + own) as server:
        done = tierdeck("explain", "--prometheus", server.url)
        wait_until(lambda: "node" in tierdeck("explain", "--prometheus", server.url).stderr, "its first scrape")
        done = tierdeck("up", "--prometheus", server.url, "--port", "0", TIERDECK_HOME=str(tmp_path / "deck"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "tierdeck: this Prometheus has no vLLM series: it scrapes the jobs node. "
        "Have the engines scraped. See docs/connect.md.\n"
    )


def test_a_prometheus_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    done = tierdeck("up", "--prometheus", "http://127.0.0.1:9", TIERDECK_HOME=str(tmp_path / "deck"))
    assert done.returncode == 3
    assert "127.0.0.1:9" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_prometheus_that_wants_credentials_says_so(lab: Lab, tmp_path: Path) -> None:
    # bcrypt of "secret", made with htpasswd -nbBC 4
    web = "basic_auth_users: {ops: $2y$04$mC2Jc1yWg1UZ3hQ2f6vTEeQnJ5jvpT9pFqT2Yv2v3O9pJm6oXWm0S}\n"
    with running_prometheus(tmp_path, scrape_config(lab.address), web=web) as server:
        done = tierdeck("explain", "--prometheus", server.url)
    assert done.returncode == 2
    assert "TIERDECK_PROMETHEUS_USERNAME" in done.stderr
    assert done.stderr.count("\n") == 1


def test_queries_that_are_too_large_are_split_until_they_fit(lab: Lab, tmp_path: Path) -> None:
    # 7 replicas, 10 s, a page a second; the largest family has 23 buckets x 7 x 11 = 1,771 samples: one moment fits
    with scraping(tmp_path, lab, "--query.max-samples=1200") as server:
        wait_until(lambda: is_busy(explained(server.url, "--window", "10s")), "a window that was put together")
        done = tierdeck("explain", "--prometheus", server.url, "--window", "10m")
        assert done.returncode in (0, 3)
        assert "Traceback" not in done.stderr


def test_series_spelled_with_an_underscore_are_read(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    with running("tests.support.openmetrics_engine", log=log):
        wait_until(lambda: "http://" in log.read_text(), "the engine", log)
        address = log.read_text().strip().removeprefix("http://")
        configuration = (
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            f"scrape_configs: [{{job_name: vllm, static_configs: [{{targets: ['{address}']}}]}}]\n"
        )
        with running_prometheus(tmp_path, configuration) as server:
            window = ("--window", "4s")
            wait_until(lambda: is_busy(explained(server.url, *window)), "tokens", log)
            document = explained(server.url, *window)
    read = next(iter(document["replicas"].values()))["names"]["vllm"]["read"]
    assert read["prompt_tokens"] == "vllm_prefix_cache_queries_total"
    whole = document["fleet"]
    assert whole["tiers"]["L0"]["tokens"] * 100 == whole["prompt_tokens"] * 40


def test_a_deck_on_prometheus_goes_on_over_its_restart(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "prometheus").mkdir()
    with scraping(tmp_path / "prometheus", lab) as server:
        wait_until(lambda: is_busy(explained(server.url, "--window", "5s")), "series")
        with up(tmp_path, "--prometheus", server.url) as (deck, _):
            assert "It scrapes them every" in deck.log.read_text()
            wait_until(lambda: tokens(deck.ask("status")).get("chat", 0) > 0, "tokens", deck.log)
            server.stop()
            wait_until(lambda: "can't be reached" in trouble(deck), "word of a server that is away", deck.log)
            server.start()
            wait_until(lambda: not trouble(deck), "word of a server that is back", deck.log)
            before = last_at(deck)
            wait_until(lambda: last_at(deck) > before + 10, "rounds after the restart", deck.log)
            wait_until(lambda: fleet(deck)["state"] in ("ok", "warming"), "engines that answer", deck.log)
            assert fleet(deck)["restarts"] == 0  # the engines' restarts, not the server's
            saved = tierdeck("snapshot", str(tmp_path / "bundle"), TIERDECK_HOME=str(deck.home / "deck"))
            assert (saved.returncode, saved.stderr.count("\n")) == (2, 1)
            assert "reads its endpoints from a Prometheus" in saved.stderr
            log = (deck.home / "deck" / "logs" / "collectors.log").read_text()
    assert "Traceback" not in log


def fleet(deck: Deck) -> dict[str, Any]:
    """The ledger of an endpoint's replicas together."""
    told: dict[str, Any] = deck.ask("ledger", "chat", "--window", "10m")["fleet"]
    return told


def trouble(deck: Deck) -> str:
    """What the collectors say keeps them from reading."""
    with Store.open(f"sqlite:///{deck.home / 'deck' / 'tierdeck.db'}") as store:
        return str(store.processes()["trouble"].iloc[0])


def last_at(deck: Deck) -> float:
    with Store.open(f"sqlite:///{deck.home / 'deck' / 'tierdeck.db'}") as store:
        return store.last_at() or 0.0
