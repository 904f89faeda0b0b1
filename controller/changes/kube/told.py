"""What running routers and engines tell of themselves: a router's `/health`, an engine's `vllm:cache_config_info`.

Sources: production-stack, routers/main_router.py (`/health` has `dynamic_config` once that was applied); vLLM,
`vllm:cache_config_info` (its labels are the cache's configuration, its value is always 1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from controller.changes.kube.fetching import Fetch
from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.fields import mapping, text
from controller.reading.lineage import Found
from controller.reading.processes import Process, port_of, read_spec
from controller.reading.targets import engine_target, url
from tierdeck.changes.plan import Carried, Carrying
from tierdeck.deployed import Component
from tierdeck.fleet import ReplicaKey

_FLAGS = ("--gpu-memory-utilization", "--kv-cache-memory-bytes", "--num-gpu-blocks-override", "--block-size")
_INFO = re.compile(r"^vllm:cache_config_info\{([^}]*)\}", re.M)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ROUTER_PORT = 8001


@dataclass(frozen=True, slots=True)
class Told:
    """What was read.

    Attributes:
        wrong: a sentence where it contradicts the change; empty: it does not.
        words: what it says, or why it was not read; empty: there was nothing to ask.
    """

    wrong: str = ""
    words: str = ""


def of_routers(strategy: str, pods: Sequence[Found], objects: Objects, fetch: Fetch) -> Told:
    """The strategy that routers have applied from the file that they watch.

    Args:
        pods: that run; those without a router are passed over.
    """
    asked = [(pod[0], process, text(pod[1], "status", "podIP")) for pod in pods
             if (process := _process(pod, objects, Component.ROUTER)) is not None]  # fmt: skip
    unread = 0
    for ref, process, address in asked:
        port = port_of(process.command.value("--port")) or process.port() or _ROUTER_PORT
        applied = _applied(fetch(url(address, port, "/health")) if address else None)
        if applied is None:
            unread += 1
        elif applied != strategy:
            return Told(f"{ref} still routes by {applied}: its /health does not say {strategy} yet")
    if not asked:
        return Told()
    if unread:
        return Told(words=f"/health of {unread} of {len(asked)} routers was not read, or names no strategy")
    return Told(words=f"/health of each router says {strategy}")


def of_engines(carries: Sequence[Carried], pods: Sequence[Found], objects: Objects, fetch: Fetch) -> Told:
    """L0 as each engine says it.

    Args:
        carries: of the workload whose pods these are.
        pods: that run.
    """
    wanted = [one for one in carries if one.kind is Carrying.ARGUMENT and one.name in _FLAGS and one.value]
    if not wanted or not pods:
        return Told()
    unread = 0
    for pod in pods:
        engine = _process(pod, objects, Component.ENGINE)
        target = engine_target(ReplicaKey("-", "-", pod[0].name), pod[1], engine) if engine is not None else None
        labels = _labels(fetch(target.url) if target is not None and text(pod[1], "status", "podIP") else None)
        if labels is None:
            unread += 1
            continue
        for one in wanted:
            said = labels.get(one.name.removeprefix("--").replace("-", "_"), "")
            if said and said != "None" and not _equal(said, one.value or ""):
                return Told(f"the engine of {pod[0]} says {one.name} {said}, not {one.value}")
    if unread:
        return Told(words=f"vllm:cache_config_info of {unread} of {len(pods)} engines was not read")
    return Told(words="vllm:cache_config_info of each engine agrees")


def _process(pod: Found, objects: Objects, component: Component) -> Process | None:
    ref, raw = pod
    return read_spec(mapping(raw, "spec"), Configs(objects, ref.namespace), str(ref)).of(component)


def _applied(page: bytes | None) -> str | None:
    """None: it was not read, or says nothing of it."""
    try:
        document = json.loads(page or b"")
    except ValueError:
        return None
    return text(document, "dynamic_config", "routing_logic") or None


def _labels(page: bytes | None) -> dict[str, str] | None:
    """The newest series' labels; None: it was not read, or has none."""
    found = _INFO.findall((page or b"").decode("utf-8", errors="replace"))
    return dict(_LABEL.findall(found[-1])) if found else None


def _equal(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other
