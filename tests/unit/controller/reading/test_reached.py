"""Where clients reach the router of an endpoint, and in which header it looks for a session."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from controller.reading.reached import Reached, router_of
from tests.support.plain_looks import Documents, changed, container, look_at, pick

PROXY = "http://127.0.0.1:8001"
GATE = "Pod llm/gate-1-z, container router"


def reached(found: Documents, proxy: str = "") -> Reached:
    look = look_at(found)
    return router_of(look.scene, look.deployed, proxy)


def gate(*more: str) -> Documents:
    """vllm-router, with more arguments."""

    def change(found: Documents) -> None:
        container(found, "gate")["command"] += more

    return changed("deployment", change)


def stack(*args: str, **more: Any) -> Documents:
    """production-stack's router in its place."""

    def change(found: Documents) -> None:
        router = container(found, "gate")
        router.clear()
        router |= {"name": "router", "image": "lmcache/lmstack-router:v0.1.7"}
        router |= {"args": ["--k8s-label-selector", "app=mistral", *args], **more}

    return changed("deployment", change)


def hyperpod(change: Callable[[Documents], None] | None = None) -> Reached:
    return reached(changed("hyperpod", change))


def test_vllm_router_is_on_30000_and_not_on_its_prometheus_port() -> None:
    assert reached(gate("--host", "0.0.0.0")) == Reached("http://10.4.0.9:30000")
    assert reached(gate("--host", "0.0.0.0", "--port", "8090")) == Reached("http://10.4.0.9:8090")


@pytest.mark.parametrize(
    ("more", "host"),
    [((), "127.0.0.1"), (("--host", "localhost"), "localhost"), (("--host", "::1"), "::1")],
)
def test_a_router_on_loopback_is_not_reached(more: tuple[str, ...], host: str) -> None:
    assert reached(gate(*more)) == Reached("", reason=f"{GATE} listens on {host} only (--host 0.0.0.0 opens it)")


def test_production_stack_s_router_listens_on_everything_at_8001() -> None:
    assert reached(stack("--routing-logic", "roundrobin")) == Reached("http://10.4.0.9:8001")
    found = stack("--routing-logic", "roundrobin", ports=[{"containerPort": 8008}])
    assert reached(found) == Reached("http://10.4.0.9:8008")
    assert reached(stack("--port", "80", ports=[{"containerPort": 8008}])) == Reached("http://10.4.0.9:80")


def test_production_stack_s_command_is_called_vllm_router_too() -> None:
    found = stack("--routing-logic", "roundrobin", command=["vllm-router"])
    assert reached(found) == Reached("http://10.4.0.9:8001")


def test_a_port_that_is_none_is_not_guessed() -> None:
    found = stack("--port", "http")
    assert reached(found) == Reached("", reason=f"The port of {GATE} is not known: --port http is no port")


def test_a_port_that_comes_from_elsewhere_is_not_guessed() -> None:
    source = {"configMapKeyRef": {"name": "ports", "key": "router"}}
    found = reached(stack("--port", "$(PORT)", env=[{"name": "PORT", "valueFrom": source}]))
    reason = f"The port of {GATE} is not known: --port is $(PORT), whose value is not known"
    assert found == Reached("", reason=reason)


def test_the_session_s_header_is_an_argument_or_a_variable() -> None:
    variable = [{"name": "SESSION_KEY", "value": "x-team"}]
    assert reached(stack(env=variable)).session_header == "x-team"
    assert reached(stack("--session-key", "x-user", env=variable)).session_header == "x-user"


def test_the_watched_file_tells_the_session_s_header() -> None:
    assert reached(changed("production-stack-helm")) == Reached("http://10.2.0.9:8000", "x-user")


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ('{"routing_logic": "roundrobin"}', ""),  # it replaces what the arguments said
        ('{"session_key": "x-file"}', "x-arg"),  # without a strategy the router ignores the file
        ("not JSON", "x-arg"),
    ],
)
def test_a_watched_file_counts_where_it_names_a_strategy(content: str, header: str) -> None:
    def change(found: Documents) -> None:
        container(found, "stack-deployment-router")["args"] += ["--session-key", "x-arg"]
        (file,) = [one for one in found if one["kind"] == "ConfigMap"]
        file["data"]["dynamic.json"] = content

    assert reached(changed("production-stack-helm", change)).session_header == header


def test_hyperpod_s_router_is_on_8081() -> None:
    assert hyperpod() == Reached("http://10.0.0.20:8081")


@pytest.mark.parametrize(("second", "header"), [("x-person", "x-person"), ("x-team", "")])
def test_hyperpod_s_session_key_stands_at_the_engines_where_they_agree(second: str, header: str) -> None:
    def change(found: Documents) -> None:
        pods = [one for one in found if one["kind"] == "Pod" and one["metadata"]["namespace"] == "inference"]
        for pod, key in zip(pods, ("x-person", second), strict=True):
            pod["spec"] = copy.deepcopy(pod["spec"])
            for each in pod["spec"]["containers"]:
                each["env"] = [*each.get("env", []), {"name": "SESSION_KEY", "value": key}]

    assert hyperpod(change) == Reached("http://10.0.0.20:8081", header)


def test_without_a_pod_that_runs_nothing_is_reached() -> None:
    none = Reached("", reason="No router of serving/coder runs")
    assert reached(changed("production-stack")) == none


@pytest.mark.parametrize(
    "more", [{"status": {"phase": "Pending"}}, {"status": {"podIP": ""}}, {"metadata": {"deletionTimestamp": "now"}}]
)
def test_a_pod_that_waits_goes_or_has_no_address_is_not_reached(more: dict[str, dict[str, str]]) -> None:
    def change(found: Documents) -> None:
        container(found, "gate")["command"] += ["--host", "0.0.0.0"]
        for part, fields in more.items():
            pick(found, "Pod", "gate-1-z")[part] |= fields

    assert reached(changed("deployment", change)) == Reached("", reason="No router of llm/mistral runs")


def test_a_pod_that_is_ready_goes_before_a_newer_one() -> None:
    def two(found: Documents) -> None:
        container(found, "gate")["command"] += ["--host", "0.0.0.0"]
        first = pick(found, "Pod", "gate-1-z")
        second = copy.deepcopy(first)
        second["metadata"] |= {"name": "gate-1-y", "uid": "p-4", "creationTimestamp": "2026-05-02T00:00:00Z"}
        second["status"]["podIP"] = "10.4.0.10"
        first["metadata"]["creationTimestamp"] = "2026-05-01T00:00:00Z"
        found.append(second)

    def ready(found: Documents) -> None:
        two(found)
        pick(found, "Pod", "gate-1-z")["status"]["conditions"] = [{"type": "Ready", "status": "True"}]

    assert reached(changed("deployment", two)).url == "http://10.4.0.10:30000"
    assert reached(changed("deployment", ready)).url == "http://10.4.0.9:30000"


def test_the_pod_proxy_passes_requests_on() -> None:
    place = "api/v1/namespaces/llm/pods/gate-1-z:30000/proxy"
    assert reached(gate("--host", "0.0.0.0"), PROXY) == Reached(f"{PROXY}/{place}")
