"""Engine pods as replicas: targets, versions, role, and what their own spec carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controller.reading.configured import Server, Sizes, own_server, sizes_of
from controller.reading.fields import text
from controller.reading.images import versions_of
from controller.reading.lineage import Found
from controller.reading.lmcache import uses_server
from controller.reading.parts import Parts
from controller.reading.pods import has_address, is_running
from controller.reading.processes import Process, Spec
from controller.reading.scene import OnNode, Scene
from controller.reading.targets import embedded_problem, embedded_targets, engine_target, hidden_problem, server_target
from tierdeck.deployed import Component, ObjectRef
from tierdeck.fleet import Replica, ReplicaKey, Role

_WATCHED = ("LMCACHE_", "VLLM_", "PYTHONHASHSEED", "PROMETHEUS_MULTIPROC_DIR")


@dataclass(frozen=True, slots=True)
class Member:
    """One pod of an engine workload.

    Attributes:
        engine: None where no container of it is one.
        shared: LMCache servers of its node that it uses.
    """

    pod: Found
    workload: ObjectRef | None
    spec: Spec
    engine: Process | None
    shared: tuple[OnNode, ...] = ()

    @property
    def server(self) -> Server | None:
        """The LMCache server that it uses."""
        if self.shared:
            return Server(self.shared[0][1], is_shared=True)
        return own_server(self.spec)


def members_of(scene: Scene, parts: Parts) -> list[Member]:
    """All engine pods, in the order of workloads and names."""
    pods = [(pod, one[0]) for one in parts.engines for pod in scene.lineage.pods(one)]
    known = {pod[0] for pod, _ in pods}
    loose = [(pod, None) for pod in parts.loose if pod[0] not in known]
    return [_member(scene, parts, pod, workload) for pod, workload in (*pods, *loose)]


def _member(scene: Scene, parts: Parts, pod: Found, workload: ObjectRef | None) -> Member:
    spec = scene.pod(pod, parts.given)
    engine = spec.of(Component.ENGINE)
    is_own = own_server(spec) is not None
    looks = engine is not None and not is_own and uses_server(engine)
    shared = scene.servers_on(text(pod[1], "spec", "nodeName")) if looks else []
    return Member(pod, workload, spec, engine, tuple(shared))


def replicas_of(members: Sequence[Member], cluster: str, parts: Parts) -> list[Replica]:
    """Those pods that can be scraped."""
    found = []
    for member in members:
        if member.engine is None or not has_address(member.pod[1]):
            continue
        key = ReplicaKey(cluster, parts.name, member.pod[0].name)
        first = engine_target(key, member.pod[1], member.engine, parts.engine_port)
        targets = [first] if first else []
        targets += embedded_targets(key, member.pod[1], member.engine)
        server = own_server(member.spec)
        if server is not None:
            targets.append(server_target(key, member.pod[1], server.process))
        if targets:
            found.append(Replica(key, tuple(targets), _role(member, parts), _versions(member)))
    return found


def _role(member: Member, parts: Parts) -> Role:
    if member.workload is not None and member.workload in parts.roles:
        return parts.roles[member.workload]
    told = member.engine.command.document("--kv-transfer-config").get("kv_role") if member.engine else None
    return next((role for role in Role if role.value == told), Role.BOTH)


def _versions(member: Member) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for process in member.spec.processes:
        if process.component in (Component.ENGINE, Component.LMCACHE):
            found |= versions_of(process.image)
    found.pop("router", None)
    return tuple(sorted(found.items()))


def effective_sizes(scene: Scene, members: Sequence[Member], parts: Parts) -> list[Sizes]:
    """What each running pod carries."""
    return [
        sizes_of(
            member.engine,
            scene.storage(member.pod[0].namespace),
            member.server,
            needs_connector=parts.needs_connector,
        )
        for member in members
        if member.engine is not None and is_running(member.pod[1])
    ]


def member_problems(members: Sequence[Member], parts: Parts) -> Iterator[str]:
    """What is wrong in the running pods' own specs, each once."""
    running = [one for one in members if is_running(one.pod[1])]
    engines = [one.engine for one in running if one.engine is not None]
    twice = Counter(name for one in engines for name in one.environment.duplicates if name.startswith(_WATCHED))
    for name, count in sorted(twice.items()):
        yield f"{parts.source[0]}: {name} is set more than once in {_pods(count)}; the last one wins."
    for told in (embedded_problem, hidden_problem):
        for sentence, count in sorted(Counter(told(one) for one in engines).items()):
            if sentence:
                yield f"{parts.source[0]}: {sentence} ({_pods(count)})"
    lost = [one for one in running if one.engine is None]
    if lost:
        yield f"{parts.source[0]}: no container of {lost[0].pod[0]} is known as vLLM, so it has no target."
    unserved = [one for one in running if one.engine and uses_server(one.engine) and one.server is None]
    if unserved:
        where = unserved[0].pod[0]
        yield f"{parts.source[0]}: {where} uses an LMCache server that is neither in the pod nor on its node."


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"
