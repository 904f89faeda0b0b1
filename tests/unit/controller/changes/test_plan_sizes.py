"""Other sizes become the right writes for a plain engine, its memory with them, or are refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.plain_looks import (
    Documents,
    applied,
    changed,
    codes,
    container,
    edits,
    look_at,
    pick,
    planned,
    refused,
    turned,
)
from tierdeck.changes.plan import ABSENT, Carried, Carrying, Plan
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef
from tierdeck.tiers import Tier

GIB = 2**30
ENGINE = ObjectRef("Deployment", "llm", "mistral")
AT = "Deployment llm/mistral spec.template.spec.containers[name=server]"
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
TRANSFER = ["--kv-transfer-config", '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}']
BASE = ["mistralai/Mistral-7B", "--tensor-parallel-size", "2", *TRANSFER]
MP = ["--kv-transfer-config", '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}']


def engine(*args: str, env: dict[str, str] | None = None, **more: Any) -> Callable[[Documents], None]:
    """An engine with a list of arguments; its memory is 64 GiB asked for, 80 GiB at most."""

    def change(found: Documents) -> None:
        one = container(found, "mistral")
        one |= {
            "command": ["vllm", "serve"],
            "args": [*args],
            "env": [{"name": name, "value": value} for name, value in (env or {}).items()],
            "resources": {"requests": {"memory": "64Gi", "cpu": "8"}, "limits": {"memory": "80Gi"}},
            **more,
        }

    return change


def sized(*args: str, env: dict[str, str] | None = None, **more: Any) -> Documents:
    return changed("deployment", engine(*args, env=env, **more))


def back_and_forth(found: Documents, made: Plan, wish: Wish) -> None:
    """Written, it is as wished; taken back, it is as it was."""
    after = applied(found, made)
    assert codes(refused(after, wish)) == ["nothing_to_do"]
    assert applied(after, turned(made)) == found


L0: list[tuple[L0Wish, list[str], list[str]]] = [
    (L0Wish(share=0.85), ["--gpu-memory-utilization", "0.9"], ["--gpu-memory-utilization", "0.85"]),
    (L0Wish(share=0.85), ["--gpu_memory_utilization=0.9"], ["--gpu_memory_utilization=0.85"]),
    (L0Wish(share=0.85), [], ["--gpu-memory-utilization", "0.85"]),
    (
        L0Wish(share=0.85),
        ["--kv-cache-memory-bytes", "16G", "--num-gpu-blocks-override=9"],
        ["--gpu-memory-utilization", "0.85"],
    ),
    (
        L0Wish(size_bytes=12 * GIB),
        ["--gpu-memory-utilization", "0.9", "--num-gpu-blocks-override", "9"],
        ["--gpu-memory-utilization", "0.9", "--kv-cache-memory-bytes", "12884901888"],
    ),
    (L0Wish(blocks=4096), ["--kv-cache-memory-bytes=16G"], ["--num-gpu-blocks-override", "4096"]),
]


@pytest.mark.parametrize(("wished", "before", "after"), L0)
def test_l0_is_the_flag_that_is_wished_and_what_would_win_over_it_goes(
    wished: L0Wish, before: list[str], after: list[str]
) -> None:
    found, wish = sized(*BASE, *before), Wish(l0=wished)
    made = planned(found, wish)
    assert edits(made) == {f"{AT}.args": ([*BASE, *before], [*BASE, *after])}
    assert (made.restarts, made.loses) == ((ENGINE,), (Tier.L0, Tier.L1))
    assert any("a revert costs the same again" in one for one in made.warnings)
    back_and_forth(found, made, wish)


def test_pods_must_not_carry_what_would_win() -> None:
    made = planned(sized(*BASE), Wish(l0=L0Wish(share=0.85)))
    assert made.carries == (
        Carried(ENGINE, "server", Carrying.ARGUMENT, "--kv-cache-memory-bytes", None),
        Carried(ENGINE, "server", Carrying.ARGUMENT, "--num-gpu-blocks-override", None),
        Carried(ENGINE, "server", Carrying.ARGUMENT, "--gpu-memory-utilization", "0.85"),
    )


@pytest.mark.parametrize("spelled", ["0.9", "0.90", ".9"])
def test_a_share_that_is_spelled_otherwise_is_the_same_share(spelled: str) -> None:
    found = sized(*BASE, "--gpu-memory-utilization", spelled)
    assert codes(refused(found, Wish(l0=L0Wish(share=0.9)))) == ["nothing_to_do"]


def test_bytes_in_vllm_s_units_are_the_same_bytes() -> None:
    found = sized(*BASE, "--kv-cache-memory-bytes", "16G")
    assert codes(refused(found, Wish(l0=L0Wish(size_bytes=16 * GIB)))) == ["nothing_to_do"]


def test_bytes_are_told_to_an_engine_without_prefix_caching_too() -> None:
    found, wish = sized(*BASE, "--no-enable-prefix-caching"), Wish(l0=L0Wish(size_bytes=GIB))
    back_and_forth(found, planned(found, wish), wish)


def test_an_image_that_makes_arguments_of_variables_is_left_alone() -> None:
    (refusal,) = refused(sized(*BASE, env={"SM_VLLM_GPU_MEMORY_UTILIZATION": "0.8"}), Wish(l0=L0Wish(share=0.85)))
    assert "SM_VLLM_GPU_MEMORY_UTILIZATION" in refusal.reason


def test_a_cpu_engine_has_rules_of_its_own() -> None:
    (refusal,) = refused(sized(*BASE, env={"VLLM_CPU_KVCACHE_SPACE": "4"}), Wish(l0=L0Wish(share=0.85)))
    assert (refusal.code, "VLLM_CPU_KVCACHE_SPACE" in refusal.reason) == ("not_possible", True)


def test_l0_without_prefix_caching_is_warned_of() -> None:
    made = planned(sized(*BASE, "--no-enable-prefix-caching", "--config", "/c.yaml"), Wish(l0=L0Wish(share=0.85)))
    assert any("prefix caching is off" in one for one in made.warnings)
    assert any("file of --config" in one for one in made.warnings)


def test_l1_is_a_plain_number_per_rank_and_memory_moves_by_the_difference() -> None:
    found, wish = sized(*BASE, env={SIZE: "10", "HF_TOKEN": "x"}), Wish(l1_bytes=60 * GIB)
    made = planned(found, wish)
    assert edits(made) == {
        f"{AT}.env[name={SIZE}].value": ("10", "30"),  # 60 GiB / 2 ranks
        f"{AT}.resources.requests.memory": ("64Gi", "104Gi"),  # 60 - 2 x 10 = 40 GiB more
        f"{AT}.resources.limits.memory": ("80Gi", "120Gi"),
    }
    assert made.carries == (Carried(ENGINE, "server", Carrying.ENVIRONMENT, SIZE, "30"),)
    assert made.loses == (Tier.L0, Tier.L1)
    assert look_at(applied(found, made)).deployed.configured.l1.size_bytes == 60 * GIB
    back_and_forth(found, made, wish)


def test_l1_that_is_not_stated_is_lmcache_s_default() -> None:
    found, wish = sized(*BASE), Wish(l1_bytes=GIB)
    made = planned(found, wish)
    assert edits(made) == {
        f"{AT}.env[name={SIZE}]": (ABSENT, {"name": SIZE, "value": "0.5"}),
        f"{AT}.resources.requests.memory": ("64Gi", "55Gi"),  # 1 - 2 x 5 = 9 GiB less
        f"{AT}.resources.limits.memory": ("80Gi", "71Gi"),
    }
    assert applied(applied(found, made), turned(made))[0]["spec"]["template"]["spec"]["containers"][0]["env"] == []


def test_l1_that_is_a_quantity_takes_none_so_memory_grows_by_all_of_it() -> None:
    made = planned(sized(*BASE, env={SIZE: "4Gi"}), Wish(l1_bytes=16 * GIB))
    assert edits(made)[f"{AT}.env[name={SIZE}].value"] == ("4Gi", "8")
    assert edits(made)[f"{AT}.resources.limits.memory"] == ("80Gi", "96Gi")
    assert any("memory grows by all of 16 GiB" in one for one in made.warnings)


def test_l1_off_is_the_switch_and_its_staging_memory_stays() -> None:
    found, wish = sized(*BASE, env={SIZE: "10"}), Wish(l1_bytes=0)
    made = planned(found, wish)
    assert edits(made) == {
        f"{AT}.env[name=LMCACHE_LOCAL_CPU]": (ABSENT, {"name": "LMCACHE_LOCAL_CPU", "value": "False"})
    }
    off = applied(found, made)
    assert codes(refused(off, wish)) == ["nothing_to_do"]
    again = planned(off, Wish(l1_bytes=20 * GIB))
    assert edits(again) == {f"{AT}.env[name=LMCACHE_LOCAL_CPU].value": ("False", "True")}


def test_a_duplicate_becomes_one() -> None:
    env = [{"name": SIZE, "value": "3"}, {"name": SIZE, "value": "10"}]
    found = sized(*BASE)
    container(found, "mistral")["env"] = env
    made = planned(found, Wish(l1_bytes=60 * GIB))
    assert edits(made)[f"{AT}.env[name={SIZE}]"] == (env[1], {"name": SIZE, "value": "30"})


def test_l0_and_l1_are_one_write() -> None:
    found, wish = sized(*BASE, env={SIZE: "10"}), Wish(l0=L0Wish(share=0.8), l1_bytes=40 * GIB)
    made = planned(found, wish)
    assert len(made.writes) == 1
    assert len(made.writes[0].edits) == 4
    back_and_forth(found, made, wish)


def test_vllm_s_own_offloading_is_one_number_of_all_ranks() -> None:
    base = [*BASE[:3], "--kv-offloading-size", "8"]
    found, wish = sized(*base), Wish(l1_bytes=20 * GIB)
    made = planned(found, wish)
    assert edits(made) == {
        f"{AT}.args": (base, [*base[:-1], "20"]),
        f"{AT}.resources.requests.memory": ("64Gi", "76Gi"),
        f"{AT}.resources.limits.memory": ("80Gi", "92Gi"),
    }
    back_and_forth(found, made, wish)


L1_REFUSED: dict[str, tuple[Documents, str]] = {
    "no connector": (sized("m"), "no argument names a KV connector"),
    "another connector": (sized("m", "--kv-transfer-config", '{"kv_connector": "NixlConnector"}'), "NixlConnector"),
    "a file": (sized(*BASE, env={"LMCACHE_CONFIG_FILE": "/c.yaml"}), "with a file LMCache ignores its variables"),
    "the connector's own": (
        sized("m", "--kv-transfer-config", '{"kv_connector": "LMCacheConnectorV1", "kv_connector_extra_config": '
              '{"lmcache.max_local_cpu_size": 4}}'),
        "sets lmcache.max_local_cpu_size",
    ),
    "a script": (changed("deployment"), "L1 would still be 30 GiB × 2 ranks"),
    "ranks": (sized(*TRANSFER, "--tensor-parallel-size", "$(TP)"), "how many ranks share L1 is not known"),
    "a server that is not found": (sized("m", *MP), "which LMCache server it uses is not clear (none)"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "words"), L1_REFUSED.values(), ids=L1_REFUSED)
def test_l1_that_something_else_decides_is_refused(found: Documents, words: str) -> None:
    (refusal,) = refused(found, Wish(l1_bytes=20 * GIB))
    assert (refusal.code, words in refusal.reason) == ("not_possible", True), refusal


def test_memory_that_would_be_gone_is_refused() -> None:
    found = sized(*BASE, env={SIZE: "40"})  # 2 x 40 GiB of at most 80 GiB
    (refusal,) = refused(found, Wish(l1_bytes=2 * 2**20))
    assert "resources.requests.memory is 64 GiB" in refusal.reason


SERVER = {
    "name": "lmcache", "image": "lmcache/standalone:v0.5.6", "command": ["lmcache", "server", "--l1-size-gb", "60"],
    "resources": {"limits": {"memory": "70Gi"}},
}  # fmt: skip


def test_a_server_in_the_pod_is_told_and_its_memory_moves() -> None:
    def beside(found: Documents) -> None:
        engine("m", *MP)(found)
        pick(found, "Deployment", "mistral")["spec"]["template"]["spec"]["containers"].append(SERVER)

    found, wish = changed("deployment", beside), Wish(l1_bytes=100 * GIB)
    made = planned(found, wish)
    at = "Deployment llm/mistral spec.template.spec.containers[name=lmcache]"
    assert edits(made) == {
        f"{at}.command": (SERVER["command"], ["lmcache", "server", "--l1-size-gb", "100"]),
        f"{at}.resources.limits.memory": ("70Gi", "110Gi"),
    }
    assert made.loses == (Tier.L0, Tier.L1)
    back_and_forth(found, made, wish)


def test_a_server_per_node_is_its_daemon_set_s_and_engines_stay() -> None:
    daemons = {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "lmcache", "namespace": "cache"},
        "spec": {"selector": {"matchLabels": {"app": "l"}}, "template": {"spec": {"containers": [SERVER]}}},
    }  # fmt: skip

    def per_node(found: Documents) -> None:
        engine("m", *MP)(found)
        found.append(daemons)

    found, wish = changed("deployment", per_node), Wish(l1_bytes=30 * GIB)
    made = planned(found, wish)
    at = "DaemonSet cache/lmcache spec.template.spec.containers[name=lmcache]"
    assert edits(made) == {
        f"{at}.command": (SERVER["command"], ["lmcache", "server", "--l1-size-gb", "30"]),
        f"{at}.resources.limits.memory": ("70Gi", "40Gi"),
    }
    assert (made.restarts, made.loses) == ((ObjectRef("DaemonSet", "cache", "lmcache"),), (Tier.L1,))
    assert any("shared by every engine on its node" in one for one in made.warnings)


def served(*args: str) -> Documents:
    def beside(found: Documents) -> None:
        engine("m", *MP)(found)
        server = SERVER | {"args": [*args]}
        pick(found, "Deployment", "mistral")["spec"]["template"]["spec"]["containers"].append(server)

    return changed("deployment", beside)


def test_a_server_s_adapter_is_told_its_capacity() -> None:
    found, wish = (
        served("--l2-adapter", '{"type": "fs", "base_path": "/d", "max_capacity_gb": 50}'),
        Wish(l2_bytes=80 * GIB),
    )
    made = planned(found, wish)
    ((before, after),) = edits(made).values()
    assert (before, after) == (
        ["--l2-adapter", '{"type": "fs", "base_path": "/d", "max_capacity_gb": 50}'],
        ["--l2-adapter", '{"type": "fs", "base_path": "/d", "max_capacity_gb": 80}'],
    )
    assert any("counts only what it writes itself" in one for one in made.warnings)
    back_and_forth(found, made, wish)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "has no L2 adapters"),
        (["--l2-adapter", "{}", "--l2-adapter", "{}"], "has 2 L2 adapters"),
        (["--l2-adapter", "fs"], "no JSON object"),
        (["--l2-adapter", '{"type": "fs"}'], "states no max_capacity_gb"),
    ],
)
def test_a_server_without_one_capacity_is_refused(args: list[str], words: str) -> None:
    (refusal,) = refused(served(*args), Wish(l2_bytes=GIB))
    assert (refusal.code, words in refusal.reason) == ("not_possible", True), refusal


def test_l0_beside_a_server_loses_l0_alone() -> None:
    made = planned(sized("m", *MP), Wish(l0=L0Wish(share=0.5)))
    assert made.loses == (Tier.L0,)


def test_a_local_disk_is_sized_per_rank() -> None:
    env = {"LMCACHE_LOCAL_DISK": "file:///nvme/", "LMCACHE_MAX_LOCAL_DISK_SIZE": "50"}
    found, wish = sized(*BASE, env=env), Wish(l2_bytes=200 * GIB)
    made = planned(found, wish)
    assert edits(made) == {f"{AT}.env[name=LMCACHE_MAX_LOCAL_DISK_SIZE].value": ("50", "100")}
    assert made.loses == (Tier.L0, Tier.L1, Tier.L2)
    back_and_forth(found, made, wish)


L2_REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "a file system": ({"LMCACHE_REMOTE_URL": "fs://localhost:0/mnt/l2/"}, "LMCache keeps no limit on a file system"),
    "a cache server": ({"LMCACHE_REMOTE_URL": "lm://cache:81"}, "takes no size, and evicts nothing"),
    "another remote": ({"LMCACHE_REMOTE_URL": "redis://r:1"}, "a remote of the kind redis"),
    "a size alone": ({"LMCACHE_MAX_LOCAL_DISK_SIZE": "50"}, "alone turns no tier on"),
    "a path named True": ({"LMCACHE_LOCAL_DISK": "True"}, "LMCACHE_LOCAL_DISK is True"),
    "nothing": ({}, "no L2 is configured"),
}


@pytest.mark.parametrize(("env", "words"), L2_REFUSED.values(), ids=L2_REFUSED)
def test_l2_without_a_size_is_refused_with_the_reason(env: dict[str, str], words: str) -> None:
    (refusal,) = refused(sized(*BASE, env=env), Wish(l2_bytes=200 * GIB))
    assert (refusal.code, words in refusal.reason) == ("not_possible", True), refusal


def test_every_tier_that_can_not_be_sized_has_its_reason() -> None:
    found = refused(sized("m"), Wish(l0=L0Wish(share=0.5), l1_bytes=GIB, l2_bytes=GIB))
    assert codes(found) == ["not_possible", "not_possible"]


def test_a_stateful_set_that_waits_for_hands_is_refused() -> None:
    def by_hand(found: Documents) -> None:
        engine(*BASE)(found)
        one = pick(found, "Deployment", "mistral")
        one |= {"kind": "StatefulSet", "spec": one["spec"] | {"updateStrategy": {"type": "OnDelete"}}}

    (refusal,) = refused(changed("deployment", by_hand), Wish(l0=L0Wish(share=0.5)))
    assert (refusal.code, "(OnDelete)" in refusal.reason) == ("silent_no_op", True)


def test_a_stateful_set_that_is_held_back_is_refused() -> None:
    def held(found: Documents) -> None:
        engine(*BASE)(found)
        one = pick(found, "Deployment", "mistral")
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        one |= {"kind": "StatefulSet", "spec": one["spec"] | {"updateStrategy": rolling}}

    (refusal,) = refused(changed("deployment", held), Wish(l0=L0Wish(share=0.5)))
    assert (refusal.code, "(partition)" in refusal.reason) == ("silent_no_op", True)


@pytest.mark.parametrize("more", ['"$@"', "$EXTRA", "$(cat /flags)"])
def test_a_script_with_arguments_that_are_not_known_is_refused(more: str) -> None:
    found = sized(command=["sh", "-c", f"vllm serve m --tensor-parallel-size 2 {more}", "--"], args=[])
    (refusal,) = refused(found, Wish(l0=L0Wish(share=0.5)))
    assert (refusal.code, "which is not known" in refusal.reason) == ("not_possible", True), refusal


def test_a_script_s_variable_that_wins_is_refused() -> None:
    found = sized(command=["sh", "-c", "vllm serve m --port 1 $EXTRA"], args=[])
    container(found, "mistral")["env"] = [{"name": "EXTRA", "value": "--gpu-memory-utilization 0.9"}]
    (refusal,) = refused(found, Wish(l0=L0Wish(share=0.5)))
    assert (refusal.code, "would not be told 0.5" in refusal.reason) == ("not_possible", True), refusal


def test_secrets_in_the_clear_are_kept_out_of_changes() -> None:
    (refusal,) = refused(sized(*BASE, "--api-key", "sk-canary"), Wish(l0=L0Wish(share=0.5)))
    assert refusal.code == "not_possible"
    assert "sk-canary" not in refusal.reason
    made = planned(
        sized(*BASE, env={SIZE: "10", "HF_TOKEN": "hf-canary"}), Wish(l0=L0Wish(share=0.5), l1_bytes=8 * GIB)
    )
    assert "hf-canary" not in str(made)


def test_the_chart_s_values_are_named() -> None:
    found = changed("production-stack-helm")
    made = planned(found, Wish(l1_bytes=GIB // 2))
    told = " ".join(made.warnings)
    assert "modelSpec[].lmcacheConfig.cpuOffloadingBufferSize" in told
    assert "The chart makes nothing of cpuOffloadingBufferSize 0.5" in told
