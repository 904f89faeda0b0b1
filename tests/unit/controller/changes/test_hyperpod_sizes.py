"""L0 and L1 of an InferenceEndpointConfig: the exact fields, and each trap of its operator and of LMCache."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.planners.hyperpod import HYPERPOD
from tests.support.hyperpod_planning import chat, everywhere, hyperpod, source
from tests.support.planning import plan, refusals
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

GIB = 1 << 30
ENGINES = ObjectRef("Deployment", "inference", "chat")
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
VALUE = ("spec", "worker", "environmentVariables", f"[name={SIZE}]", "value")
ARGS = ("spec", "worker", "args")
SHARED = ["--model", "/opt/ml/model", "--tensor-parallel-size", "2"]


def edits(made: Any, wish: Wish) -> dict[str, tuple[Any, Any]]:
    (write,) = plan(HYPERPOD, chat(made), wish).writes
    return {one.where: (one.before, one.after) for one in write.edits}


def test_l0_is_the_whole_list_of_arguments_with_the_flag_in_its_place() -> None:
    made = plan(HYPERPOD, chat(hyperpod()), Wish(l0=L0Wish(share=0.85)))
    before = [*SHARED, "--gpu-memory-utilization=0.9"]
    assert made.writes[0].edits == (FieldEdit(ARGS, before, [*SHARED, "--gpu-memory-utilization=0.85"]),)
    assert made.carries == (
        Carried(ENGINES, "chat", Carrying.ARGUMENT, "--gpu-memory-utilization", "0.85"),
        Carried(ENGINES, "chat", Carrying.ARGUMENT, "--kv-cache-memory-bytes", None),
        Carried(ENGINES, "chat", Carrying.ARGUMENT, "--num-gpu-blocks-override", None),
    )
    assert (ENGINES in made.restarts, made.loses, made.strategy) == (True, (Tier.L0, Tier.L1), "")


def test_a_flag_that_would_win_goes_in_the_same_edit() -> None:
    made = hyperpod()
    source(made)["worker"]["args"] = [*SHARED, "--kv-cache-memory-bytes", "12G", "--num-gpu-blocks-override", "9"]
    after = [*SHARED, "--gpu-memory-utilization", "0.8"]
    assert edits(made, Wish(l0=L0Wish(share=0.8)))["spec.worker.args"][1] == after


def test_bytes_and_blocks_are_flags_of_their_own() -> None:
    args = [*SHARED, "--gpu-memory-utilization=0.9"]
    # 12 × 2^30 = 12884901888
    found = edits(hyperpod(), Wish(l0=L0Wish(size_bytes=12 * GIB)))
    assert found == {"spec.worker.args": (args, [*args, "--kv-cache-memory-bytes", "12884901888"])}
    found = edits(hyperpod(), Wish(l0=L0Wish(blocks=4096)))
    assert found == {"spec.worker.args": (args, [*args, "--num-gpu-blocks-override", "4096"])}


def test_l0_as_it_is_is_nothing_to_do() -> None:
    assert list(refusals(HYPERPOD, chat(hyperpod()), Wish(l0=L0Wish(share=0.9)))) == ["nothing_to_do"]


def test_prefill_and_decode_keep_their_own_where_both_state_one() -> None:
    made = hyperpod()
    source(made)["pdSpec"] = {
        "prefillSpec": {"args": ["--gpu-memory-utilization=0.8"]},
        "decodingSpec": {"args": ["--max-num-seqs", "64", "--gpu-memory-utilization", "0.9"]},
    }
    # the shared one goes, so that each engine is told it once
    assert edits(made, Wish(l0=L0Wish(share=0.85))) == {
        "spec.worker.args": ([*SHARED, "--gpu-memory-utilization=0.9"], SHARED),
        "spec.pdSpec.prefillSpec.args": (["--gpu-memory-utilization=0.8"], ["--gpu-memory-utilization=0.85"]),
        "spec.pdSpec.decodingSpec.args": (
            ["--max-num-seqs", "64", "--gpu-memory-utilization", "0.9"],
            ["--max-num-seqs", "64", "--gpu-memory-utilization", "0.85"],
        ),
    }


def test_one_that_only_prefill_states_becomes_the_shared_one() -> None:
    made = hyperpod()
    source(made)["pdSpec"] = {
        "prefillSpec": {"args": ["--max-num-seqs", "8", "--kv-cache-memory-bytes=8G"]},
        "decodingSpec": {},
    }
    assert edits(made, Wish(l0=L0Wish(share=0.85))) == {
        "spec.worker.args": (
            [*SHARED, "--gpu-memory-utilization=0.9"],
            [*SHARED, "--gpu-memory-utilization=0.85"],
        ),
        "spec.pdSpec.prefillSpec.args": (
            ["--max-num-seqs", "8", "--kv-cache-memory-bytes=8G"],
            ["--max-num-seqs", "8"],
        ),
    }


def test_l0_by_a_variable_of_aws_images_is_refused() -> None:
    made = hyperpod()
    source(made)["worker"]["environmentVariables"].append({"name": "SM_VLLM_GPU_MEMORY_UTILIZATION", "value": "0.9"})
    found = refusals(HYPERPOD, chat(made), Wish(l0=L0Wish(share=0.85)))
    assert "SM_VLLM_GPU_MEMORY_UTILIZATION sets L0" in found["not_possible"].reason


def test_l1_is_a_plain_number_per_rank_and_memory_moves_with_it() -> None:
    made = hyperpod()
    source(made)["worker"]["resources"] = {
        "requests": {"memory": "200Gi", "nvidia.com/gpu": 2},
        "limits": {"memory": "220Gi", "nvidia.com/gpu": 2},
    }
    # 100 GiB of two ranks are 50 per rank; 80 GiB were there, so 20 GiB more: 220 and 240
    assert edits(made, Wish(l1_bytes=100 * GIB)) == {
        f"spec.worker.environmentVariables[name={SIZE}].value": ("40", "50"),
        "spec.worker.resources.requests.memory": ("200Gi", "220Gi"),
        "spec.worker.resources.limits.memory": ("220Gi", "240Gi"),
    }


def test_a_smaller_l1_gives_the_memory_back() -> None:
    made = hyperpod()
    source(made)["worker"]["resources"] = {"requests": {"memory": "200Gi"}}
    # 25 GiB are 12.5 per rank; 80 - 25 = 55 less: 145
    assert edits(made, Wish(l1_bytes=25 * GIB)) == {
        f"spec.worker.environmentVariables[name={SIZE}].value": ("40", "12.5"),
        "spec.worker.resources.requests.memory": ("200Gi", "145Gi"),
    }


def test_every_engine_is_asked_for_the_size_once_and_the_report_is_named() -> None:
    made = plan(HYPERPOD, chat(hyperpod()), Wish(l1_bytes=100 * GIB))
    assert made.carries == (Carried(ENGINES, "chat", Carrying.ENVIRONMENT, SIZE, "50"),)
    said = " ".join(made.warnings)
    assert f"Some versions of the operator drop or double {SIZE} (sagemaker-hyperpod-cli#431)" in said
    assert "states no memory, so nothing reserves what L1 takes on the node." in said


def test_a_size_that_was_not_stated_counts_as_what_pods_carry() -> None:
    made = hyperpod()
    worker = source(made)["worker"]
    worker["environmentVariables"] = [{"name": "PYTHONHASHSEED", "value": "0"}]
    worker["resources"] = {"requests": {"memory": "200Gi"}}
    # the operator rendered 40 GiB × 2 ranks: 100 GiB are 20 more
    assert edits(made, Wish(l1_bytes=100 * GIB)) == {
        f"spec.worker.environmentVariables[name={SIZE}]": (ABSENT, {"name": SIZE, "value": "50"}),
        "spec.worker.resources.requests.memory": ("200Gi", "220Gi"),
    }


def test_where_nothing_tells_the_old_size_memory_grows_by_all_of_it() -> None:
    made = hyperpod()
    worker = source(made)["worker"]
    worker["environmentVariables"][0]["value"] = "4Gi"  # float() refuses it, so LMCache takes none from it
    worker["resources"] = {"requests": {"memory": "200Gi"}}
    for engine in everywhere(made):
        engine["env"][0]["value"] = "4Gi"
    found = plan(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB))
    assert [(one.before, one.after) for one in found.writes[0].edits] == [("4Gi", "50"), ("200Gi", "300Gi")]
    assert any("grows by all of its 100 GiB" in one for one in found.warnings)


def test_off_is_the_switch_and_keeps_the_buffer_that_l2_needs() -> None:
    made = hyperpod()
    source(made)["worker"]["resources"] = {"requests": {"memory": "200Gi"}}
    assert edits(made, Wish(l1_bytes=0)) == {"spec.kvCacheSpec.enableL1Cache": (True, False)}
    source(made)["kvCacheSpec"]["enableL2Cache"] = False
    # without L2 there is no LMCache: 200 - 80 = 120
    assert edits(made, Wish(l1_bytes=0)) == {
        "spec.kvCacheSpec.enableL1Cache": (True, False),
        "spec.worker.resources.requests.memory": ("200Gi", "120Gi"),
    }


def test_off_takes_out_a_variable_that_would_switch_it_on_again() -> None:
    made = hyperpod()
    source(made)["worker"]["environmentVariables"].append({"name": "LMCACHE_LOCAL_CPU", "value": "True"})
    for engine in everywhere(made):
        engine["env"].append({"name": "LMCACHE_LOCAL_CPU", "value": "True"})
    assert edits(made, Wish(l1_bytes=0)) == {
        "spec.kvCacheSpec.enableL1Cache": (True, False),
        "spec.worker.environmentVariables[name=LMCACHE_LOCAL_CPU]": (
            {"name": "LMCACHE_LOCAL_CPU", "value": "True"},
            ABSENT,
        ),
    }


def test_a_size_switches_on_what_was_off() -> None:
    made = hyperpod()
    source(made)["kvCacheSpec"] = {"enableL1Cache": False, "enableL2Cache": False}
    source(made)["worker"]["resources"] = {"requests": {"memory": "100Gi"}}
    # off, and without L2: nothing was held, so all 80 GiB come on top
    assert edits(made, Wish(l1_bytes=80 * GIB)) == {
        "spec.kvCacheSpec.enableL1Cache": (False, True),
        "spec.worker.resources.requests.memory": ("100Gi", "180Gi"),
    }


def test_off_and_off_already_is_nothing_to_do() -> None:
    made = hyperpod()
    source(made)["kvCacheSpec"] = {"enableL1Cache": False, "enableL2Cache": False}
    assert list(refusals(HYPERPOD, chat(made), Wish(l1_bytes=0))) == ["nothing_to_do"]
    assert list(refusals(HYPERPOD, chat(hyperpod()), Wish(l1_bytes=80 * GIB))) == ["nothing_to_do"]


def test_l0_and_l1_are_one_write_and_one_restart() -> None:
    found = edits(hyperpod(), Wish(l0=L0Wish(share=0.85), l1_bytes=100 * GIB))
    assert list(found) == ["spec.worker.args", f"spec.worker.environmentVariables[name={SIZE}].value"]


def test_prefill_and_decode_with_other_ranks_have_no_common_size() -> None:
    made = hyperpod()
    source(made)["pdSpec"] = {"prefillSpec": {"args": ["--tensor-parallel-size", "4"]}, "decodingSpec": {}}
    found = refusals(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB))
    assert "prefill and decode have another number of ranks each" in found["not_possible"].reason


def test_memory_of_prefill_and_decode_moves_where_they_state_it() -> None:
    made = hyperpod()
    source(made)["pdSpec"] = {
        "prefillSpec": {"resources": {"requests": {"memory": "200Gi"}}},
        "decodingSpec": {"resources": {"limits": {"nvidia.com/gpu": 2}}},
    }
    assert edits(made, Wish(l1_bytes=100 * GIB)) == {
        f"spec.worker.environmentVariables[name={SIZE}].value": ("40", "50"),
        "spec.pdSpec.prefillSpec.resources.requests.memory": ("200Gi", "220Gi"),
    }


def test_ranks_by_a_variable_of_aws_images_count() -> None:
    made = hyperpod()
    worker = source(made)["worker"]
    worker["args"] = ["--model", "/opt/ml/model"]
    worker["environmentVariables"].append({"name": "SM_VLLM_TENSOR_PARALLEL_SIZE", "value": "4"})
    # 100 GiB of four ranks are 25 per rank
    assert edits(made, Wish(l1_bytes=100 * GIB))[f"spec.worker.environmentVariables[name={SIZE}].value"] == (
        "40",
        "25",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kvCacheSpec": {"cacheConfigFile": "/opt/lmcache.yaml"}}, "cacheConfigFile /opt/lmcache.yaml overrides"),
        ({"kvCacheSpec": {"lmcache": {"mode": "MultiProcess"}}}, "lmcache.mode is MultiProcess, so L1 is its server's"),
    ],
)
def test_what_overrides_the_variable_is_refused(change: dict[str, Any], words: str) -> None:
    made = hyperpod()
    source(made).update(change)
    found = refusals(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB))
    assert words in found["not_possible"].reason


@pytest.mark.parametrize(
    ("args", "env", "words"),
    [
        (
            [],
            {"name": "LMCACHE_CONFIG_FILE", "value": "/a.yaml"},
            "LMCACHE_CONFIG_FILE is set, and LMCache then ignores",
        ),
        (["--kv-offloading-size", "20"], None, "--kv-offloading-size gives L1 to vLLM itself"),
        (
            ["--kv-transfer-config", '{"kv_connector": "LMCacheMPConnector"}'],
            None,
            "an LMCache server holds L1, whose size is its own --l1-size-gb",
        ),
        (
            [
                "--kv-transfer-config",
                '{"kv_connector":"LMCacheConnectorV1","kv_connector_extra_config":{"lmcache.max_local_cpu_size":9}}',
            ],
            None,
            "--kv-transfer-config sets lmcache.max_local_cpu_size, which wins",
        ),
    ],
)
def test_what_wins_over_the_variable_is_refused(args: list[str], env: dict[str, str] | None, words: str) -> None:
    made = hyperpod()
    worker = source(made)["worker"]
    worker["args"] += args
    worker["environmentVariables"] += [env] if env else []
    found = refusals(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB))
    assert words in found["not_possible"].reason


def test_a_value_from_elsewhere_is_not_replaced() -> None:
    made = hyperpod()
    source(made)["worker"]["environmentVariables"][0] = {
        "name": SIZE,
        "valueFrom": {"configMapKeyRef": {"name": "sizes", "key": "l1"}},
    }
    found = refusals(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB))
    assert f"{SIZE} comes from configMapKeyRef sizes l1" in found["not_possible"].reason


def test_an_operator_that_drops_the_variables_would_drop_this_one_after_a_restart_for_nothing() -> None:
    made = hyperpod("v3.2.0")
    for engine in everywhere(made):
        engine["env"] = [one for one in engine["env"] if one["name"] != SIZE]
    found = refusals(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB))
    assert list(found) == ["silent_no_op"]
    assert f"The operator 3.2.0 leaves {SIZE} out" in found["silent_no_op"].reason


def test_an_operator_that_doubles_it_is_named() -> None:
    made = hyperpod()
    for engine in everywhere(made):
        engine["env"].insert(0, {"name": SIZE, "value": "5.0"})
    warnings = plan(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB)).warnings
    assert any(one.startswith(f"The operator doubles {SIZE} (sagemaker-hyperpod-cli#431)") for one in warnings)


def test_l2_has_no_size_there() -> None:
    found = refusals(HYPERPOD, chat(hyperpod()), Wish(l2_bytes=900 * GIB))
    assert list(found) == ["not_possible"]
    assert "the sum of the data directories of Curvine's workers" in found["not_possible"].reason


def test_an_endpoint_without_kv_cache_has_no_lmcache_to_size() -> None:
    made = hyperpod()
    del source(made)["kvCacheSpec"]
    source(made)["worker"]["environmentVariables"] = []
    for engine in everywhere(made):
        engine["env"] = []
    found = refusals(HYPERPOD, chat(made), Wish(l1_bytes=100 * GIB))
    assert "has no kvCacheSpec, so its engines have no LMCache" in found["not_possible"].reason
