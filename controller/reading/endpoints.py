"""An endpoint put together from its parts: what is deployed, and what collectors are to scrape."""

from __future__ import annotations

from collections.abc import Sequence

from controller.backend import Found as Result
from controller.reading.configured import agreed, agreed_strategy
from controller.reading.fields import items, mapping, text
from controller.reading.images import versions_of
from controller.reading.l2_wanted import l2_problems, with_l2
from controller.reading.lineage import Found
from controller.reading.owners import changed_by, owners_of
from controller.reading.parts import Parts
from controller.reading.pods import has_address, is_running, read_pod
from controller.reading.processes import Process
from controller.reading.replicas import Member, effective_sizes, member_problems, members_of, replicas_of
from controller.reading.routers import strategy_of
from controller.reading.scene import Scene
from controller.reading.storage import cosmetic
from controller.reading.targets import coordinator_target, router_target, server_target
from controller.reading.workloads import read_workload, wanted_of
from controller.resources import PODS
from tierdeck.deployed import Claim, Component, Deployed, PodRun, Stated, Workload
from tierdeck.fleet import FLEET, Endpoint, Replica, ReplicaKey, Target


def assemble(scene: Scene, parts: Parts) -> Result:
    """The endpoint as the store and the collectors take it."""
    cluster, parts = scene.objects.cluster, with_l2(scene, parts)
    members = members_of(scene, parts)
    others = [
        (pod, one, scene.pod(pod, parts.given))
        for one in (*parts.routers, *parts.companions)
        for pod in _pods(scene, one)
    ]
    routers = [process for pod, _, spec in others if is_running(pod[1])
               for process in spec.processes if process.component is Component.ROUTER]  # fmt: skip
    workloads = tuple(_workload(scene, one, parts) for one in parts.workloads)
    claims = _claims(scene, members)
    deployed = Deployed(
        cluster,
        parts.name,
        parts.source[0].name,
        parts.backend,
        parts.source[0],
        text(parts.source[1], "metadata", "uid"),
        parts.configured,
        agreed(effective_sizes(scene, members, parts)).with_strategy(_in_effect(routers, parts)),
        parts.model,
        parts.wanted if parts.wanted is not None else _wanted(workloads, parts),
        owners_of(scene.objects, _written(parts), parts.fields),
        workloads,
        tuple(_runs(scene, members, parts)),
        claims,
        changed_by(parts.source[1], parts.fields),
        tuple(dict.fromkeys((*parts.problems, *_problems(scene, members, parts, claims)))),
    )
    replicas = replicas_of(members, cluster, parts)
    shared = _shared(scene, members, parts)
    if shared is not None:
        replicas.append(shared)
    strategy = parts.configured.strategy.value or deployed.effective.strategy.value
    observed = Endpoint(cluster, parts.name, tuple(replicas), parts.backend, parts.model, strategy)
    return Result(deployed, observed, tuple(sorted(one[0] for one in parts.workloads)))


def _pods(scene: Scene, workload: Found) -> list[Found]:
    return scene.lineage.pods(workload)


def _workload(scene: Scene, one: Found, parts: Parts) -> Workload:
    return read_workload(one, scene.template(one, parts.given), scene.lineage)


def _wanted(workloads: Sequence[Workload], parts: Parts) -> int | None:
    engines = {one[0] for one in parts.engines}
    return wanted_of(one for one in workloads if one.ref in engines)


def _written(parts: Parts) -> list[Found]:
    """The source, then its workloads; companions are others' too."""
    found = {one[0]: one for one in (parts.source, *parts.engines, *parts.routers)}
    return list(found.values())


def _in_effect(routers: Sequence[Process], parts: Parts) -> Stated:
    if parts.no_router is not None and not routers:
        return parts.no_router
    if not parts.routers:
        return Stated.unknown("no router is found that routes to it")
    return agreed_strategy([strategy_of(one) for one in routers])


def _runs(scene: Scene, members: Sequence[Member], parts: Parts) -> list[PodRun]:
    known = {one[0]: one for one in parts.engines}
    found = []
    for member in members:
        workload = known.get(member.workload) if member.workload else None
        revisions = scene.lineage.revisions(workload) if workload else []
        found.append(read_pod(member.pod, member.spec, member.workload, revisions))
    for one in (*parts.routers, *parts.companions):
        revisions = scene.lineage.revisions(one)
        found += [read_pod(pod, scene.pod(pod, parts.given), one[0], revisions) for pod in _pods(scene, one)]
    return found


def _claims(scene: Scene, members: Sequence[Member]) -> tuple[Claim, ...]:
    found = {
        (claim.namespace, claim.name): claim
        for member in members
        for claim in scene.storage(member.pod[0].namespace).claims(items(mapping(member.pod[1], "spec"), "volumes"))
    }
    return tuple(found[key] for key in sorted(found))


def _problems(scene: Scene, members: Sequence[Member], parts: Parts, claims: Sequence[Claim]) -> list[str]:
    found = list(member_problems(members, parts))
    found += [sentence for claim in claims if (sentence := cosmetic(claim))]
    found += l2_problems(scene, members, parts)
    if not scene.objects.sees(PODS):
        found.append(f"{parts.source[0]}: pods can't be read ({scene.objects.blind[PODS]}), so it has no targets.")
    return found


def _shared(scene: Scene, members: Sequence[Member], parts: Parts) -> Replica | None:
    """Targets that no single replica has; None where there are none."""
    key = ReplicaKey(scene.objects.cluster, parts.name, FLEET)
    targets: dict[str, Target] = {}
    versions: dict[str, set[str]] = {}
    for one in (*parts.routers, *parts.companions):
        for pod in _pods(scene, one):
            if not has_address(pod[1]):
                continue
            suffix = pod[0].name if len(parts.routers) > 1 else pod[0].name.removeprefix(f"{one[0].name}-")
            for process in scene.pod(pod, parts.given).processes:
                target = _shared_target(key, pod, process, suffix, parts)
                if target is not None:
                    targets[target.name] = target
                    for component, version in versions_of(process.image).items():
                        versions.setdefault(component, set()).add(version)
    for member in members:
        for pod, process in member.shared if has_address(member.pod[1]) else ():
            target = server_target(key, pod[1], process, pod[0].name)
            targets[target.name] = target
    if not targets:
        return None
    agreed_on = tuple(sorted((name, one) for name, found in versions.items() if len(found) == 1 for one in found))
    return Replica(key, tuple(targets[name] for name in sorted(targets)), versions=agreed_on)


def _shared_target(key: ReplicaKey, pod: Found, process: Process, suffix: str, parts: Parts) -> Target | None:
    match process.component:
        case Component.ROUTER:
            return router_target(key, pod[1], process, suffix, parts.router_port)
        case Component.LMCACHE_COORDINATOR:
            return coordinator_target(key, pod[1], process, suffix)
    return None


def model_of(engine: Process) -> str:
    """The name that it serves under, else what it loads."""
    command = engine.command
    served = command.many("--served-model-name")
    if served:
        return served[0]
    if command.value("--model"):
        return command.value("--model")
    names = [word.rpartition("/")[2] for word in command.words]
    at = next((at + 1 for at in range(len(names) - 1) if names[at] == "serve"), len(names))
    word = command.words[at] if at < len(command.words) else ""
    return "" if word.startswith("-") or "$" in word else word
