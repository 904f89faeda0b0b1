"""One moment of a cluster as the backends look at it: objects, what belongs to what, pools, servers per node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.fields import mapping, text
from controller.reading.lineage import Found, Lineage, template_spec
from controller.reading.pods import has_address
from controller.reading.pools import Pool, pools_of
from controller.reading.processes import Process, Spec, is_server, read_spec
from controller.reading.storage import Storage
from controller.resources import DAEMON_SETS, DEPLOYMENTS, STATEFUL_SETS
from tierdeck.deployed import Component, ObjectRef

OnNode = tuple[Found, Process]
"""An LMCache server's pod, and its process."""


class Scene:
    """What one call of a backend's `find` looks at."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.lineage = Lineage(objects)
        self._templates: dict[ObjectRef, Spec] = {}
        self._pools: tuple[Pool, ...] | None = None
        self._servers: Mapping[str, list[OnNode]] | None = None
        self._running: dict[Component, list[tuple[Found, Process]]] | None = None

    def running(self, component: Component) -> list[tuple[Found, Process]]:
        """Deployments and StatefulSets whose template runs a component, with its first process."""
        if self._running is None:
            self._running = defaultdict(list)
            for one in self.lineage.workloads(DEPLOYMENTS, STATEFUL_SETS):
                first = {process.component: process for process in reversed(self.template(one).processes)}
                for kind, process in first.items():
                    self._running[kind].append((one, process))
        return self._running.get(component, [])

    @property
    def pools(self) -> tuple[Pool, ...]:
        if self._pools is None:
            self._pools = pools_of(self.objects, self.lineage)
        return self._pools

    def storage(self, namespace: str) -> Storage:
        return Storage(self.objects, namespace, self.pools)

    def configs(self, namespace: str) -> Configs:
        return Configs(self.objects, namespace)

    def template(self, workload: Found, given: Mapping[str, Component] | None = None) -> Spec:
        """Processes of a workload's template."""
        ref, raw = workload
        if given:
            return read_spec(template_spec(raw), self.configs(ref.namespace), str(ref), given)
        if ref not in self._templates:
            self._templates[ref] = read_spec(template_spec(raw), self.configs(ref.namespace), str(ref))
        return self._templates[ref]

    def pod(self, pod: Found, given: Mapping[str, Component] | None = None) -> Spec:
        """Processes of a pod, as it was admitted."""
        ref, raw = pod
        return read_spec(mapping(raw, "spec"), self.configs(ref.namespace), str(ref), given)

    def servers_on(self, node: str) -> list[OnNode]:
        """LMCache's multi-process servers that DaemonSets run on a node."""
        if self._servers is None:
            self._servers = self._find_servers()
        return self._servers.get(node, []) if node else []

    def server_daemons(self) -> list[tuple[Found, Process]]:
        """DaemonSets that run one, with its process."""
        return [
            (one, process)
            for one in self.lineage.workloads(DAEMON_SETS)
            for process in self.template(one).processes
            if is_server(process.command)
        ]

    def _find_servers(self) -> Mapping[str, list[OnNode]]:
        found: dict[str, list[OnNode]] = defaultdict(list)
        for daemon, _ in self.server_daemons():
            for pod in self.lineage.pods(daemon):
                node = text(pod[1], "spec", "nodeName")
                servers = [process for process in self.pod(pod).processes if is_server(process.command)]
                if node and servers and has_address(pod[1]):
                    found[node].append((pod, servers[0]))
        return found
