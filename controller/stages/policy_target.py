"""What a policy without our server has to know of an endpoint: whom it meets, what it adds, and when it must not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.injector.wired import engine_of
from controller.reading.configs import Configs
from controller.reading.fields import items, mapping, text, words
from controller.reading.lineage import template_spec
from controller.reading.opted_in import Misstated
from controller.stage import View
from controller.stages.engines import Engine, wiring_of
from controller.stages.stated_by import StatedBy, stated_by
from tierdeck.deployed import ObjectRef
from tierdeck.l2.identity import ModelIdentity, ModelSource
from tierdeck.l2.wiring import Wiring

GUARDED = (
    "LMCACHE_CHUNK_SIZE",
    "LMCACHE_PRE_CACHING_HASH_ALGORITHM",
    "LMCACHE_ENABLE_BLENDING",
    "LMCACHE_USE_LAYERWISE",
    "VLLM_MLA_DISABLE",
    "VLLM_USE_MODELSCOPE",
)
GUARDED_PREFIX = "SM_VLLM_"
"""Variables that are part of an identity; a test holds them to what identities are made of."""

HARMLESS = (
    "--gpu-memory-utilization",
    "--kv-cache-memory-bytes",
    "--num-gpu-blocks-override",
    "--max-num-seqs",
    "--max-num-batched-tokens",
    "--host",
    "--port",
)
"""Arguments with a value that make no other KV: resizing a tier must not cost an endpoint its L2."""


@dataclass(frozen=True, slots=True)
class PolicyTarget:
    """One endpoint's pods.

    Attributes:
        selector: of its workload, as the API has it.
        container: the engine's.
        command, args, variables, image: as the engine's template has them, without what is harmless. A pod that is told
            otherwise may make other KV, so that the policy leaves it alone; the image counts where the weights are in
            it, else it is empty.
        stated_by: the custom resource that tells its model, where no pod shows it; None: they do.
    """

    name: str
    namespace: str
    selector: Mapping[str, object]
    container: str
    wiring: Wiring
    identity: ModelIdentity
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    image: str = ""
    stated_by: StatedBy | None = None


def policy_name(workload: ObjectRef) -> str:
    """Of the policy of a workload's pods; no two workloads have the same."""
    return f"tierdeck-l2.{workload.namespace}.{workload.kind.lower()}.{workload.name}"


def target_of(view: View, engine: Engine) -> PolicyTarget | str:
    """A text is the reason why there can be none."""
    if engine.wanted is None:
        return "it did not opt in"
    if isinstance(engine.wanted, Misstated):
        return engine.wanted.reason
    made = wiring_of(view, engine.template, engine.wanted)
    if isinstance(made, str):
        return made
    ref, raw = engine.workload
    selector = mapping(raw, "spec", "selector")
    if not selector:
        return f"{ref} has no selector"
    process = engine_of(engine.template, Configs(view.objects, ref.namespace))
    assert process is not None, "it was wired"
    container = next(one for one in items(template_spec(raw), "containers") if text(one, "name") == process.name)
    return PolicyTarget(
        policy_name(ref),
        ref.namespace,
        selector,
        process.name,
        made.wiring,
        made.identity,
        telling(words(container, "command")),
        telling(words(container, "args")),
        tuple(sorted(_guarded(container))),
        process.image if made.identity.source is ModelSource.IMAGE else "",
        stated_by(view, engine, engine.wanted, made.identity),
    )


def telling(told: Sequence[str]) -> tuple[str, ...]:
    """The words that may make other KV; the policies leave out the same."""
    return tuple(
        word
        for at, word in enumerate(told)
        if not any(word == one or word.startswith(f"{one}=") for one in HARMLESS)
        and not (at > 0 and told[at - 1] in HARMLESS)
    )


def _guarded(container: Mapping[str, object]) -> list[str]:
    """`name=value`, as the policies compare them; a value from elsewhere is `?`."""
    return [
        f"{text(one, 'name')}={one['value'] if isinstance(one.get('value'), str) else '?'}"
        for one in items(container, "env")
        if text(one, "name") in GUARDED or text(one, "name").startswith(GUARDED_PREFIX)
    ]
