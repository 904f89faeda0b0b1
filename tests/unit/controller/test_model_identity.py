"""Whose KV an engine makes, as its custom resource and its container tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.lineage import Found
from controller.reading.model_identity import identity_of
from controller.reading.processes import read_process
from tierdeck.deployed import ObjectRef
from tierdeck.l2.identity import KvLayout, ModelIdentity, ModelSource, UnknownIdentity
from tierdeck.l2.policy import L2Policy

POLICY = L2Policy("a test", "curvine-pvc")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHAT = ObjectRef("Deployment", "llm", "chat")
ON_VOLUME = ["vllm", "serve", "/opt/ml/model"]


def identity(
    command: list[str],
    env: Mapping[str, str] | None = None,
    source: Found | None = None,
    policy: L2Policy = POLICY,
    **more: Any,
) -> ModelIdentity | UnknownIdentity:
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    volumes = more.pop("volumes", [])
    endpoint = more.pop("endpoint", CHAT)
    container = {"name": "engine", "image": "vllm/vllm-openai:v0.32.0", "command": command, "env": variables, **more}
    process = read_process(container, volumes, Configs(Objects("prod", {}), "llm"), "Pod llm/chat-0")
    return identity_of(process, endpoint, source, policy)


def known(found: ModelIdentity | UnknownIdentity) -> ModelIdentity:
    assert isinstance(found, ModelIdentity), found
    return found


def config(**spec: Any) -> Found:
    return ObjectRef("InferenceEndpointConfig", "llm", "chat"), {"spec": spec}


def from_s3(location: str, **spec: Any) -> Found:
    stated = {"modelSourceType": "s3", "s3Storage": {"bucketName": "weights"}, "modelLocation": location}
    return config(modelSourceConfig=stated, **spec)


def test_two_models_at_the_same_path_have_directories_of_their_own() -> None:
    one = known(identity(ON_VOLUME, source=from_s3("llama/v1")))
    other = known(identity(ON_VOLUME, source=from_s3("llama/v2")))
    assert (one.source, one.model, one.revision) == (ModelSource.S3, "weights/llama/v1", "")
    assert one.directory != other.directory
    assert "unpinned (no revision)" in one.warnings[0]
    assert one == known(identity(["vllm", "serve", "--model=/opt/ml/model"], source=from_s3("llama/v1/")))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (from_s3("llama", modelVersion="3"), (ModelSource.S3, "weights/llama", "3", "")),
        (
            config(modelSourceConfig={"modelSourceType": "huggingface", "huggingFaceModel": {"modelId": "an/llm"}}),
            (ModelSource.HUGGING_FACE, "an/llm", "main", ""),
        ),
        (
            config(
                modelSourceConfig={
                    "modelSourceType": "huggingface",
                    "huggingFaceModel": {"modelId": "an/llm", "commitSHA": COMMIT},
                }
            ),
            (ModelSource.HUGGING_FACE, "an/llm", COMMIT, "huggingFaceModel.commitSHA"),
        ),
        (
            config(
                modelSourceConfig={
                    "modelSourceType": "fsx",
                    "fsxStorage": {"fileSystemId": "fs-1"},
                    "modelLocation": "/llama/",
                }
            ),
            (ModelSource.FSX, "fs-1/llama", "", ""),
        ),
        (
            config(modelSourceConfig={"modelSourceType": "kubernetesVolume", "modelLocation": "m"}),
            (ModelSource.VOLUME, "resource:llm/chat/m", "", ""),
        ),
        (
            (
                ObjectRef("JumpStartModel", "llm", "chat"),
                {"spec": {"model": {"modelId": "meta-llama-3", "modelVersion": "1.2.0"}}},
            ),
            (ModelSource.JUMPSTART, "SageMakerPublicHub/meta-llama-3", "1.2.0", "spec.model.modelVersion"),
        ),
    ],
)
def test_a_custom_resource_tells_its_model(source: Found, expected: tuple[ModelSource, str, str, str]) -> None:
    found = known(identity(["--model", "/opt/ml/model"], source=source))
    assert (found.source, found.model, found.revision, found.pinned_by) == expected


def test_an_engine_that_loads_something_else_than_its_custom_resource_says_is_believed() -> None:
    found = known(identity(["vllm", "serve", "an/llm", "--revision", COMMIT], source=from_s3("llama")))
    assert (found.source, found.model, found.pinned_by) == (
        ModelSource.HUGGING_FACE,
        "an/llm",
        "the commit of --revision",
    )


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"persistentVolumeClaim": {"claimName": "models"}}, "claim:llm/models/sub/llama"),
        ({"nfs": {"server": "nfs.example", "path": "/export"}}, "nfs:nfs.example/export/sub/llama"),
        ({"hostPath": {"path": "/data"}}, "host:llm/Deployment/chat:data/sub/llama"),
        ({"emptyDir": {}}, "volume:llm/Deployment/chat:models/sub/llama"),
    ],
)
def test_weights_in_a_folder_are_those_of_its_volume(volume: dict[str, Any], expected: str) -> None:
    mounts = [{"name": "models", "mountPath": "/models", "subPath": "sub"}]
    volumes = [{"name": "models", **volume}]
    found = known(identity(["vllm", "serve", "/models/llama"], volumeMounts=mounts, volumes=volumes))
    assert (found.source, found.model) == (ModelSource.VOLUME, expected)


def test_weights_in_the_image_are_its_and_a_digest_pins_them() -> None:
    found = known(identity(ON_VOLUME))
    assert (found.source, found.model) == (ModelSource.IMAGE, "vllm/vllm-openai:v0.32.0:/opt/ml/model")
    assert not found.is_pinned
    assert known(identity(ON_VOLUME, image="a/b@sha256:00")).pinned_by == "the image's digest"


def test_an_annotation_wins_over_what_the_source_says() -> None:
    policy = L2Policy("a test", "curvine-pvc", model_revision="2026-11-30")
    found = known(identity(ON_VOLUME, source=from_s3("llama"), policy=policy))
    assert (found.revision, found.pinned_by) == ("2026-11-30", "tierdeck.io/model-revision")
    assert found.directory != known(identity(ON_VOLUME, source=from_s3("llama"))).directory


def test_the_layout_is_what_arguments_and_environment_say() -> None:
    plain = known(identity(["vllm", "serve", "an/llm"]))
    assert plain.layout == KvLayout()
    command = ["vllm", "serve", "an/llm", "--dtype=float16", "--kv-cache-dtype", "fp8", "-tp", "2", "-pp", "2"]
    env = {"LMCACHE_CHUNK_SIZE": "512", "LMCACHE_PRE_CACHING_HASH_ALGORITHM": "sha256_cbor", "PYTHONHASHSEED": "7"}
    layout = known(identity([*command, "--quantization", "awq"], env)).layout
    assert (layout.dtype, layout.kv_cache_dtype, layout.tensor_parallel, layout.pipeline_parallel) == (
        "float16",
        "fp8",
        2,
        2,
    )
    assert (layout.chunk_tokens, layout.hash_algorithm, layout.hash_seed) == (512, "sha256_cbor", "7")
    assert layout.variant == (("--quantization", "awq"),)


def test_an_image_of_awss_is_told_by_its_environment() -> None:
    env = {"SM_VLLM_MODEL": "an/llm", "SM_VLLM_TENSOR_PARALLEL_SIZE": "4"}
    found = known(identity([], env))
    assert (found.model, found.layout.tensor_parallel) == ("an/llm", 4)


def test_lora_has_a_directory_of_its_own_and_is_warned_of() -> None:
    found = known(
        identity(["vllm", "serve", "an/llm", "--revision", COMMIT, "--enable-lora", "--lora-modules", "a=/a"])
    )
    assert found.layout.variant == (
        ("--enable-lora", "true"),
        ("--lora-modules", '["a=/a"]'),
        ("endpoint", "llm/Deployment/chat"),
    )
    assert "does not tell their KV from the base model's" in found.warnings[0]


@pytest.mark.parametrize(
    ("command", "env", "words"),
    [
        (["vllm", "serve"], {}, "which model it loads is not told"),
        (["vllm", "serve", "an/llm", "--config", "/etc/vllm.yaml"], {}, "in a file (--config)"),
        (["vllm", "serve", "an/llm", "-tp", "$TP"], {}, "whose value is not known"),
        (["vllm", "serve", "an/llm", "-tp", "many"], {}, "many is no number of ranks"),
        (["vllm", "serve", "an/llm"], {"LMCACHE_CHUNK_SIZE": "big"}, "chunk_size big is no number"),
    ],
)
def test_what_is_not_told_gets_no_directory(command: list[str], env: dict[str, str], words: str) -> None:
    found = identity(command, env)
    assert isinstance(found, UnknownIdentity)
    assert words in found.reason


def test_a_custom_resource_of_an_unknown_source_gets_none() -> None:
    for source in (config(modelSourceConfig={"modelSourceType": "new"}), config(), from_s3("x")):
        source[1]["spec"].get("modelSourceConfig", {}).pop("s3Storage", None)
        assert isinstance(identity(ON_VOLUME, source=source), UnknownIdentity)
