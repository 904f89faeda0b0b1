"""A Prometheus's targets as a fleet: replicas, endpoints, what is beside them, and what is scraped twice."""

from __future__ import annotations

from collectors.config import inventory_of
from tests.support.prometheus_targets import (
    HASH,
    a_cache,
    a_router,
    an_engine,
    in_pod,
    observed,
    on_host,
    places,
)
from tierdeck.fleet import Role

A, B = f"chat-{HASH}-b2b2b", f"chat-{HASH}-c2c2c"
WORKER = "capacity 10\navailable 4\nfs_used 6\n"


def test_pods_are_replicas_of_the_endpoint_that_owns_them() -> None:
    fleet = observed((in_pod(A), an_engine()), (in_pod(B), an_engine()), (in_pod("code-0"), an_engine(model="big")))
    assert places(fleet) == {f"chat/{A}": ["vllm"], f"chat/{B}": ["vllm"], "code/code-0": ["vllm"]}
    assert [(one.name, one.model, one.backend) for one in fleet.endpoints] == [
        ("chat", "m", "prometheus"),
        ("code", "big", "prometheus"),
    ]
    assert fleet.guesses == (
        f"a replica is named by the pod ({A})",
        "an endpoint is named by the owner by the pod's name (chat)",
    )


def test_without_pods_hosts_are_replicas_of_the_job() -> None:
    fleet = observed((on_host("gpu1"), an_engine()), (on_host("gpu2"), an_engine()))
    assert places(fleet) == {"vllm/gpu1": ["vllm"], "vllm/gpu2": ["vllm"]}


def test_several_engines_of_one_host_are_told_apart_by_their_ports() -> None:
    fleet = observed((on_host("gpu1"), an_engine()), (on_host("gpu1", 8001), an_engine()))
    assert places(fleet) == {"vllm/gpu1:8000": ["vllm"], "vllm/gpu1:8001": ["vllm"]}


def test_equal_names_in_two_namespaces_get_the_namespace_behind_them() -> None:
    fleet = observed((in_pod("chat-0"), an_engine()), (in_pod("chat-0", namespace="test"), an_engine()))
    assert places(fleet) == {"chat.ns/chat-0": ["vllm"], "chat.test/chat-0": ["vllm"]}


def test_two_models_behind_one_job_are_two_endpoints_where_pods_tell_them() -> None:
    fleet = observed((in_pod("big-0"), an_engine(model="big")), (in_pod("small-0"), an_engine(model="small")))
    assert [(one.name, one.model) for one in fleet.endpoints] == [("big", "big"), ("small", "small")]


def test_two_models_behind_one_job_can_be_told_apart_by_a_rule() -> None:
    rule = {"source_labels": ["model_name"], "target_label": "endpoint"}
    rules = inventory_of({"prometheus": {"relabel": [rule]}}, "default", "deck.yaml").relabel
    fleet = observed((on_host("a"), an_engine(model="org/big")), (on_host("b"), an_engine(model="small")), rules=rules)
    assert places(fleet) == {"org-big/a": ["vllm"], "small/b": ["vllm"]}
    assert fleet.guesses == ("a replica is named by the instance",)


def test_a_rule_that_gives_roles_that_there_are_not_is_told_once() -> None:
    rule = {"source_labels": ["part"], "target_label": "role"}
    rules = inventory_of({"prometheus": {"relabel": [rule]}}, "default", "deck.yaml").relabel
    parts = ("decode", "first half", "first half", "second")
    targets = [(in_pod(f"chat-{number}", part=part), an_engine()) for number, part in enumerate(parts)]
    fleet = observed(*targets, rules=rules)
    assert [one.role for one in fleet.replicas] == [Role.CONSUMER, Role.BOTH, Role.BOTH, Role.BOTH]
    assert fleet.guesses[2:] == (
        "a rule gives the role first-half (and 1 more), which is none, so that kv_both is taken",
    )
    assert len(observed(targets[0], rules=rules).guesses) == 2


def test_an_lmcache_server_in_the_engines_pod_is_that_replicas() -> None:
    fleet = observed((in_pod(A), an_engine()), (in_pod(B), an_engine()), (in_pod(A, 8080), a_cache()))
    assert places(fleet) == {f"chat/{A}": ["lmcache-mp", "vllm"], f"chat/{B}": ["vllm"]}


def test_an_lmcache_server_in_a_pod_of_its_own_is_shared() -> None:
    fleet = observed((in_pod(A), an_engine()), (in_pod(B), an_engine()), (in_pod("lmcache-b2b2b", 8080), a_cache()))
    assert places(fleet) == {"chat/_fleet": ["lmcache-mp"], f"chat/{A}": ["vllm"], f"chat/{B}": ["vllm"]}


