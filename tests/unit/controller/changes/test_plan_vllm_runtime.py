"""VLLMRuntime and VLLMRouter are written so that their operator notices, or the change is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.plain_looks import (
    Documents,
    applied,
    changed,
    codes,
    container,
    edits,
    pick,
    planned,
    refused,
    turned,
)
from tierdeck.changes.plan import ABSENT, Carried, Carrying
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

GIB = 2**30
RUNTIME = "VLLMRuntime serving/coder"
ENGINE = ObjectRef("Deployment", "serving", "coder")
ROUTER = ObjectRef("Deployment", "serving", "front")
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
NOTICE = f"{RUNTIME} spec.deploymentConfig.podAnnotations.tierdeck.io/changed"
CRDS = Path(__file__).parents[3] / "fixtures" / "crds"


def runtime(**spec: dict[str, Any]) -> Documents:
    """The example with parts of its spec set over; its generation is 6, its buffer 4 GiB per rank."""

    def change(found: Documents) -> None:
        one = pick(found, "VLLMRuntime", "coder")
        one["metadata"]["generation"] = 6
        one["spec"]["lmCacheConfig"]["cpuOffloadingBufferSize"] = "4"
        for name, part in spec.items():
            one["spec"][name] = one["spec"][name] | part

    return changed("production-stack", change)


def router(change: Callable[[dict[str, Any]], object]) -> Documents:
    def both(found: Documents) -> None:
        one = pick(found, "VLLMRouter", "front")
        one["spec"]["routingLogic"] = "roundrobin"
        change(one["spec"])
        engine = container(found, "coder")
        engine["image"] = "vllm/vllm-openai:v0.32.0"
        engine["env"] += [
            {"name": "LMCACHE_ENABLE_CONTROLLER", "value": "True"},
            {"name": "LMCACHE_CONTROLLER_URL", "value": "front:9000"},
        ]

    return changed("production-stack", both)


def test_a_share_changes_its_field_and_an_annotation_that_the_operator_notices() -> None:
    found, wish = runtime(), Wish(l0=L0Wish(share=0.7))
    made = planned(found, wish)
    assert edits(made) == {
        f"{RUNTIME} spec.vllmConfig.gpuMemoryUtilization": ("0.85", "0.7"),
        NOTICE: (ABSENT, "generation-7"),
    }
    write = made.writes[0]
    assert write.address == "/apis/production-stack.vllm.ai/v1alpha1/namespaces/serving/vllmruntimes/coder"
    assert Carried(ENGINE, "vllm", Carrying.ARGUMENT, "--gpu-memory-utilization", "0.7") in made.carries
    assert (made.restarts, made.loses) == ((ENGINE,), (Tier.L0, Tier.L1))
    assert any("does not notice" in one for one in made.warnings)


def test_a_revert_gives_the_annotation_another_value_since_its_loss_would_not_be_noticed() -> None:
    found = runtime()
    made = planned(found, Wish(l0=L0Wish(share=0.7)))
    after = applied(applied(found, made), turned(made))
    spec = pick(after, "VLLMRuntime", "coder")["spec"]
    assert spec["vllmConfig"]["gpuMemoryUtilization"] == "0.85"
    assert spec["deploymentConfig"]["podAnnotations"] == {"tierdeck.io/changed": "back-from-generation-7"}


def test_a_share_that_is_stated_and_not_in_effect_needs_the_annotation_alone() -> None:
    made = planned(runtime(), Wish(l0=L0Wish(share=0.85)))  # its pods run with 0.80
    assert edits(made) == {NOTICE: (ABSENT, "generation-7")}


def test_a_share_that_is_in_effect_is_nothing_to_do() -> None:
    found = runtime(vllmConfig={"gpuMemoryUtilization": "0.80"})
    assert codes(refused(found, Wish(l0=L0Wish(share=0.8)))) == ["nothing_to_do"]


def test_what_would_win_goes_from_the_extra_arguments() -> None:
    extra = ["--max-model-len", "8192", "--kv-cache-memory-bytes=9G", "--gpu-memory-utilization", "0.5"]
    made = planned(runtime(vllmConfig={"extraArgs": extra}), Wish(l0=L0Wish(share=0.7)))
    assert edits(made)[f"{RUNTIME} spec.vllmConfig.extraArgs"] == (extra, ["--max-model-len", "8192"])


@pytest.mark.parametrize(
    ("wished", "words"),
    [
        (L0Wish(size_bytes=8 * GIB), ["--kv-cache-memory-bytes", "8589934592"]),
        (L0Wish(blocks=4096), ["--num-gpu-blocks-override", "4096"]),
    ],
)
def test_bytes_and_blocks_are_extra_arguments(wished: L0Wish, words: list[str]) -> None:
    found = runtime()
    made = planned(found, Wish(l0=wished))
    assert edits(made) == {
        f"{RUNTIME} spec.vllmConfig.extraArgs": (ABSENT, words),
        NOTICE: (ABSENT, "generation-7"),
    }


def test_l1_is_a_plain_number_and_memory_moves_by_the_difference() -> None:
    found, wish = runtime(vllmConfig={"gpuMemoryUtilization": "0.80"}), Wish(l1_bytes=20 * GIB)
    made = planned(found, wish)
    assert edits(made) == {
        f"{RUNTIME} spec.lmCacheConfig.cpuOffloadingBufferSize": ("4", "10"),  # 20 GiB / 2 ranks
        f"{RUNTIME} spec.deploymentConfig.resources.memory": ("16Gi", "28Gi"),  # 20 - 2 x 4 = 12 GiB more
    }
    assert made.carries == (Carried(ENGINE, "vllm", Carrying.ENVIRONMENT, SIZE, "10"),)
    after = applied(found, made)
    assert codes(refused(after, wish)) == ["nothing_to_do"]
    assert applied(after, turned(made)) == found


def test_a_quantity_as_the_definition_s_default_has_it_takes_none() -> None:
    made = planned(changed("production-stack"), Wish(l1_bytes=20 * GIB))
    assert edits(made)[f"{RUNTIME} spec.lmCacheConfig.cpuOffloadingBufferSize"] == ("4Gi", "10")
    assert edits(made)[f"{RUNTIME} spec.deploymentConfig.resources.memory"] == ("16Gi", "36Gi")
    assert any("4Gi is not a plain number" in one for one in made.warnings)


def test_what_the_operator_did_not_notice_so_far_comes_along() -> None:
    made = planned(runtime(), Wish(l1_bytes=20 * GIB))
    assert any("--gpu-memory-utilization 0.85), not in effect so far, comes with it" in one for one in made.warnings)


IN_ENV = {"env": [{"name": SIZE, "value": "9"}]}
IN_CLEAR = {"extraArgs": ["--api-key", "sk-canary"]}
SHARE = Wish(l0=L0Wish(share=0.5))
REFUSED: dict[str, tuple[Documents, Wish, str, str]] = {
    "LMCache off": (runtime(lmCacheConfig={"enabled": False}), Wish(l1_bytes=GIB), "not_possible", "is not enabled"),
    "L1 off": (runtime(), Wish(l1_bytes=0), "not_possible", "turns L1 alone off"),
    "a variable": (runtime(vllmConfig=IN_ENV), Wish(l1_bytes=GIB), "silent_no_op", "update for ever"),
    "L2 remote": (runtime(), Wish(l2_bytes=GIB), "not_possible", "takes no size"),
    "L2 disk": (runtime(lmCacheConfig={"remoteUrl": ""}), Wish(l2_bytes=GIB), "not_possible", "path named True"),
    "a secret": (runtime(vllmConfig=IN_CLEAR), SHARE, "not_possible", "(--api-key)"),
}


@pytest.mark.parametrize(("found", "wish", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_what_would_have_no_effect_is_refused(found: Documents, wish: Wish, code: str, words: str) -> None:
    (refusal,) = refused(found, wish)
    assert (refusal.code, words in refusal.reason) == (code, True), refusal
    assert "canary" not in refusal.reason


SWITCHES: list[tuple[str, dict[str, Any]]] = [
    ("prefixaware", {}),
    ("session", {"sessionKey": "x-user"}),
    ("kvaware", {"lmcacheControllerPort": 9000}),
]


@pytest.mark.parametrize(("wished", "more"), SWITCHES)
def test_a_strategy_is_the_router_s_field(wished: str, more: dict[str, Any]) -> None:
    found = router(lambda spec: spec.update(more))
    made = planned(found, Wish(strategy=wished))
    assert edits(made) == {"VLLMRouter serving/front spec.routingLogic": ("roundrobin", wished)}
    assert made.carries == (Carried(ROUTER, "router", Carrying.ARGUMENT, "--routing-logic", wished),)
    assert (made.restarts, made.strategy) == ((ROUTER,), wished)
    after = applied(found, made)
    assert codes(refused(after, Wish(strategy=wished))) == ["nothing_to_do"]
    assert applied(after, turned(made)) == found


def test_a_strategy_needs_its_companions() -> None:
    found = router(lambda spec: None)
    assert codes(refused(found, Wish(strategy="session"))) == ["session_key_missing"]
    assert codes(refused(found, Wish(strategy="kvaware"))) == ["kvaware_controller"]


@pytest.mark.parametrize("extra", [["--routing-logic", "session"], ["--dynamic-config-json", "/d.json"]])
def test_an_extra_argument_that_wins_over_the_field_is_refused(extra: list[str]) -> None:
    (refusal,) = refused(router(lambda spec: spec.update(extraArgs=extra)), Wish(strategy="prefixaware"))
    assert (refusal.code, extra[0] in refusal.reason) == ("silent_no_op", True)


def test_without_a_router_that_selects_it_there_is_no_strategy() -> None:
    (refusal,) = refused(router(lambda spec: spec.update(k8sLabelSelector="model=other")), Wish(strategy="session"))
    assert (refusal.code, "No VLLMRouter selects" in refusal.reason) == ("not_possible", True)


def with_crd(*strategies: str) -> Documents:
    (made,) = yaml.safe_load_all((CRDS / "production-stack.vllm.ai_vllmrouters.yaml").read_text("utf-8"))
    if strategies:
        schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        schema["routingLogic"]["enum"] = list(strategies)
    return [*router(lambda spec: None), made]


def test_the_live_definition_says_which_strategies_there_are() -> None:
    older = with_crd("roundrobin", "session")
    (refusal,) = refused(older, Wish(strategy="prefixaware"))
    assert (refusal.code, refusal.fix.startswith("Choose roundrobin, session,")) == ("unknown_strategy", True)
    made = planned(with_crd(), Wish(strategy="prefixaware"))
    assert not any("could not be read" in one for one in made.warnings)
    made = planned(router(lambda spec: None), Wish(strategy="prefixaware"))
    assert any("could not be read" in one for one in made.warnings)


def test_a_newer_strategy_of_the_live_definition_is_offered() -> None:
    made = planned(with_crd("roundrobin", "loadaware"), Wish(strategy="loadaware"))
    assert made.strategy == "loadaware"
