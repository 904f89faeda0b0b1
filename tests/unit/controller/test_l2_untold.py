"""Engines that make other KV have other directories; where that can't be told, there is none."""

from __future__ import annotations

from typing import Any

import pytest

from controller.injector.wired import Wired, wired
from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.origin import Origin
from controller.resources import CONFIG_MAPS
from tests.unit.controller.test_model_identity import (
    CHAT,
    COMMIT,
    ON_VOLUME,
    POLICY,
    config,
    from_s3,
    identity,
    known,
)
from tierdeck.deployed import ObjectRef
from tierdeck.l2.identity import UnknownIdentity

LLAMA = from_s3("llama")
BASE = known(identity(ON_VOLUME, source=LLAMA)).directory
HUB = ["vllm", "serve", "org/base"]
LORA = [*HUB, "--enable-lora"]
OTHER = ObjectRef("Deployment", "llm", "other")
STATEFUL = ObjectRef("StatefulSet", "llm", "chat")


def sh(script: str, *after: str) -> list[str]:
    return ["sh", "-c", script, *after]


@pytest.mark.parametrize(
    "more",
    [
        ["-q", "fp8"],
        ["-q=fp8"],
        ["-sc", '{"method":"eagle"}'],
        ["--hf-overrides.rope_theta=1000000"],
        ["--hf_overrides.rope_theta", "1000000"],
        ["--hf-config-path", "/x"],
        ["--max-model-len", "4096"],
        ["--decode-context-parallel-size", "2"],
        ["--kv-cache-dtype-skip-layers", "0", "1"],
        ["--disable-sliding-window"],
    ],
)
def test_an_argument_that_makes_other_kv_makes_another_directory(more: list[str]) -> None:
    assert known(identity([*ON_VOLUME, *more], source=LLAMA)).directory != BASE


def test_keys_given_one_by_one_differ_by_key_and_value() -> None:
    parts = ("rope_theta=1", "rope_theta=2", "rope_scaling.factor=1", "rope-theta=1")
    made = {known(identity([*HUB, f"--hf-overrides.{part}"])).directory for part in parts}
    assert len(made) == len(parts)


@pytest.mark.parametrize(
    "env",
    [
        {"SM_VLLM_QUANTIZATION": "fp8"},
        {"SM_VLLM_ENABLE_LORA": "true"},
        {"SM_VLLM_ENABLE_LORA": ""},
        {"SM_VLLM_CALCULATE_KV_SCALES": "true"},
        {"SM_VLLM_MAX_MODEL_LEN": "4096"},
    ],
)
def test_a_variable_of_awss_counts_like_its_argument(env: dict[str, str]) -> None:
    assert known(identity(ON_VOLUME, env, LLAMA)).directory != BASE


def test_a_switch_that_is_off_is_none() -> None:
    assert known(identity(ON_VOLUME, {"SM_VLLM_ENABLE_LORA": "false"}, LLAMA)).directory == BASE


def test_lora_is_an_endpoints_own_and_said_however_it_is_turned_on() -> None:
    for command, env in ((LORA, {}), (HUB, {"SM_VLLM_ENABLE_LORA": "true"})):
        one, other = (known(identity(command, env, endpoint=endpoint)) for endpoint in (CHAT, OTHER))
        assert one.directory != other.directory
        assert any("does not tell their KV" in warning for warning in one.warnings)
    assert known(identity(HUB)).directory == known(identity(HUB, endpoint=OTHER)).directory


@pytest.mark.parametrize(
    ("script", "env", "words"),
    [
        ("vllm serve org/base $EXTRA", {}, "its shell script has $EXTRA, which is not known"),
        ('vllm serve org/base "$EXTRA"', {}, "$EXTRA"),
        ("vllm serve org/base ${EXTRA}", {}, "${EXTRA}"),
        ("vllm serve org/base $(cat /args)", {}, "$"),
        ('vllm serve org/base "$(cat /args)"', {}, "$(cat /args)"),
        ("vllm serve org/base `cat /args`", {}, "`cat"),
        ('exec vllm serve org/base "$@"', {}, "$@"),
        ("vllm serve org/base --host $HOST", {}, "$HOST"),
        ('set -- -q fp8\nvllm serve org/base "$@"', {}, "$@"),
        ("if [ $Q ]; then vllm serve org/base; else vllm serve org/base -q fp8; fi", {}, "starts vLLM more than once"),
        ("[ -n '$Q' ] && EXTRA='-q fp8'; vllm serve org/base $EXTRA", {"EXTRA": "-q awq"}, "branches"),
        ("test -f /x || A=1; vllm serve org/base", {}, "branches"),
        (". /env; vllm serve org/base", {}, "runs ., whose effect"),
        ("EXTRA+=' -q fp8'; vllm serve org/base $EXTRA", {"EXTRA": "-q awq"}, "adds to a variable"),
        ("export LMCACHE_CHUNK_SIZE=$CHUNK; vllm serve org/base", {}, "sets it to $CHUNK"),
        ("export PYTHONHASHSEED=random; vllm serve org/base", {}, "sets PYTHONHASHSEED to random"),
    ],
)
def test_a_script_that_is_not_wholly_known_gets_none(script: str, env: dict[str, str], words: str) -> None:
    found = identity(sh(script, "--", "-q", "fp8"), env)
    assert isinstance(found, UnknownIdentity)
    assert words in found.reason


