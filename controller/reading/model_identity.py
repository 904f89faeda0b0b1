"""Whose KV an engine makes: its model as its source states it, and the layout as its container is told.

HyperPod mounts every model at /opt/ml/model, so where a custom resource owns the engine, that tells the model.

Sources: HyperPod's CRD v1 (modelSourceConfig) and JumpStartModel; vLLM's arguments; AWS's vLLM images take
`SM_VLLM_X_Y` for `--x-y`; LMCache 0.5.6, v1/config.py (chunk_size 256, pre_caching_hash_algorithm builtin).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from controller.reading.configs import is_below
from controller.reading.fields import items, mapping, text
from controller.reading.lineage import Found
from controller.reading.lmcache import Settings
from controller.reading.processes import Process
from controller.resources import ENDPOINT_CONFIGS, JUMPSTART_MODELS
from tierdeck.deployed import Stated
from tierdeck.l2.identity import KvLayout, ModelIdentity, ModelSource, UnknownIdentity
from tierdeck.l2.policy import L2Policy

_COMMIT = re.compile(r"[0-9a-f]{40}")
_VARIANT = (
    "--quantization", "--hf-overrides", "--rope-scaling", "--rope-theta", "--load-format", "--code-revision",
    "--speculative-config", "--lora-modules", "--config-format",
)  # fmt: skip
_VARIANT_FLAGS = ("--enable-lora", "--calculate-kv-scales")
_VARIANT_ENVIRONMENT = (
    "VLLM_MLA_DISABLE", "VLLM_USE_MODELSCOPE", "LMCACHE_ENABLE_BLENDING", "LMCACHE_USE_LAYERWISE",
)  # fmt: skip
_LORA = (
    "LoRA adapters are served: embedded LMCache does not tell their KV from the base model's, so that a request of one "
    "can read what another wrote."
)


class _UntoldError(Exception):
    """A part of the identity is not told; the reason."""


@dataclass(frozen=True, slots=True)
class _Weights:
    source: ModelSource
    model: str
    revision: str = ""
    pinned_by: str = ""


def identity_of(
    engine: Process, endpoint: str, source: Found | None, policy: L2Policy
) -> ModelIdentity | UnknownIdentity:
    """The identity of what an engine reads and writes.

    Args:
        endpoint: `namespace/name`: whose weights they are, where nothing else tells.
        source: the custom resource that the engine was rendered from; None: there is none.
    """
    try:
        layout = _layout(engine, source, policy)
        weights = _weights(engine, endpoint, source)
    except _UntoldError as error:
        return UnknownIdentity(str(error))
    revision, pinned_by = weights.revision, weights.pinned_by
    if policy.model_revision:
        revision, pinned_by = policy.model_revision, "tierdeck.io/model-revision"
    notes = (_LORA,) if any(name == "--enable-lora" for name, _ in layout.variant) else ()
    return ModelIdentity(weights.source, weights.model, revision, layout, pinned_by, notes)


def _layout(engine: Process, source: Found | None, policy: L2Policy) -> KvLayout:
    command, settings = engine.command, Settings(engine)
    if command.problem:
        raise _UntoldError(f"its arguments can't be read: {command.problem}")
    if command.has("--config"):
        raise _UntoldError("its arguments are in a file (--config), which is not read")
    chunk = _told(settings.get("chunk_size"), "256")
    if not chunk.isascii() or not chunk.isdigit():
        raise _UntoldError(f"chunk_size {chunk} is no number of tokens")
    return KvLayout(
        _argument(engine, "--dtype") or "auto",
        _argument(engine, "--kv-cache-dtype") or "auto",
        _ranks(engine, "--tensor-parallel-size"),
        _ranks(engine, "--pipeline-parallel-size"),
        int(chunk),
        _told(settings.get("pre_caching_hash_algorithm"), "builtin"),
        _told(engine.environment.get("PYTHONHASHSEED"), policy.hash_seed),
        tuple(sorted(_variant(engine, source))),
    )


def _variant(engine: Process, source: Found | None) -> Iterator[tuple[str, str]]:
    for name in _VARIANT:
        if name == "--lora-modules" and engine.command.has(name):
            yield name, " ".join(sorted(engine.command.many(name)))
        elif value := _argument(engine, name):
            yield name, value
    for name in _VARIANT_FLAGS:
        if engine.command.has(name):
            yield name, "true"
    for name in _VARIANT_ENVIRONMENT:
        value = _told(engine.environment.get(name), "")
        if value:
            yield name, value
    if source is not None and source[0].kind == JUMPSTART_MODELS.kind:
        # JumpStart chooses artifact and settings by the instance type
        instance = text(source[1], "spec", "server", "instanceType")
        if instance:
            yield "instance_type", instance


def _ranks(engine: Process, name: str) -> int:
    value = _argument(engine, name) or "1"
    if not value.isascii() or not value.isdigit() or not 0 < int(value) <= 1024:
        raise _UntoldError(f"{name} {value} is no number of ranks")
    return int(value)


def _argument(engine: Process, name: str) -> str:
    """Its value, also where an image of AWS's takes it from the environment; empty where it is not set."""
    variable = f"SM_VLLM_{name.removeprefix('--').replace('-', '_').upper()}"
    return _told(engine.command.get(name) or engine.environment.get(variable), "")


