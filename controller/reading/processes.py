"""One container as the process that it starts: command, environment, files, and which component it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from controller.objects import Raw
from controller.reading.commands import Command, read_command
from controller.reading.configs import Configs
from controller.reading.environment import Environment, read_environment
from controller.reading.fields import items, text, whole
from controller.reading.images import is_curvine_image, is_engine_image, is_router_image
from tierdeck.deployed import Component

PROGRAMS = ("vllm", "lmcache", "curvine")
"""What a script may start that matters here."""
_ROUTERS = ("vllm-router", "vllm_router")
_LMCACHE_SERVERS = ("lmcache_server", "lmcache_experimental_server", "lmcache_v0_server")


@dataclass(frozen=True, slots=True)
class Process:
    """A container of a pod, or of a template.

    Attributes:
        volumes: of its pod.
        where: the object and the container, as sentences name them.
    """

    container: Raw
    volumes: list[Raw]
    command: Command
    environment: Environment
    configs: Configs
    where: str = ""
    component: Component = Component.OTHER

    @property
    def name(self) -> str:
        return text(self.container, "name")

    @property
    def image(self) -> str:
        return text(self.container, "image")

    def file(self, path: str) -> str | tuple[str]:
        """Text of a file that it is given; a 1-tuple is the reason why that is not known."""
        return self.configs.file(path, self.container, self.volumes)

    def port(self, name: str = "") -> int | None:
        """Its container port of that name; without a name the first."""
        for port in items(self.container, "ports"):
            number = whole(port, "containerPort") or 0
            if name in ("", text(port, "name")) and 0 < number < 65536:
                return number
        return None


@dataclass(frozen=True, slots=True)
class Spec:
    """A pod's spec, or its template's, with its processes in order; sidecars among the init containers come last.

    So a sidecar of the engine's image, which loads weights and the like, is not taken for the engine.
    """

    raw: Raw
    processes: tuple[Process, ...] = field(default=())

    def of(self, component: Component) -> Process | None:
        return next((one for one in self.processes if one.component is component), None)


def read_spec(raw: Raw, configs: Configs, where: str, given: Mapping[str, Component] | None = None) -> Spec:
    """The processes of a pod spec.

    Args:
        given: components of containers, by name, that something else tells.
    """
    volumes = items(raw, "volumes")
    sidecars = [one for one in items(raw, "initContainers") if text(one, "restartPolicy") == "Always"]
    found = []
    for container in (*items(raw, "containers"), *sidecars):
        name = text(container, "name")
        process = read_process(container, volumes, configs, f"{where}, container {name}")
        found.append(replace(process, component=(given or {}).get(name, process.component)))
    return Spec(raw, tuple(found))


def read_process(container: Raw, volumes: list[Raw], configs: Configs, where: str, env: str = "env") -> Process:
    """One container.

    Args:
        env: where it lists its variables.
    """
    environment = read_environment(container, env, configs, where)
    command, environment = read_command(container, environment, where, PROGRAMS)
    component = component_of(text(container, "name"), text(container, "image"), command)
    return Process(container, volumes, command, environment, configs, where, component)


def component_of(name: str, image: str, command: Command) -> Component:
    """By what it runs, else by its image.

    Sources: vLLM (`vllm serve`, `python -m vllm.entrypoints.openai.api_server`), LMCache (`lmcache server`,
    `lmcache coordinator`), production-stack helm chart (`router-container`, `lmcache-server`), Curvine's charts.
    """
    return _component_of(name, image, command.words)


@lru_cache(maxsize=4096)
def _component_of(name: str, image: str, words: tuple[str, ...]) -> Component:
    """The pods of a workload all start the same."""
    command = Command(words)
    first = words[0] if words else ""
    is_args = not first or first.startswith("-") or command.has("--model")  # the image's own entry point starts it
    found = (
        (Component.LMCACHE_COORDINATOR, command.runs("lmcache", "coordinator")),
        (Component.LMCACHE, is_server(command) or any(command.runs(server) for server in _LMCACHE_SERVERS)),
        (Component.ENGINE, command.runs("vllm", "serve") or command.mentions("vllm.entrypoints")),
        (Component.ROUTER, is_router_image(image) or any(command.runs(name) for name in _ROUTERS)),
        (Component.ROUTER, command.has("--routing-logic") or command.mentions("vllm_router")),
        (_curvine(name, command), is_curvine_image(image) or command.runs("curvine-fuse")),
        (Component.ENGINE, is_engine_image(image) and is_args),
    )
    return next((component for component, is_it in found if is_it), Component.OTHER)


def is_server(command: Command) -> bool:
    """LMCache's multi-process server, by its command or its module."""
    return command.runs("lmcache", "server") or command.mentions("lmcache.v1.multiprocess")


def _curvine(name: str, command: Command) -> Component:
    if command.runs("curvine-fuse") or name == "curvine-fuse":
        return Component.CURVINE_FUSE
    if name == "csi-plugin" or command.runs("curvine-csi"):
        return Component.CURVINE_CSI
    if "master" in command.words or name == "master":
        return Component.CURVINE_MASTER
    if "worker" in command.words or name == "worker":
        return Component.CURVINE_WORKER
    return Component.OTHER


def port_of(word: str) -> int | None:
    """A port as an argument states it."""
    return int(word) if word.isascii() and word.isdigit() and 0 < int(word) < 65536 else None
