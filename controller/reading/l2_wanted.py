"""An endpoint that opted in to L2: what it is to have, and which of its running pods lack it.

The webhook is never in a pod's way, so a pod may have come without L2: while the webhook was down, or since L2 would
have hurt it. Such pods are named, with the command that makes them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from controller.injector.freshness import is_current
from controller.injector.wired import wired
from controller.reading.fields import items, text
from controller.reading.lineage import Found
from controller.reading.opted_in import Misstated, policy_of
from controller.reading.origin import CUSTOM, Origin
from controller.reading.parts import Parts
from controller.reading.pods import is_running
from controller.reading.replicas import Member
from controller.reading.scene import Scene
from tierdeck.l2.policy import L2Policy

_KINDS = {resource.kind for resource in CUSTOM}
_NAMED = 20


def with_l2(scene: Scene, parts: Parts) -> Parts:
    """The parts with the L2 that the policy gives, in place of what the source can state."""
    policy = policy_of(scene.objects.l2, _objects(parts))
    if not isinstance(policy, L2Policy) or not scene.objects.l2.enabled:
        return parts
    storage = scene.storage(parts.source[0].namespace)
    size = storage.on_claim(storage.claim(policy.claim), policy.mount_path, policy.mount_path, policy.origin)
    return replace(parts, configured=replace(parts.configured, l2=size))


def l2_problems(scene: Scene, members: Sequence[Member], parts: Parts) -> Iterator[str]:
    """What keeps running pods from their L2, and what is to be done about it."""
    source = parts.source[0]
    policy = policy_of(scene.objects.l2, _objects(parts))
    if isinstance(policy, Misstated):
        yield f"{source}: opted in to L2, but {policy.reason}."
    if not scene.objects.l2.enabled:
        if isinstance(policy, L2Policy):
            yield f"{source}: opted in to L2, but the L2 file says enabled: false."
        return
    lacking: list[str] = []
    said: dict[str, None] = {}
    for member in members:
        if not is_running(member.pod[1]):
            continue
        origin = _origin(scene, member, parts)
        if origin.revision and origin.workload and not is_current(origin.revision[1], origin.workload[1]):
            continue  # a rollout will end it
        own = policy_of(scene.objects.l2, origin.objects)
        if not isinstance(own, L2Policy):
            continue
        found = wired(origin, scene.configs(source.namespace), own)
        if isinstance(found, str):
            said[f"{source}: opted in to L2, but {found}."] = None
            continue
        said |= dict.fromkeys(f"{source}: {warning}" for warning in (*found.identity.warnings, *found.patch.warnings))
        if found.patch.did:
            lacking.append(member.pod[0].name)
    yield from said
    if lacking:
        yield _slipped(source.namespace, str(source), lacking)


def _slipped(namespace: str, source: str, names: Sequence[str]) -> str:
    more = f" (the first {_NAMED} of {len(names)})" if len(names) > _NAMED else ""
    named = " ".join(names[:_NAMED])
    count = f"{len(names)} running pod{'s' if len(names) > 1 else ''}"
    return (
        f"{source}: {count} without the L2 that it opted in to: {named}{more}. Made anew, they get it where nothing "
        f"speaks against it (kubectl --namespace {namespace} delete pod {named})"
    )


def _objects(parts: Parts) -> tuple[Found, ...]:
    """What an endpoint's pods come from, the nearest first; only what its engines have in common counts."""
    engines = parts.engines[:1] if parts.engines and parts.engines[0][0] != parts.source[0] else ()
    return (*engines, parts.source)


def _origin(scene: Scene, member: Member, parts: Parts) -> Origin:
    workload = next((one for one in parts.engines if one[0] == member.workload), None)
    owners = {text(owner, "name") for owner in items(member.pod[1], "metadata", "ownerReferences")}
    known = scene.lineage.revisions(workload) if workload is not None and workload[0].kind == "Deployment" else []
    revision = next((one for one in known if one[0].name in owners), None)
    return Origin(member.pod, workload, parts.source if parts.source[0].kind in _KINDS else None, "", revision)
