"""Whose KV an engine makes: its weights, and the layout as its container is told.

Sources: vLLM 0.32.0, engine/arg_utils.py; LMCache 0.5.6, v1/config.py (chunk_size 256, pre_caching_hash_algorithm
builtin).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from controller.reading.fields import items, text
from controller.reading.lineage import Found
from controller.reading.lmcache import Settings
from controller.reading.model_weights import own_of, weights_of
from controller.reading.processes import Process
from controller.reading.told import UntoldError, argument, switch, told, variable_of
from controller.resources import JUMPSTART_MODELS
from tierdeck.deployed import ObjectRef
from tierdeck.l2.identity import KvLayout, ModelIdentity, UnknownIdentity
from tierdeck.l2.policy import L2Policy
from tierdeck.l2.wiring import HASH_SEED, RANDOM

_MAIN = ("--model", "--revision", "--dtype", "--kv-cache-dtype", "--tensor-parallel-size", "--pipeline-parallel-size")
_VARIANT = (
    "--quantization", "--quantization-config", "--hf-overrides", "--hf-config-path", "--rope-scaling", "--rope-theta",
    "--max-model-len", "--load-format", "--model-loader-extra-config", "--config-format", "--code-revision",
    "--model-impl", "--model-class-overrides", "--mm-processor-kwargs", "--speculative-config", "--spec-model",
    "--spec-method", "--decode-context-parallel-size", "--prefill-context-parallel-size",
    "--cp-kv-cache-interleave-size", "--dcp-kv-cache-interleave-size", "--default-mm-loras",
)  # fmt: skip
"""The length counts since LongRoPE chooses its factors by it, and only the weights tell who has LongRoPE."""
_VARIANT_LISTS = ("--lora-modules", "--kv-cache-dtype-skip-layers")
_VARIANT_FLAGS = ("--enable-lora", "--calculate-kv-scales", "--disable-sliding-window", "--trust-remote-code")
_ELSEWHERE = ("--config", "--kv-transfer-config")
_NAMES = (*_MAIN, *_VARIANT, *_VARIANT_LISTS, *_VARIANT_FLAGS, *_ELSEWHERE)
_VARIANT_ENVIRONMENT = (
    "VLLM_MLA_DISABLE", "VLLM_USE_MODELSCOPE", "LMCACHE_ENABLE_BLENDING", "LMCACHE_USE_LAYERWISE",
)  # fmt: skip
_LORA = (
    "LoRA adapters are served: embedded LMCache does not tell their KV from the base model's, so that a request of one "
    "can read what another wrote."
)


def identity_of(
    engine: Process, endpoint: ObjectRef, source: Found | None, policy: L2Policy
) -> ModelIdentity | UnknownIdentity:
    """The identity of what an engine reads and writes.

    Args:
        endpoint: whose weights they are, where nothing else tells.
        source: the custom resource that the engine was rendered from; None: there is none.
    """
    try:
        layout = _layout(engine, endpoint, source, policy)
        weights = weights_of(engine, endpoint, source)
    except UntoldError as error:
        return UnknownIdentity(str(error))
    revision, pinned_by = weights.revision, weights.pinned_by
    if policy.model_revision:
        revision, pinned_by = policy.model_revision, "tierdeck.io/model-revision"
    notes = (_LORA,) if any(name == "--enable-lora" for name, _ in layout.variant) else ()
    return ModelIdentity(weights.source, weights.model, revision, layout, pinned_by, notes)


def _layout(engine: Process, endpoint: ObjectRef, source: Found | None, policy: L2Policy) -> KvLayout:
    _check_whole(engine)
    settings = Settings(engine)
    chunk = told(settings.get("chunk_size"), "256")
    if not chunk.isascii() or not chunk.isdigit():
        raise UntoldError(f"chunk_size {chunk} is no number of tokens")
    return KvLayout(
        argument(engine, "--dtype") or "auto",
        argument(engine, "--kv-cache-dtype") or "auto",
        _ranks(engine, "--tensor-parallel-size"),
        _ranks(engine, "--pipeline-parallel-size"),
        int(chunk),
        told(settings.get("pre_caching_hash_algorithm"), "builtin"),
        _seed(engine, policy),
        tuple(sorted(_variant(engine, endpoint, source))),
    )


def _check_whole(engine: Process) -> None:
    """All that it is told is seen.

    Raises:
        UntoldError: something may be told to it besides.
    """
    command = engine.command
    if command.problem or command.doubt:
        raise UntoldError(f"its arguments can't be read: {command.problem or command.doubt}")
    if engine.environment.hidden:
        raise UntoldError(f"not all of its variables are known: {engine.environment.hidden[0]}")
    if switch(engine, "--config"):
        raise UntoldError("its arguments are in a file (--config), which is not read")
    told(engine.environment.get(variable_of("--kv-transfer-config")), "")
    for word in command.words:
        flag = word.partition("=")[0].partition(".")[0].replace("_", "-")
        meant = next((name for name in _NAMES if len(flag) > 2 and name.startswith(flag) and flag.startswith("--")), "")
        if meant and flag not in _NAMES:
            raise UntoldError(f"{flag} may be short for {meant}: write it out")
        if re.match(r"-q[^=.]", word):
            raise UntoldError(f"{word} may be --quantization {word[2:]}: write it out")


def _seed(engine: Process, policy: L2Policy) -> str:
    """What the pod will have: a random one is replaced where the container states it."""
    seed = told(engine.environment.get(HASH_SEED), policy.hash_seed)
    if seed != RANDOM:
        return seed
    own = [text(one, "value") for one in items(engine.container, "env") if text(one, "name") == HASH_SEED]
    if own[-1:] != [RANDOM]:
        raise UntoldError(f"its shell script sets {HASH_SEED} to {RANDOM}")
    return policy.hash_seed


def _variant(engine: Process, endpoint: ObjectRef, source: Found | None) -> Iterator[tuple[str, str]]:
    yield from _values(engine)
    for name in _VARIANT_FLAGS:
        if switch(engine, name):
            yield name, "true"
    if switch(engine, "--enable-lora"):
        # adapters can come at run time, and from a place that other endpoints have other ones at
        yield "endpoint", own_of(endpoint, "it serves LoRA adapters")
    for name in _VARIANT_ENVIRONMENT:
        value = told(engine.environment.get(name), "")
        if value:
            yield name, value
    if source is not None and source[0].kind == JUMPSTART_MODELS.kind:
        # JumpStart chooses artifact and settings by the instance type
        instance = text(source[1], "spec", "server", "instanceType")
        if instance:
            yield "instance_type", instance


def _values(engine: Process) -> Iterator[tuple[str, str]]:
    for name in _VARIANT:
        if value := argument(engine, name):
            yield name, value
    for name in (*_VARIANT, *_VARIANT_LISTS):
        for part, values in engine.command.parts(name).items():
            yield part, json.dumps([told(one, "") for one in values])
    for name in _VARIANT_LISTS:
        if engine.command.has(name):
            yield name, json.dumps(sorted(engine.command.many(name)))
        elif value := argument(engine, name):
            yield name, value


def _ranks(engine: Process, name: str) -> int:
    value = argument(engine, name) or "1"
    if not value.isascii() or not value.isdigit() or not 0 < int(value) <= 1024:
        raise UntoldError(f"{name} {value} is no number of ranks")
    return int(value)
