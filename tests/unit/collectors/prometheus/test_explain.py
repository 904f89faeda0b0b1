"""`explain` of a window from a Prometheus: the same figures as from the targets' own pages."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.prometheus.asking import Asking
from collectors.prometheus.explain import Wanted, explain_prometheus
from tests.support.expositions import codes, lmcache_mp
from tests.support.memory_prometheus import MemoryPrometheus
from tests.support.prometheus_targets import HASH, T0, an_engine, in_pod
from tierdeck.account import WarmingLimits
from tierdeck.errors import TierdeckError, UsageError

LIMITS = WarmingLimits(0, 0)
A, B = f"chat-{HASH}-b2b2b", f"chat-{HASH}-c2c2c"


def explained(server: MemoryPrometheus, window_seconds: int = 900, endpoint: str = "", match: str = "") -> Any:
    wanted = Wanted(T0, window_seconds, endpoint)
    return explain_prometheus(server, Asking(server, match), (), wanted, LIMITS)


def scrape(server: MemoryPrometheus, pod: str, start: int = -3000, end: int = 0, began: float = -9000) -> None:
    """Every 15 s; a token a second is looked up since the process began, and half of them hit."""
    for at in range(T0 + start, T0 + end + 1, 15):
        server.scrape(in_pod(pod), at, an_engine(at - T0 - began, start=T0 + began))


def test_a_window_of_one_endpoint_goes_by_its_replicas_names() -> None:
    server = MemoryPrometheus()
    scrape(server, A)
    scrape(server, B)
    document = explained(server)
    assert set(document["replicas"]) == {A, B}
    assert document["window_seconds"] == 900
    assert document["fleet"]["prompt_tokens"] == 1800
    assert document["fleet"]["tiers"]["L0"]["tokens"] == 900
    assert document["source"]["endpoints"] == ["chat"]
    assert document["source"]["step_seconds"] == 15


def test_several_endpoints_stand_before_their_replicas_names_and_one_can_be_chosen() -> None:
    server = MemoryPrometheus()
    scrape(server, A)
    scrape(server, "code-0")
    assert set(explained(server)["replicas"]) == {f"chat/{A}", "code/code-0"}
    chosen = explained(server, endpoint="code")
    assert set(chosen["replicas"]) == {"code-0"}
    assert chosen["fleet"]["prompt_tokens"] == 900
    assert chosen["source"]["endpoints"] == ["code"]


def test_an_endpoint_that_is_not_there_is_refused_with_those_that_are() -> None:
    server = MemoryPrometheus()
    scrape(server, A)
    with pytest.raises(UsageError, match="no endpoint 'cat'") as caught:
        explained(server, endpoint="cat")
    assert caught.value.hint == "Known: ns/chat."


def test_an_endpoint_goes_by_its_name_here_and_by_the_one_that_kubernetes_has() -> None:
    server = MemoryPrometheus()
    pods = [in_pod(A, namespace="east"), in_pod(B, namespace="west"), in_pod("code-0", namespace="east")]
    for at in range(T0 - 3000, T0 + 1, 15):
        for pod in pods:
            server.scrape(pod, at, an_engine(at - T0 + 9000, start=T0 - 9000))

    def endpoints(name: str) -> Any:
        return explained(server, endpoint=name)["source"]["endpoints"]

    assert endpoints("code") == endpoints("east/code") == ["code"]
    assert endpoints("west/chat") == endpoints("chat.west") == ["chat.west"]
    with pytest.raises(UsageError, match="'chat' fits 2 endpoints: east/chat, west/chat"):
        endpoints("chat")


def test_a_restart_and_a_replaced_pod_are_counted_to_their_last_scrapes() -> None:
    server = MemoryPrometheus()
    scrape(server, "chat-0", end=-450)
    scrape(server, "chat-0", start=-420, began=-430)
    scrape(server, "chat-1", end=-600)
    server.remove(in_pod("chat-1"), T0 - 590)
    scrape(server, "chat-2", start=-540, began=-560)
    document = explained(server)
    found = {name: part["prompt_tokens"] for name, part in document["replicas"].items() if part["prompt_tokens"]}
    # of chat-0: 900 - 450 and then 430; chat-1 is gone, so that its figures are withheld
    assert found == {"chat-0": 450 + 430, "chat-2": 560}
    assert document["replicas"]["chat-0"]["restarts"] == 1
    assert "restarted" in codes(document["replicas"]["chat-0"])


def test_a_long_window_on_a_coarser_grid_counts_the_same() -> None:
    server = MemoryPrometheus()
    scrape(server, "chat-0", start=-7500, end=-4010)
    scrape(server, "chat-0", start=-3900, began=-3950)
    document = explained(server, 7200)
    assert document["source"]["step_seconds"] == 30  # 7,200 s in at most 240 steps
    # scrapes are at multiples of 15 s from -7,500 on: the last one of the old process is at -4,020
    assert document["fleet"]["prompt_tokens"] == 7200 - 4020 + 3950
    assert document["fleet"]["restarts"] == 1


def test_a_shared_cache_server_is_the_fleets() -> None:
    server = MemoryPrometheus()
    scrape(server, A)
    for number, at in enumerate(range(T0 - 900, T0 + 1, 15)):
        server.scrape(in_pod("lmcache-b2b2b", 8080), at, lmcache_mp(number, number))
    document = explained(server)
    assert set(document["replicas"]) == {A}
    assert "found_not_loaded_tokens" in document["fleet"]


def test_what_this_prometheus_can_not_tell_is_noted_at_the_replica_and_the_fleet() -> None:
    server = MemoryPrometheus()
    for at in range(T0 - 1800, T0 + 1, 120):
        server.scrape(in_pod("chat-0"), at, an_engine(at - T0 + 9000.0))
    document = explained(server)
    assert "sparse_scrapes" in codes(document["replicas"]["chat-0"])
    assert [note["replica"] for note in document["fleet"]["notes"] if note["code"] == "sparse_scrapes"] == ["chat-0"]


def test_where_nothing_is_found_the_jobs_that_are_there_are_told() -> None:
    server = MemoryPrometheus()
    server.scrape({"job": "node", "instance": "a:9100"}, T0, "node_load1 1\n")
    server.scrape({"job": "api", "instance": "b:80"}, T0, "http_requests_total 1\n")
    with pytest.raises(TierdeckError, match="no vLLM series: it scrapes the jobs api, node"):
        explained(server)


def test_where_matchers_leave_nothing_they_are_told_with_the_setting() -> None:
    server = MemoryPrometheus()
    scrape(server, A)
    with pytest.raises(TierdeckError, match='no vLLM series matching namespace="other": it scrapes the jobs') as told:
        explained(server, match='namespace="other"')
    assert "TIERDECK_PROMETHEUS_MATCH" in told.value.hint


def test_where_nothing_is_scraped_that_is_told() -> None:
    with pytest.raises(TierdeckError, match="it scrapes nothing at present"):
        explained(MemoryPrometheus())


def test_names_that_only_look_like_vllms_are_told() -> None:
    server = MemoryPrometheus()
    server.put({"__name__": "vllm:prompt_tokens:rate5m", "job": "chat"}, T0, 1.0)
    with pytest.raises(
        TierdeckError, match=r"has series named vllm:prompt_tokens:rate5m, and none that Tierdeck reads"
    ):
        explained(server)