@pytest.mark.parametrize(
    ("script", "env"),
    [
        ("vllm serve org/base $EXTRA", {"EXTRA": "--quantization  fp8"}),
        ("EXTRA='-q fp8'; vllm serve org/base $EXTRA", {"EXTRA": "-q awq"}),
        ('Q=fp8; EXTRA="-q $Q"; exec vllm serve org/base ${EXTRA} # -q awq', {}),
        ("vllm serve org/base -q ${Q:-fp8} 2>&1 | tee /log", {}),
        ("vllm serve org/base >/log -q fp8", {}),
        ("vllm serve org/base --api-key '' -q fp8", {}),
        ("vllm serve org/base --response-role ';' -q fp8", {}),
        ("Q=awq python prepare.py; vllm serve org/base -q $Q", {"Q": "fp8"}),
        ('vllm serve org/base --host "$HOST" --port="$PORT" -q fp8', {}),
        ("vllm serve org/base --api-key '$a`b' \\\n -q fp8", {}),
    ],
)
def test_a_script_is_read_as_a_shell_does(script: str, env: dict[str, str]) -> None:
    assert known(identity(sh(script), env)) == known(identity([*HUB, "-q", "fp8"]))


def test_a_quoted_value_stays_one_word() -> None:
    made = known(identity(sh('vllm serve org/base --hf-overrides "$O"'), {"O": '{"a": 1}'}))
    assert made.layout.variant == (("--hf-overrides", '{"a": 1}'),)


@pytest.mark.parametrize(
    ("command", "more", "words"),
    [
        (["/start.sh", "--model", "org/base"], {}, "a script in a file (/start.sh --model)"),
        (["bash", "/start", "--model", "org/base"], {}, "a script in a file (bash /start)"),
        ([*HUB, "$(EXTRA)"], {}, "its arguments have $(EXTRA)"),
        ([*HUB, "--quant", "fp8"], {}, "--quant may be short for --quantization"),
        ([*HUB, "-qfp8"], {}, "-qfp8 may be --quantization fp8"),
        (["vllm", "serve", "./model"], {}, "working directory"),
        (["vllm", "serve", "weights/of/mine"], {}, "neither a path nor a name"),
        (HUB, {"envFrom": [{"configMapRef": {"name": "s"}}]}, "not all of its variables are known: may be set by Conf"),
        (HUB, {"envFrom": [{"secretRef": {"name": "s"}}]}, "Secret s, which is not read, may set it"),
        (LORA, {"endpoint": ObjectRef("Pod", "llm", "chat")}, "nothing that lasts made the pod"),
    ],
)
def test_what_may_be_told_besides_gets_none(command: list[str], more: dict[str, Any], words: str) -> None:
    found = identity(command, **more)
    assert isinstance(found, UnknownIdentity)
    assert words in found.reason


def test_settings_of_awss_images_in_a_file_or_at_odds_with_arguments_get_none() -> None:
    for env in ({"SM_VLLM_CONFIG": "/x.yaml"}, {"SM_VLLM_QUANTIZATION": "awq"}):
        assert isinstance(identity(["--model", "org/base", "-q", "fp8"], env), UnknownIdentity)


def test_a_value_that_can_not_matter_may_be_unknown() -> None:
    assert known(identity([*HUB, "--host", "$(POD_IP)", "--port=$(PORT)"])) == known(identity(HUB))


def on_volume(volume: dict[str, Any], path: str = "/m", env: dict[str, str] | None = None, **more: Any) -> str:
    endpoint = more.pop("endpoint", CHAT)
    mounts = [{"name": "v", "mountPath": "/m", **more}]
    found = identity(
        ["vllm", "serve", path], env, endpoint=endpoint, volumes=[{"name": "v", **volume}], volumeMounts=mounts
    )
    return known(found).directory


