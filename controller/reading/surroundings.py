"""What stands around an engine: the routers that route to it, coordinators of its caches, its LMCache server."""

from __future__ import annotations

from controller.reading.configured import Server, own_server
from controller.reading.lineage import Found
from controller.reading.lmcache import uses_server
from controller.reading.processes import Process, Spec
from controller.reading.routers import routes_to
from controller.reading.scene import Scene
from tierdeck.deployed import Component


def router_workloads(scene: Scene) -> list[tuple[Found, Process]]:
    """Every workload that runs a router, with its process."""
    return scene.running(Component.ROUTER)


def routers_of(scene: Scene, engine: Found) -> tuple[Found, ...]:
    """Those that route to an engine, by their own arguments."""
    found = []
    for one, process in router_workloads(scene):
        if routes_to(process, one[0].namespace, engine, scene.lineage.pods(engine)):
            found.append(one)
    return tuple(found)


def coordinators_of(scene: Scene, engine: Process | None, namespace: str) -> tuple[Found, ...]:
    """LMCache coordinators in the namespace, for an engine that uses an LMCache server."""
    if engine is None or not uses_server(engine):
        return ()
    return tuple(one for one, _ in scene.running(Component.LMCACHE_COORDINATOR) if one[0].namespace == namespace)


def template_server(scene: Scene, spec: Spec, engine: Process) -> Server | None:
    """The LMCache server that a template's pods will use; of DaemonSets only if there is exactly one."""
    if not uses_server(engine):
        return None
    own, daemons = own_server(spec), scene.server_daemons()
    if own is not None or len(daemons) != 1:
        return own
    return Server(daemons[0][1], is_shared=True)