def _told(stated: Stated | None, default: str) -> str:
    if stated is None:
        return default
    if stated.reason:
        raise _UntoldError(f"{stated.where}: {stated.reason}" if stated.where else stated.reason)
    return stated.value


def _weights(engine: Process, endpoint: str, source: Found | None) -> _Weights:
    word = _model_word(engine)
    is_path = word.startswith(("/", "."))
    if source is not None and (is_path or not word):
        if source[0].kind == ENDPOINT_CONFIGS.kind:
            return _of_endpoint_config(source)
        if source[0].kind == JUMPSTART_MODELS.kind:
            return _of_jumpstart(source)
    if not word or "$" in word:
        raise _UntoldError("which model it loads is not told by its arguments")
    if is_path:
        return _on_path(word, engine, endpoint)
    if word.startswith("s3://"):
        return _Weights(ModelSource.S3, word.removeprefix("s3://").strip("/") or word)
    if "://" in word:
        return _Weights(ModelSource.ADDRESS, word)
    revision = _argument(engine, "--revision")
    pinned_by = "the commit of --revision" if _COMMIT.fullmatch(revision) else ""
    return _Weights(ModelSource.HUGGING_FACE, word, revision or "main", pinned_by)


def _model_word(engine: Process) -> str:
    """What it loads: `--model`, or what follows `serve`."""
    named = _argument(engine, "--model")
    if named:
        return named
    words = engine.command.words
    names = [word.rpartition("/")[2] for word in words]
    at = next((at + 1 for at in range(len(names) - 1) if names[at] == "serve"), len(names))
    word = words[at] if at < len(words) else ""
    return "" if word.startswith("-") else word


def _of_endpoint_config(source: Found) -> _Weights:
    ref, raw = source
    config = mapping(raw, "spec", "modelSourceConfig")
    kind, location = text(config, "modelSourceType"), text(config, "modelLocation").strip("/")
    version = text(raw, "spec", "modelVersion")
    match kind:
        case "huggingface":
            model, commit = text(config, "huggingFaceModel", "modelId"), text(config, "huggingFaceModel", "commitSHA")
            pinned_by = "huggingFaceModel.commitSHA" if commit else ""
            weights = _Weights(ModelSource.HUGGING_FACE, model, commit or "main", pinned_by)
        case "s3":
            weights = _Weights(ModelSource.S3, _joined(text(config, "s3Storage", "bucketName"), location), version)
        case "fsx":
            weights = _Weights(ModelSource.FSX, _joined(text(config, "fsxStorage", "fileSystemId"), location), version)
        case "kubernetesVolume":
            weights = _Weights(ModelSource.VOLUME, _joined(ref.namespace, ref.name, location), version)
        case _:
            raise _UntoldError(f"{ref}: spec.modelSourceConfig.modelSourceType {kind!r} is not known")
    if not weights.model:
        raise _UntoldError(f"{ref}: spec.modelSourceConfig does not tell where its model is")
    return weights


def _of_jumpstart(source: Found) -> _Weights:
    ref, raw = source
    model, version = text(raw, "spec", "model", "modelId"), text(raw, "spec", "model", "modelVersion")
    if not model:
        raise _UntoldError(f"{ref}: spec.model.modelId is missing")
    hub = text(raw, "spec", "model", "modelHubName") or "SageMakerPublicHub"
    return _Weights(ModelSource.JUMPSTART, _joined(hub, model), version, "spec.model.modelVersion" if version else "")


def _on_path(path: str, engine: Process, endpoint: str) -> _Weights:
    """Weights in a folder: of a claim, of the node, of the image."""
    mounts = [one for one in items(engine.container, "volumeMounts") if is_below(path, text(one, "mountPath"))]
    mount = max(mounts, key=lambda one: len(text(one, "mountPath")), default=None)
    if mount is None:
        image, at, digest = engine.image.partition("@")
        if not image:
            raise _UntoldError(f"the model is at {path} in an image without a name")
        return _Weights(ModelSource.IMAGE, f"{image}:{path}", digest, "the image's digest" if at else "")
    volume = next((one for one in engine.volumes if text(one, "name") == text(mount, "name")), {})
    below = _joined(text(mount, "subPath"), path.removeprefix(text(mount, "mountPath")))
    namespace = endpoint.partition("/")[0]
    claim, host = text(volume, "persistentVolumeClaim", "claimName"), text(volume, "hostPath", "path")
    if claim:
        return _Weights(ModelSource.VOLUME, _joined(namespace, claim, below))
    if text(volume, "nfs", "server"):
        return _Weights(ModelSource.VOLUME, _joined(text(volume, "nfs", "server"), text(volume, "nfs", "path"), below))
    # what a node or an init container put there is this endpoint's, as far as can be told
    return _Weights(ModelSource.VOLUME, _joined(endpoint, host or text(mount, "name"), below))


def _joined(first: str, *rest: str) -> str:
    """A place with what is below it; empty where the place is."""
    parts = [part.strip("/") for part in (first, *rest)]
    return "/".join(part for part in parts if part) if parts[0] else ""
