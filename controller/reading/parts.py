"""What an endpoint is made of, as a backend found it, before pods are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.reading.lineage import Found
from controller.reading.owners import Path
from tierdeck.deployed import Component, Configuration, ObjectRef, Stated
from tierdeck.fleet import Role


@dataclass(frozen=True, slots=True)
class Parts:
    """One endpoint's objects.

    Attributes:
        source: what an operator edits.
        engines, routers, companions: workloads; companions are caches and the like that it uses.
        loose: pods of engines that no workload owns.
        roles: of engines, where something tells them beside their arguments.
        fields: where the source keeps strategy and sizes, to tell who wrote them.
        given: components of containers by name, where neither image nor command has to tell.
        engine_port, router_port: where the source states them.
        needs_connector: LMCache's settings count only with an argument that names a KV connector.
        no_router: why it has none, where the source says so.
    """

    backend: str
    source: Found
    configured: Configuration
    engines: tuple[Found, ...] = ()
    routers: tuple[Found, ...] = ()
    companions: tuple[Found, ...] = ()
    loose: tuple[Found, ...] = ()
    roles: Mapping[ObjectRef, Role] = field(default_factory=dict)
    fields: tuple[Path, ...] = ()
    model: str = ""
    wanted: int | None = None
    given: Mapping[str, Component] = field(default_factory=dict)
    engine_port: int | None = None
    router_port: int | None = None
    needs_connector: bool = True
    no_router: Stated | None = None
    problems: tuple[str, ...] = ()

    @property
    def workloads(self) -> tuple[Found, ...]:
        """Each once."""
        return tuple({one[0]: one for one in (*self.engines, *self.routers, *self.companions)}.values())

    @property
    def name(self) -> str:
        """The endpoint's: `namespace/name` of its source."""
        return f"{self.source[0].namespace}/{self.source[0].name}"
