"""Tier sizes of a VLLMRuntime, with what its operator would not notice made noticeable.

Source: vllm-project/production-stack, operator/internal/controller/vllmruntime_controller.go, deploymentNeedsUpdate:
it compares model, port, image, resources, lmCacheConfig and pod annotations; not arguments, nor variables. Of the
annotations only those that the object states: one that is taken away is not noticed either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.backends.production_stack import rendered
from controller.changes.edits.errors import NotEditableError
from controller.changes.edits.fields import edit_of, with_field
from controller.changes.edits.quantities import gib_per_rank, quantity_of
from controller.changes.edits.words import secret_in, with_word
from controller.changes.planner import Look
from controller.changes.refused import RefusedError, refusal_of
from controller.changes.workloads.l0 import SHARE, arguments_of, is_in_effect, l0_warnings, refuse_l0
from controller.changes.workloads.l1 import SIZE, refuse_l1, reserved_bytes
from controller.changes.workloads.l2 import refuse_l2
from controller.changes.workloads.place import place_in, refs_of
from controller.objects import Raw
from controller.reading.fields import field, flag, items, labels, text, whole, words
from controller.reading.processes import Process
from controller.reading.quantities import bytes_of
from controller.reading.sizes import l0_of, l1_of, ranks_of
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Plan, Refusal, Write
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import Component
from tierdeck.tiers import Tier
from tierdeck.units import format_size

ANNOTATION = "tierdeck.io/changed"
_SHARE = ("spec", "vllmConfig", "gpuMemoryUtilization")
_ARGS = ("spec", "vllmConfig", "extraArgs")
_BUFFER = ("spec", "lmCacheConfig", "cpuOffloadingBufferSize")
_MEMORY = ("spec", "deploymentConfig", "resources", "memory")
_NOTICE = ("spec", "deploymentConfig", "podAnnotations", ANNOTATION)
_CONTAINER = "vllm"


def resize_runtime(look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
    """The plan; or each reason against it.

    Raises:
        RefusedError: there is nothing to plan on, or nothing to do.
    """
    ref = look.deployed.source
    raw = look.reader.get(ref)
    if raw is None:
        raise RefusedError("changed_meanwhile", f"{ref} is not there any more")
    after, carried, refusals = raw, dict[str, tuple[Carrying, str | None]](), list[Refusal]()
    for change in (_l0, _l1, _l2):
        try:
            after = change(look, wish, after, carried)
        except (RefusedError, NotEditableError) as error:
            refusals.append(refusal_of(error, str(ref)))
    if refusals:
        return tuple(refusals)
    edits = [edit for path in (_SHARE, _ARGS, _BUFFER, _MEMORY) if (edit := edit_of(raw, after, path)) is not None]
    made = [place_in(look, one, Component.ENGINE).process for one in refs_of(look, Component.ENGINE)]
    is_unnoticed = wish.l0 is not None and not all(is_in_effect(one, wish.l0) for one in made)
    if not edits and not is_unnoticed:
        raise RefusedError("nothing_to_do", f"It has {wish.text} already")
    if is_unnoticed or any(edit.path in (_SHARE, _ARGS) for edit in edits):
        edits.append(_notice(raw))
    engines = refs_of(look, Component.ENGINE)
    address, version = look.reader.address_of(ref)
    return Plan(
        (Write(ref, address, version, tuple(edits)),),
        tuple(
            Carried(one, _CONTAINER, kind, name, value) for one in engines for name, (kind, value) in carried.items()
        ),
        tuple(engines),
        _lost(raw),
        warnings=tuple(_warnings(look, wish, raw, edits, made)),
    )


def _lost(raw: Raw) -> tuple[Tier, ...]:
    return (Tier.L0, Tier.L1) if flag(raw, "spec", "lmCacheConfig", "enabled") else (Tier.L0,)


def _notice(raw: Raw) -> FieldEdit:
    """Another value at each change, and another one still when it is taken back."""
    number = (whole(raw, "metadata", "generation") or 0) + 1
    before = labels(raw, *_NOTICE[:-1]).get(ANNOTATION)
    return FieldEdit(
        _NOTICE, ABSENT if before is None else before, f"generation-{number}", f"back-from-generation-{number}"
    )


def _process(look: Look, raw: Raw) -> Process:
    return rendered(look.scene, (look.deployed.source, raw))


def _l0(look: Look, wish: Wish, raw: Raw, carried: dict[str, tuple[Carrying, str | None]]) -> Raw:
    if wish.l0 is None:
        return raw
    process = _process(look, raw)
    wished = arguments_of(wish.l0)
    refuse_l0(process, wished)
    carried |= {name: (Carrying.ARGUMENT, value) for name, value in wished.items()}
    if is_in_effect(process, wish.l0):
        return raw
    secret = secret_in(words(raw, *_ARGS))
    if secret:
        raise RefusedError(
            "not_possible",
            f"{look.deployed.source}: spec.vllmConfig.extraArgs holds a secret in the clear ({secret}), "
            "and a change keeps them",
            "Give it by a variable from a Secret first.",
        )
    made = _with_arguments(raw, wish.l0)
    if not is_in_effect(_process(look, made), wish.l0):
        raise RefusedError("not_possible", f"{look.deployed.source} would not render {wish.l0.text}")
    return made


def _with_arguments(raw: Raw, wish: L0Wish) -> Raw:
    """A share has a field of its own; the others, and whatever would win over it, are among the extra arguments."""
    extra = words(raw, *_ARGS)
    made = raw
    for name, value in arguments_of(wish).items():
        is_field = name == SHARE
        extra = with_word(extra, name, None if is_field else value)
        if is_field:
            made = with_field(made, _SHARE, value)
    if extra != words(raw, *_ARGS):
        made = with_field(made, _ARGS, extra or ABSENT)
    return made


def _l1(look: Look, wish: Wish, raw: Raw, carried: dict[str, tuple[Carrying, str | None]]) -> Raw:
    size_bytes = wish.l1_bytes
    if size_bytes is None:
        return raw
    ref, process = look.deployed.source, _process(look, raw)
    _refuse_l1(look, raw, process, size_bytes)
    ranks = ranks_of(process)
    if isinstance(ranks, str):
        raise RefusedError("not_possible", f"{ref}: how many ranks share L1 is not known: {ranks}")
    value = gib_per_rank(size_bytes, ranks)
    if l1_of(process).size_bytes == size_bytes:
        return raw
    carried[SIZE] = Carrying.ENVIRONMENT, value
    made = with_field(raw, _BUFFER, value)
    memory = field(raw, *_MEMORY)
    stated = bytes_of(memory)
    if memory is not None and stated is None:
        raise RefusedError("not_possible", f"{ref}: spec.deploymentConfig.resources.memory {memory} is no size")
    if stated is not None:
        total = stated + size_bytes - (reserved_bytes(process, ranks) or 0)
        if total <= 0:
            raise RefusedError("not_possible", f"{ref}: of {memory} memory, L1's can't be taken back")
        made = with_field(made, _MEMORY, quantity_of(total, memory))
    return made


def _refuse_l1(look: Look, raw: Raw, process: Process, size_bytes: int) -> None:
    ref = look.deployed.source
    if not flag(raw, "spec", "lmCacheConfig", "enabled"):
        raise RefusedError(
            "not_possible",
            f"{ref}: spec.lmCacheConfig is not enabled, so there is no L1 to size",
            "Enable it by hand first: that changes what the engines start with.",
        )
    if not size_bytes:
        raise RefusedError(
            "not_possible",
            f"{ref}: its operator has no field that turns L1 alone off; enabled: false turns L2 off with it",
            "Choose a small size.",
        )
    if any(text(one, "name") == SIZE for one in items(raw, "spec", "vllmConfig", "env")):
        raise RefusedError(
            "silent_no_op",
            f"{ref}: spec.vllmConfig.env sets {SIZE} as well, which wins, and makes the operator update for ever",
            "Take it out of vllmConfig.env first.",
        )
    refuse_l1(process)


def _l2(look: Look, wish: Wish, raw: Raw, carried: dict[str, tuple[Carrying, str | None]]) -> Raw:
    if wish.l2_bytes is None:
        return raw
    ref = look.deployed.source
    if text(raw, "spec", "lmCacheConfig", "remoteUrl"):
        refuse_l2(_process(look, raw))
    raise RefusedError(
        "not_possible",
        f"{ref}: diskOffloadingBufferSize makes LMCache keep its disk in a relative path named True, so it sizes no L2",
        "Set up L2 on a claim (docs/l2.md).",
    )


def _warnings(look: Look, wish: Wish, raw: Raw, edits: list[FieldEdit], made: Sequence[Process]) -> Iterator[str]:
    """
    Args:
        made: the engines as the operator has rendered them so far.
    """
    ref, wanted, process = look.deployed.source, look.deployed.wanted, _process(look, raw)
    pods, lost = f" ({wanted})" if wanted else "", " and ".join(_lost(raw))
    yield f"Every engine pod restarts{pods}, and what it held of {lost} is lost; a revert costs the same again."
    if any(edit.path == _NOTICE for edit in edits):
        yield f"{ref}: its operator does not notice this field, so the annotation {ANNOTATION} is changed with it."
    stated = l0_of(process)
    if wish.l0 is None and any(l0_of(one).said != stated.said for one in made):
        yield f"{ref}: its operator renders anew, so L0 as stated ({stated.text}), not in effect so far, comes with it."
    if wish.l0 is not None:
        yield from l0_warnings(process)
    if wish.l1_bytes is not None:
        yield from _memory_warnings(look, wish.l1_bytes, raw, process)


def _memory_warnings(look: Look, size_bytes: int, raw: Raw, process: Process) -> Iterator[str]:
    ref, ranks, buffer = look.deployed.source, ranks_of(process), text(raw, *_BUFFER)
    if isinstance(ranks, int) and reserved_bytes(process, ranks) is None:
        yield (
            f"{ref}: cpuOffloadingBufferSize {buffer} is not a plain number, so LMCache takes none from it: "
            f"how much L1 takes now is not known, and memory grows by all of {format_size(size_bytes)}."
        )
    if field(raw, *_MEMORY) is None:
        yield f"{ref} states no memory, so only the node's bounds it."
