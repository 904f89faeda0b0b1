"""What would be written to do what a change asks, field by field, and what comes of it; or why it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

Json = object
"""A value as JSON has it: None, bool, int, float, str, list, dict."""


class Absent(StrEnum):
    """In place of a value: the field is not there. (JSON's null is another thing.)"""

    ABSENT = "\u2205absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class FieldEdit:
    """One field of one object.

    Attributes:
        path: keys from the object's root; `[name=vllm]` picks from a list of objects
            (`("spec", "template", "spec", "containers", "[name=vllm]", "args")`).
        before, after: its value; ABSENT where the field is not there. A list of plain values is one value.
        back: what a revert writes in place of `before`, where going back has to be another value once more, such as
            an annotation that makes an operator look; None: a revert writes `before`.
    """

    path: tuple[str, ...]
    before: Json
    after: Json
    back: str | None = None

    @property
    def where(self) -> str:
        """`spec.template.spec.containers[name=vllm].args`."""
        return ".".join(self.path).replace(".[", "[")


class Surface(StrEnum):
    """Where a write goes."""

    KUBERNETES = "kubernetes"
    LMCACHE_QUOTA = "lmcache-quota"
    LAB = "lab"


@dataclass(frozen=True, slots=True)
class Write:
    """One write to one object; all its fields at once, or none.

    Attributes:
        ref: the object.
        address: its path at the API server (`/apis/apps/v1/namespaces/x/deployments/y`); elsewhere a URL.
        api_version: `apps/v1`; empty where it is no Kubernetes object.
        edits: fields with what they were when this was planned, and what they become.
        why: of a write that only serves another one, such as an annotation that makes an operator look; else empty.
    """

    ref: ObjectRef
    address: str
    api_version: str
    edits: tuple[FieldEdit, ...]
    surface: Surface = Surface.KUBERNETES
    why: str = ""


class Carrying(StrEnum):
    """What a running process has to carry."""

    ARGUMENT = "argument"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Carried:
    """What every running pod of a workload has to carry once the change is in effect, exactly once.

    Attributes:
        workload: whose pods.
        container: its name.
        name: the flag (`--gpu-memory-utilization`) or variable (`LMCACHE_MAX_LOCAL_CPU_SIZE`).
        value: None: it must not be there.
    """

    workload: ObjectRef
    container: str
    kind: Carrying
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a change is not made.

    Attributes:
        code: stays the same; docs/changes.md lists them.
        reason: one sentence, with the node, the bytes, the field.
        fix: what to do instead; empty: nothing is known.
    """

    code: str
    reason: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a change is made.

    Attributes:
        writes: in order.
        carries: what is read back from running pods afterwards.
        restarts: workloads whose pods restart, as far as is known; the worst case where an operator renders.
        loses: tiers that start empty again.
        strategy: what is proved by behaviour afterwards; empty: nothing is to be proved.
        warnings: what a person should know before confirming, one sentence each: the worst case, the price of a
            revert, what is taken over from whom.
        exports_only: it may not be written here, since a GitOps tool owns the object; why.
        back_warnings: what a person should know before reverting it, one sentence each.
    """

    writes: tuple[Write, ...]
    carries: tuple[Carried, ...] = ()
    restarts: tuple[ObjectRef, ...] = ()
    loses: tuple[Tier, ...] = ()
    strategy: str = ""
    warnings: tuple[str, ...] = ()
    exports_only: str = ""
    back_warnings: tuple[str, ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(write.ref.kind for write in self.writes)


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan with what the API server answered to its dry run.

    Attributes:
        diff: unified, of each object as it is and as the server would store it; only fields that people set.
        at: epoch seconds.
        versions: resourceVersion by object, as the plan was made on.
    """

    plan: Plan
    diff: str
    at: float
    versions: Mapping[str, str] = field(default_factory=dict)