def test_folders_of_different_volumes_never_meet() -> None:
    claim: dict[str, Any] = {"persistentVolumeClaim": {"claimName": "chat"}}
    made = [
        on_volume(claim, subPath="v"),
        on_volume({"emptyDir": {}}),
        on_volume({"emptyDir": {}}, endpoint=STATEFUL),
        on_volume({"hostPath": {"path": "/v"}}),
        on_volume({"image": {"reference": "weights:1"}}),
        on_volume({"image": {"reference": "weights:2"}}),
        on_volume(claim, mountPath="/m/"),
        on_volume(claim, "/m/m"),
        on_volume(claim, env={"A": "a"}, subPathExpr="$(A)"),
        on_volume(claim, env={"A": "b"}, subPathExpr="$(A)"),
        known(identity(ON_VOLUME, source=config(modelSourceConfig={"modelSourceType": "kubernetesVolume"}))).directory,
    ]
    assert len(set(made)) == len(made)
    assert on_volume(claim, "/m/x/../y") == on_volume(claim, "/m/y") == on_volume(claim, subPath="y")


def test_folders_of_one_custom_resource_differ() -> None:
    folders = ("/opt/ml/model/", "/opt/ml/model/a", "/opt/ml/model/b")
    made = {known(identity(["vllm", "serve", at], source=LLAMA)).directory for at in folders}
    assert len(made) == 3
    assert BASE in made


def test_a_folder_that_is_not_known_gets_none() -> None:
    mounts = [{"name": "v", "mountPath": "/m", "subPathExpr": "$(POD)"}]
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    for volumes in ([claim], []):
        assert isinstance(identity(["vllm", "serve", "/m"], volumes=volumes, volumeMounts=mounts), UnknownIdentity)


def test_a_branch_in_place_of_a_commit_pins_nothing() -> None:
    def from_hub(commit: str) -> Any:
        model = {"modelId": "an/llm", "commitSHA": commit}
        return config(modelSourceConfig={"modelSourceType": "huggingface", "huggingFaceModel": model})

    assert not known(identity(ON_VOLUME, source=from_hub("main"))).is_pinned
    assert known(identity(ON_VOLUME, source=from_hub(COMMIT))).is_pinned


def test_a_random_seed_is_the_one_that_replaces_it() -> None:
    assert known(identity(HUB, {"PYTHONHASHSEED": "random"})) == known(identity(HUB))


def pod_of(**container: Any) -> Origin:
    raw = {"spec": {"containers": [{"name": "e", "image": "vllm/vllm-openai:v1", "command": HUB, **container}]}}
    return Origin((ObjectRef("Pod", "llm", "chat-0"), raw), (CHAT, {}))


@pytest.mark.parametrize(
    "container",
    [
        {"envFrom": [{"configMapRef": {"name": "s"}}]},
        {"env": [{"name": "LMCACHE_CHUNK_SIZE", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}}]},
    ],
)
def test_the_inventory_expects_no_more_than_the_webhook_does(container: dict[str, Any]) -> None:
    seeing = Configs(Objects("c", {}, {}, {("llm", "s"): {"data": {"k": "256"}}}), "llm")
    blind = Configs(Objects("c", {}, {CONFIG_MAPS: "forbidden"}), "llm")
    assert wired(pod_of(**container), seeing, POLICY) == wired(pod_of(**container), blind, POLICY)
    assert "ConfigMap llm/s, which may not be read" in str(wired(pod_of(**container), seeing, POLICY))


@pytest.mark.parametrize(
    "container",
    [
        {"args": ["--kv-transfer-config", '{"kv_connector_extra_config": {"lmcache.remote_url": "fs://x"}}']},
        {"args": ['--kv-transfer-config.kv_connector_extra_config={"lmcache.remote_url": "fs://x"}']},
        {"args": ["--kv-transfer-config.kv_connector_extra_config.lmcache.remote_url", "fs://x"]},
        {
            "env": [
                {
                    "name": "SM_VLLM_KV_TRANSFER_CONFIG",
                    "value": '{"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": '
                    '[{"kv_connector_extra_config": {"lmcache.remote_url": "fs://x"}}]}}',
                }
            ]
        },
    ],
)
def test_a_connector_that_overrides_what_is_injected_is_left_alone(container: dict[str, Any]) -> None:
    made = wired(pod_of(**container), Configs(Objects("c", {}), "llm"), POLICY)
    assert made == "its --kv-transfer-config sets lmcache.remote_url, which LMCache takes in place of its variables"


def test_a_connector_is_seen_in_every_spelling() -> None:
    name = "LMCacheMPConnector"
    for container in (
        {"args": ["--kv-transfer-config.kv_connector", name]},
        {"env": [{"name": "SM_VLLM_KV_TRANSFER_CONFIG", "value": f'{{"kv_connector": "{name}"}}'}]},
    ):
        assert "it uses an LMCache server" in str(wired(pod_of(**container), Configs(Objects("c", {}), "llm"), POLICY))
    plain = ['{"kv_connector": "LMCacheConnectorV1", "kv_connector_extra_config": {"lmcache.local_cpu": true}}']
    found = wired(pod_of(args=["--kv-transfer-config", *plain]), Configs(Objects("c", {}), "llm"), POLICY)
    assert isinstance(found, Wired)
