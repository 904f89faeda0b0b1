"""Where L2 can't hurt: a claim that can be mounted, and no node with a mount that hangs or that nobody knows of.

A pod whose volume can't be mounted never starts, and one whose mount hangs never ends: both are worse than no L2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.injector.places import nodes_for
from controller.objects import Objects, Raw
from controller.reading import fields
from controller.reading.configs import Configs
from controller.reading.curvine_fuse import fuse_name
from controller.reading.fields import items, labels, named, text
from controller.reading.lineage import Found
from controller.reading.pools import PROVISIONER, addresses_of_class
from controller.reading.processes import Process, read_spec
from controller.reading.storage import read_claim
from controller.resources import CLAIMS, NODES, PODS, STORAGE_CLASSES
from tierdeck.deployed import Component
from tierdeck.l2.mounts import Mount
from tierdeck.l2.policy import L2Policy

CSI_NODE, FUSE = "curvine-csi-node", "curvine-standalone"
_NAMED = 3


@dataclass(frozen=True, slots=True)
class MountBook:
    """What the store has of the pool's mounts, as it was last read.

    Attributes:
        mounts: by name of the target.
        trouble: why it could not be read anew; empty: it could.
        stale_after_seconds: a page that is older says nothing.
    """

    mounts: Mapping[str, Mount] = field(default_factory=dict)
    read_at: float = 0.0
    trouble: str = "it was never read"
    stale_after_seconds: float = 45.0

    def unread(self, now: float) -> str:
        """Why nothing of it counts now; empty: it does."""
        if now - self.read_at <= self.stale_after_seconds:
            return ""
        return f"the store can't be read ({self.trouble or 'the last answer is too old'}), so no mount is known to work"


def danger(objects: Objects, book: MountBook, namespace: str, spec: Raw, policy: L2Policy, now: float) -> str:
    """Why a pod must not get L2; empty: it can."""
    return _claim(objects, namespace, policy.claim) or _places(objects, book, namespace, spec, policy, now)


def _claim(objects: Objects, namespace: str, name: str) -> str:
    blind = next((objects.blind[one] for one in (CLAIMS, STORAGE_CLASSES) if one in objects.blind), "")
    if blind:
        return f"claims can't be seen ({blind})"
    raw = objects.get(CLAIMS, namespace, name)
    if raw is None:
        return f"there is no claim {namespace}/{name}"
    claim = read_claim(objects, namespace, name, raw)
    faults = (
        (claim.phase != "Bound", f"is {claim.phase or 'not bound'}, not Bound"),
        (fields.field(raw, "metadata", "deletionTimestamp") is not None, "is being deleted"),
        ("ReadWriteMany" not in fields.words(raw, "spec", "accessModes"), "is not ReadWriteMany"),
        (
            claim.provisioner != PROVISIONER,
            f"is not Curvine's ({claim.provisioner or 'its provisioner is not told'})",
        ),
    )
    return next((f"claim {namespace}/{name} {words}" for is_so, words in faults if is_so), "")


def _places(objects: Objects, book: MountBook, namespace: str, spec: Raw, policy: L2Policy, now: float) -> str:
    blind = next((objects.blind[one] for one in (NODES, PODS) if one in objects.blind), "")
    if blind:
        return f"nodes and Curvine's pods can't be seen ({blind})"
    nodes = nodes_for(objects, spec)
    if not nodes:
        return "no node that it may go to is known, so no mount is known to work"
    raw = objects.get(CLAIMS, namespace, policy.claim) or {}
    masters = _addresses(addresses_of_class(objects, text(raw, "spec", "storageClassName")))
    unread, faults = book.unread(now), []
    drivers, clients = _by_node(objects, CSI_NODE), _by_node(objects, FUSE)
    for ref, _ in nodes:
        own = [one for one in clients.get(ref.name, ()) if _is_of(one, masters)]
        told = _driver(drivers.get(ref.name, ()))
        if not told and own:
            told = unread or next(filter(None, (_mount(one, book, now) for one in own)), "")
        if told:
            faults.append(f"node {ref.name}: {told}")
    more = f" and {len(faults) - _NAMED} more nodes" if len(faults) > _NAMED else ""
    return f"it may go to {'; '.join(faults[:_NAMED])}{more}" if faults else ""


def _driver(pods: Iterable[Found]) -> str:
    """What is wrong with a node's CSI plugin."""
    found = list(pods)
    if not found:
        return "no node plugin of Curvine's CSI driver runs there"
    if not any(_is_ready(raw) for _, raw in found):
        return f"its CSI node plugin {found[0][0].name} is not ready"
    for ref, raw in found:
        driver = _process(ref.name, raw, Component.CURVINE_CSI)
        if driver is not None and driver.environment.value("MOUNT_MODE") == "embedded":
            return f"FUSE runs inside the CSI node plugin {ref.name}, so its mount can't be asked"
    return ""


def _mount(client: Found, book: MountBook, now: float) -> str:
    ref, raw = client
    if not _is_ready(raw):
        return f"its FUSE client {ref.name} is not ready"
    mount = book.mounts.get(fuse_name(ref.name)) or Mount("", "")
    return mount.trouble(now, book.stale_after_seconds)


def _by_node(objects: Objects, app: str) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for ref, raw in named(objects, PODS):
        if labels(raw, "metadata", "labels").get("app") == app and text(raw, "status", "phase") != "Succeeded":
            found.setdefault(text(raw, "spec", "nodeName"), []).append((ref, raw))
    return found


def _is_of(client: Found, masters: frozenset[str]) -> bool:
    """It may be the claim's mount: of the same masters, or of ones that aren't told."""
    process = _process(client[0].name, client[1], Component.CURVINE_FUSE)
    own = _addresses(process.command.value("--master-addrs")) if process is not None else frozenset()
    return not own or not masters or bool(own & masters)


def _process(name: str, pod: Raw, component: Component) -> Process | None:
    return read_spec(fields.mapping(pod, "spec"), Configs(Objects("", {}), ""), f"Pod {name}").of(component)


def _addresses(written: str) -> frozenset[str]:
    return frozenset(one.strip() for one in written.split(",") if one.strip())


def _is_ready(pod: Raw) -> bool:
    conditions = items(pod, "status", "conditions")
    is_ready = any(text(one, "type") == "Ready" and text(one, "status") == "True" for one in conditions)
    return is_ready and not fields.field(pod, "metadata", "deletionTimestamp")
