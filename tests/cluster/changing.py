"""Changes of a Deployment on a real cluster: a planner of a few lines, and a changer around it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from controller.api.client import Api, Sent
from controller.api.mirror import Mirror
from controller.api.watches import Watches
from controller.changes.changer import Progress, Verified
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.fields import Path, get
from controller.changes.kube.parts import Parts
from controller.changes.kube.reader import KubeReader
from controller.changes.kube.rollout import Patience
from controller.changes.kube.verify import Verifier
from controller.changes.planner import Look, Reader
from controller.objects import Objects
from tests.cluster.workloads import engine_deployment
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Plan, Preview, Refusal, Write
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef

FLAG = "--gpu-memory-utilization"
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
CONTAINER = ("spec", "template", "spec", "containers", "[name=vllm]")
ARGS = (*CONTAINER, "args")
ENV = (*CONTAINER, "env", f"[name={SIZE}]")
MEMORY = (*CONTAINER, "resources", "requests", "memory")
NOTHING_ELSE = Verified(Progress.DONE, "")
GIB = 2**30


@dataclass(frozen=True, slots=True)
class TinyPlanner:
    """L0 by its flag, L1 by its variable, with 16 GiB of memory besides; of endpoints that are plain Deployments."""

    names: tuple[str, ...] = ("deployment",)

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        ref = look.deployed.source
        live = look.reader.get(ref)
        assert live is not None
        edits: list[FieldEdit] = []
        carries: list[Carried] = []
        if wish.l0 is not None:
            edits.append(args_edit(get(live, ARGS), wish.l0.text))
            carries.append(Carried(ref, "vllm", Carrying.ARGUMENT, FLAG, wish.l0.text))
        if wish.l1_bytes is not None:
            size = f"{wish.l1_bytes / GIB:g}"
            edits.append(FieldEdit(ENV, get(live, ENV), {"name": SIZE, "value": size}))
            edits.append(FieldEdit(MEMORY, get(live, MEMORY), f"{16 + wish.l1_bytes // GIB}Gi"))
            carries.append(Carried(ref, "vllm", Carrying.ENVIRONMENT, SIZE, size))
        return Plan((write_of(look.reader, ref, *edits),), tuple(carries), (ref,))


def args_edit(before: object, share: str) -> FieldEdit:
    assert isinstance(before, list)
    return FieldEdit(ARGS, before, [*before[:-1], share])


def write_of(reader: Reader, ref: ObjectRef, *edits: FieldEdit) -> Write:
    address, version = reader.address_of(ref)
    return Write(ref, address, version, edits)


@dataclass(frozen=True, slots=True)
class Fine:
    """A preflight that finds nothing."""

    refusals: Sequence[Refusal] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Overtaken(Api):
    """An API server at which somebody else is quicker: `meanwhile` happens before each of the first writes.

    Attributes:
        times: how often; emptied as it happens.
    """

    meanwhile: Callable[[], None] = field(default=lambda: None)
    times: list[int] = field(default_factory=list)

    def send(self, path: str, sent: Sent, *, read_seconds: float = 30.0) -> dict[str, object]:
        if self.times:
            self.times.pop()
            self.meanwhile()
        return Api.send(self, path, sent, read_seconds=read_seconds)


class Changing:
    """A changer of one namespace, and the changes that it makes from their proposal to their end."""

    def __init__(self, cluster: Cluster, namespace: str, api: Api | None = None, **parts: object) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.api = api or Api.of(cluster.client())
        self.reader = KubeReader(self.api)
        made = Parts(self.look, (TinyPlanner(),), lambda *_: Fine(), lambda *_: PROOF)
        self._parts: Parts = replace(made, **parts)  # type: ignore[arg-type]
        self.wait_for_nodes(60.0)

    def wait_for_nodes(self, seconds: float) -> None:
        """For how long a pod may be without a node, or not even be made."""
        patience = Patience(unscheduled=seconds)
        verifier = Verifier(self.reader, time.time, self.look, fetch=lambda _url: None, patience=patience)
        self.changer = KubernetesChanger(self.api, self._parts, verifier)

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef("Deployment", self.namespace, "engine")

    def look(self) -> Objects:
        mirror = Mirror("east")
        Watches(self.api, mirror, (self.namespace,), threading.Event()).list_once()
        return mirror.look()

    def live(self) -> Manifest:
        return self.cluster.rest.get("Deployment", "engine", self.namespace, "apps/v1")

    def field(self, path: Path) -> object:
        return get(self.live(), path)

    def change(self, wish: Wish | None = None) -> Change:
        wish = wish or Wish(l0=L0Wish(share=0.8))
        return Change("east", f"{self.namespace}/engine", wish, "ann", "", "key", 0.0, {})

    def planned(self, wish: Wish | None = None, reverted: Change | None = None) -> Plan:
        plan = self.changer.plan(self.change(wish), reverted)
        assert isinstance(plan, Plan), plan
        return plan

    def previewed(self, wish: Wish | None = None, reverted: Change | None = None) -> Preview:
        return self.changer.preview(self.planned(wish, reverted), 1.0)

    def applied(self, wish: Wish | None = None) -> Change:
        """A change that is made, as it is stored."""
        preview = self.previewed(wish)
        assert self.changer.apply(preview.plan, "")
        return replace(self.change(wish), id=1, state=State.KEPT, preview=preview)

    def ended(self, plan: Plan, applied_at: float | None = None) -> Verified:
        """What reading back says once it waits no more."""
        at = time.time() if applied_at is None else applied_at
        found: list[Verified] = []

        def is_over() -> bool:
            found.append(self.changer.verify(plan, at))
            return found[-1].progress is not Progress.WAITING

        self.cluster.wait_until(is_over, "the end of the change")
        return found[-1]


PROOF = Proof(Verdict.CANNOT_TELL, "", "", (), 0, 0.0, 0.0)


def engines(namespace: str, **spec: object) -> Manifest:
    """A Deployment of one engine with L0 at 0.9, without L1's variable."""
    made = engine_deployment(namespace)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["args"] = ["--model", "an/llm", FLAG, "0.9"]
    container["env"] = [{"name": "HF_TOKEN", "value": "canary-8f3a"}, {"name": "PYTHONHASHSEED", "value": "0"}]
    made["spec"] |= spec
    return made


def is_absent(value: object) -> bool:
    return value is ABSENT
