"""How clients reach the router of an endpoint, and where it looks for a session, as its running pod is told.

Sources: vllm-router 0.1.17 (router_args.py: `--host` 127.0.0.1, `--port` 30000, beside `--prometheus-port`);
production-stack's router (parsers/parser.py: `--host` 0.0.0.0, `--port` 8001, `--session-key`; dynamic_config.py: of a
watched file, `session_key` comes with `routing_logic`); HyperPod's router (8081; SESSION_KEY of the endpoint).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from controller.pod_proxy import proxied
from controller.reading.fields import text
from controller.reading.pods import has_address, is_running
from controller.reading.processes import Process, port_of
from controller.reading.routers import FILES
from controller.reading.scene import Scene
from controller.reading.targets import LOOPBACK, is_vllm_router, url
from controller.resources import PODS
from tierdeck.deployed import Component, Deployed, ObjectRef, PodRun, Stated

_VLLM_ROUTER_PORT, _STACK_PORT, _HYPERPOD_PORT = 30000, 8001, 8081
_SESSION_KEY = "SESSION_KEY"


@dataclass(frozen=True, slots=True)
class Reached:
    """A router.

    Attributes:
        url: before `/v1/completions`; empty exactly when `reason` says why.
        session_header: empty: nothing tells it.
    """

    url: str
    session_header: str = ""
    reason: str = ""


def router_of(scene: Scene, deployed: Deployed, pod_proxy: str = "") -> Reached:
    """By the address of the newest of its router's pods that are ready; else of those that run.

    No Service is asked: Services are not watched, and of several routers one has to be proved, not one by chance.

    Args:
        pod_proxy: the address of a `kubectl proxy`, which passes requests on (it takes `create` on `pods/proxy`);
            empty: pods are reached themselves.
    """
    found = sorted(_running(scene, deployed, Component.ROUTER), key=lambda one: (one[0].is_ready, one[0].created_at))
    if not found:
        return Reached("", reason=f"No router of {deployed.endpoint} runs")
    pod, router = found[-1]
    session = _session_header(scene, deployed, router)
    port, host = _port(deployed, router), _host(router)
    if isinstance(port, str):
        return Reached("", session, port)
    if host in LOOPBACK:
        return Reached("", session, f"{router.where} listens on {host} only (--host 0.0.0.0 opens it)")
    address = url(pod.address, port, path="")
    return Reached(proxied(pod_proxy, {pod.address: (pod.namespace, pod.name)}, address), session)


def _running(scene: Scene, deployed: Deployed, component: Component) -> Iterator[tuple[PodRun, Process]]:
    """Pods that run a component, with its process."""
    for pod in deployed.pods:
        given = {one.name: one.component for one in pod.containers}
        raw = scene.objects.get(PODS, pod.namespace, pod.name) if component in given.values() else None
        if raw is None or not is_running(raw) or not has_address(raw):
            continue
        process = scene.pod((ObjectRef(PODS.kind, pod.namespace, pod.name), raw), given).of(component)
        if process is not None:
            yield pod, process


def _port(deployed: Deployed, router: Process) -> int | str:
    """Where it listens; a text is the reason why that is not known."""
    stated = router.command.get("--port")
    told = port_of(stated.value) if stated is not None else None
    if told is not None:
        return told
    reason = router.command.problem or (stated.reason or f"--port {stated.value} is no port" if stated else "")
    if reason:
        return f"The port of {router.where} is not known: {reason}"
    if is_vllm_router(router):
        return _VLLM_ROUTER_PORT
    return router.port() or (_HYPERPOD_PORT if deployed.backend.startswith("hyperpod") else _STACK_PORT)


def _host(router: Process) -> str:
    """What it listens on; empty: everything, or what can't be told."""
    stated = router.command.get("--host")
    if stated is None:
        return LOOPBACK[0] if is_vllm_router(router) and not router.command.problem else ""
    return stated.value


def _session_header(scene: Scene, deployed: Deployed, router: Process) -> str:
    """Of a file that it watches, its arguments, or SESSION_KEY; that of HyperPod stands at the engines as well."""
    file = router.command.get(*FILES)
    if file is not None and file.value:
        document = _document(router, file)
        if text(document, "routing_logic"):
            return text(document, "session_key")
    told = router.command.value("--session-key") or router.environment.value(_SESSION_KEY)
    if told or not deployed.backend.startswith("hyperpod"):
        return told
    engines = {one.environment.value(_SESSION_KEY) for _, one in _running(scene, deployed, Component.ENGINE)}
    return engines.pop() if len(engines) == 1 else ""


def _document(router: Process, file: Stated) -> object:
    content = router.file(file.value)
    if isinstance(content, tuple):
        return None
    try:
        return json.loads(content) if file.value.endswith(".json") else yaml.safe_load(content)
    except (ValueError, yaml.YAMLError, RecursionError):
        return None