def test_a_router_belongs_to_the_endpoint_whose_name_its_own_begins_with() -> None:
    fleet = observed(
        (in_pod("chat-0"), an_engine()),
        (in_pod("chat-large-0"), an_engine()),
        (in_pod("code-0"), an_engine()),
        (in_pod(f"chat-large-router-{HASH}-b2b2b", 29000), a_router()),
    )
    assert places(fleet)["chat-large/_fleet"] == ["router"]
    assert not fleet.strays


def test_what_belongs_to_no_endpoint_is_told() -> None:
    fleet = observed(
        (in_pod("chat-0"), an_engine()), (in_pod("code-0"), an_engine()), (in_pod("proxy-0", 29000), a_router())
    )
    assert [one.startswith("router at job=ns/vllm instance=") for one in fleet.strays] == [True]
    assert set(places(fleet)) == {"chat/chat-0", "code/code-0"}


def test_a_pair_of_prometheus_shows_each_process_once_and_the_first_that_is_named_is_taken() -> None:
    pair = [(in_pod("chat-0", prometheus_replica=name), an_engine()) for name in ("a", "b")]
    assert places(observed(*pair)) == {"chat/chat-0": ["vllm"]}
    for targets, taken in ((pair, "a"), (pair[::-1], "b")):
        assert [one.labels["prometheus_replica"] for one in observed(*targets).where] == [taken]


def test_a_pair_is_one_even_where_nothing_but_the_pod_is_told() -> None:
    pair = [({"pod": "chat-0", "__replica__": name}, an_engine()) for name in ("a", "b")]
    assert places(observed(*pair)) == {"chat/chat-0": ["vllm"]}


def test_a_pod_that_two_jobs_scrape_is_one() -> None:
    fleet = observed((in_pod("chat-0", job="a"), an_engine()), (in_pod("chat-0", job="b"), an_engine()))
    assert places(fleet) == {"chat/chat-0": ["vllm"]}


def test_two_engines_of_one_pod_are_two_targets_of_one_replica() -> None:
    fleet = observed((in_pod("chat-0", 8000), an_engine()), (in_pod("chat-0", 8001), an_engine()))
    assert places(fleet) == {"chat/chat-0": ["vllm", "vllm.2"]}


def test_a_role_is_set_by_a_rule() -> None:
    rule = {"source_labels": ["app"], "regex": "(prefill|decode)", "target_label": "role"}
    rules = inventory_of({"prometheus": {"relabel": [rule]}}, "default", "deck.yaml").relabel
    fleet = observed(
        (in_pod("p-0", app="prefill"), an_engine()),
        (in_pod("d-0", app="decode"), an_engine()),
        (in_pod("x-0", app="web"), an_engine()),
        rules=rules,
    )
    assert {one.key.replica: one.role for one in fleet.replicas} == {
        "p-0": Role.PRODUCER, "d-0": Role.CONSUMER, "x-0": Role.BOTH
    }  # fmt: skip


def test_a_pool_is_its_namespaces_and_no_endpoints() -> None:
    fleet = observed(
        (in_pod("chat-0"), an_engine()), (in_pod("curvine-0", 9001), WORKER), (in_pod("curvine-1", 9001), WORKER)
    )
    assert [one.key.replica for one in fleet.pools] == ["curvine"]
    assert places(fleet)["_pool/curvine"] == ["curvine-worker", "curvine-worker.2"]


def test_a_cluster_label_keeps_equal_names_apart() -> None:
    fleet = observed((in_pod("chat-0", cluster="east"), an_engine()), (in_pod("chat-0", cluster="west"), an_engine()))
    assert [(one.cluster, one.name) for one in fleet.endpoints] == [("east", "chat"), ("west", "chat")]


def test_an_embedded_caches_own_port_is_its_engines_replica_in_the_pod() -> None:
    fleet = observed((in_pod("chat-0"), an_engine()), (in_pod("chat-0", 6999), "lmcache:num_lookup_tokens_total 5\n"))
    assert places(fleet) == {"chat/chat-0": ["lmcache", "vllm"]}


def test_an_embedded_caches_own_port_is_its_engines_on_the_same_host_too_and_else_stands_alone() -> None:
    page = "lmcache:num_lookup_tokens_total 5\n"
    cache, other = on_host("gpu1", 6999, job="lmcache"), on_host("gpu2", 6999, job="lmcache")
    fleet = observed((on_host("gpu1"), an_engine()), (cache, page), (other, page))
    assert places(fleet) == {"lmcache/gpu2": ["lmcache"], "vllm/gpu1": ["lmcache", "vllm"]}
