"""Routers: the strategy that one is told, and which engines it routes to.

Sources: production-stack, parsers/parser.py (`--routing-logic`, `--k8s-label-selector`, `--static-backends`)
and dynamic_config.py (`routing_logic` of the watched file wins within 10 s); vllm-router 0.1.17 (`--policy`,
`cache_aware` by default; `--worker-urls`; `--selector`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import urlsplit

import yaml

from controller.reading.fields import text
from controller.reading.lineage import Found, parse_selector, selects, template_labels
from controller.reading.processes import Process
from controller.reading.targets import is_vllm_router
from tierdeck.deployed import Stated

FILES = ("--dynamic-config-json", "--dynamic-config-yaml")
_SELECTORS = ("--k8s-label-selector", "--selector")
_NAMESPACES = ("--k8s-namespace", "--service-discovery-namespace")


def strategy_of(router: Process) -> Stated:
    """What a router is told; spelled as it spells it."""
    command = router.command
    if command.problem:
        return Stated.unknown(command.problem, router.where)
    file = command.get(*FILES)
    if file is not None:
        watched = _watched(router, file)
        if watched is not None:
            return watched
    stated = command.get("--routing-logic", "--policy", "--routing-strategy")
    if stated is not None:
        return stated
    for name in ("ROUTING_LOGIC", "ROUTING_STRATEGY"):
        found = router.environment.get(name)
        if found is not None:
            return found
    if is_vllm_router(router):
        return Stated("cache_aware", f"{router.where}: vllm-router's default")
    return Stated.unknown("the router's arguments and environment name no strategy", router.where)


def _watched(router: Process, file: Stated) -> Stated | None:
    """The strategy in a file that the router watches; None where the file states none."""
    if file.reason:
        return Stated.unknown(file.reason, file.where)
    content = router.file(file.value)
    if isinstance(content, tuple):
        return Stated.unknown(f"the file that the router watches decides, and {content[0]}", file.where)
    try:
        document = json.loads(content) if file.value.endswith(".json") else yaml.safe_load(content)
    except (ValueError, yaml.YAMLError, RecursionError):
        return Stated.unknown(f"{file.value} can't be read, so the router ignores it or fails", file.where)
    found = text(document, "routing_logic")
    return Stated(found, f"{file.where}, {file.value} routing_logic") if found else None


def routes_to(router: Process, namespace: str, engine: Found, pods: Iterable[Found]) -> bool:
    """Its label selector picks the engine's pods, or its list of addresses names one of them.

    Args:
        namespace: the router's.
        engine: a workload.
        pods: of it.
    """
    command, (ref, raw) = router.command, engine
    inside = command.value(*_NAMESPACES) or namespace
    selector = command.value(*_SELECTORS)
    if selector and inside == ref.namespace and selects(parse_selector(selector), template_labels(raw)):
        return True
    hosts = {_host(address) for address in _addresses(router)} - {""}
    if not hosts:
        return False
    pods = list(pods)
    names = {ref.name, *(pod.name for pod, _ in pods)}
    addresses = {text(one, "status", "podIP") for _, one in pods} - {""}
    return any(host in addresses or _is_name_of(host, names, ref.namespace, namespace) for host in hosts)


def _addresses(router: Process) -> list[str]:
    listed = [one for stated in router.command.all("--static-backends") for one in stated.value.split(",")]
    return [*listed, *router.command.many("--worker-urls")]


def _host(address: str) -> str:
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""


def _is_name_of(host: str, names: set[str], namespace: str, own: str) -> bool:
    """A host name of the cluster that begins with the name of the workload or of a pod, in the right namespace."""
    first, _, rest = host.partition(".")
    if first not in names:
        return False
    parts = rest.split(".") if rest else []
    inside = next((parts[at] for at in range(min(2, len(parts))) if parts[at + 1 : at + 2] in (["svc"], [])), own)
    return inside == namespace
