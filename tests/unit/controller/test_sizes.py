"""Sizes of the tiers as arguments, environment and files state them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.objects import Objects, Raw
from controller.reading.configs import Configs
from controller.reading.processes import Process, read_process
from controller.reading.quantities import bytes_of, quantity
from controller.reading.sizes import l0_of, l1_of, server_l1
from controller.reading.storage import Storage
from tests.unit.controller.test_commands import process

GIB = 1 << 30
LMCACHE = ["--kv-transfer-config", '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}']
SERVER = ["--kv-transfer-config", '{"kv_connector":"LMCacheMPConnector"}']


def env(**variables: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in variables.items()]


@pytest.mark.parametrize(
    ("args", "size_bytes", "text"),
    [
        (["--gpu-memory-utilization", "0.9"], None, "--gpu-memory-utilization 0.9"),
        (["--num-gpu-blocks-override=128"], None, "--num-gpu-blocks-override 128"),
        (["--no-enable-prefix-caching", "--gpu-memory-utilization=0.9"], 0, "--no-enable-prefix-caching"),
        (["--no-enable-prefix-caching", "--enable-prefix-caching"], None, ""),
        ([], None, ""),
        # per GPU: 25769803776 × 2 ranks
        (["--kv-cache-memory-bytes=25769803776", "-tp", "2", "--gpu-memory-utilization=0.9"],
         51539607552, "--kv-cache-memory-bytes 25769803776 × 2 ranks"),
        # vLLM's units: 16G = 16 × 2^30, 16g = 16 × 10^9
        (["--kv-cache-memory-bytes", "16G"], 17179869184, "--kv-cache-memory-bytes 16G"),
        (["--kv-cache-memory-bytes", "16g"], 16000000000, "--kv-cache-memory-bytes 16g"),
        (["--kv-cache-memory-bytes", "lots"], None, "--kv-cache-memory-bytes lots"),
    ],
)  # fmt: skip
def test_l0_is_what_the_arguments_state(args: list[str], size_bytes: int | None, text: str) -> None:
    found = l0_of(process(args=args))
    assert (found.size_bytes, found.text) == (size_bytes, text)


@pytest.mark.parametrize(
    ("args", "variables", "size_bytes", "text"),
    [
        # 40 × 2^30 × 2 ranks = 85899345920
        ([*LMCACHE, "--tensor-parallel-size", "2"], {"LMCACHE_MAX_LOCAL_CPU_SIZE": "40"}, 85899345920,
         "40 GiB × 2 ranks"),
        # 2 × 2 ranks = 4
        ([*LMCACHE, "-tp", "2", "-pp", "2"], {"LMCACHE_MAX_LOCAL_CPU_SIZE": "0.5"}, 2 * GIB, "0.5 GiB × 4 ranks"),
        (LMCACHE, {}, 5 * GIB, "5 GiB"),
        (LMCACHE, {"LMCACHE_LOCAL_CPU": "False", "LMCACHE_MAX_LOCAL_CPU_SIZE": "40"}, 0, "local_cpu False"),
        (LMCACHE, {"LMCACHE_MAX_LOCAL_CPU_SIZE": "4Gi"}, None, "4Gi"),
        (LMCACHE, {"LMCACHE_MAX_LOCAL_CPU_SIZE": "nan"}, None, "nan"),
        ([*LMCACHE, "-tp", "x"], {"LMCACHE_MAX_LOCAL_CPU_SIZE": "40"}, None, "40 GiB per rank"),
        ([], {}, 0, "no KV connector"),
        ([], {"LMCACHE_MAX_LOCAL_CPU_SIZE": "40"}, None, ""),
        (["--kv-offloading-size", "64", "-tp", "2"], {}, 64 * GIB, "64 GiB"),
        (["--kv-transfer-config", '{"kv_connector":"NixlConnector"}'], {}, None, "NixlConnector"),
        (["--kv-transfer-config", "{"], {}, None, ""),
        (SERVER, {}, None, ""),
    ],
)  # fmt: skip
def test_l1_is_per_rank_and_of_all_ranks(
    args: list[str], variables: dict[str, str], size_bytes: int | None, text: str
) -> None:
    found = l1_of(process(args=args, env=env(**variables)))
    assert (found.size_bytes, found.text) == (size_bytes, text)


def test_a_file_of_lmcache_overrides_the_environment() -> None:
    container: dict[str, Any] = {
        "name": "main",
        "args": LMCACHE,
        "env": env(LMCACHE_CONFIG_FILE="/etc/lmcache/config.yaml", LMCACHE_MAX_LOCAL_CPU_SIZE="40"),
        "volumeMounts": [{"name": "c", "mountPath": "/etc/lmcache"}],
    }
    volumes: list[Raw] = [{"name": "c", "configMap": {"name": "lmcache"}}]

    def read(objects: Objects) -> Process:
        return read_process(container, volumes, Configs(objects, "ns"), "Pod ns/p")

    unread = l1_of(read(Objects("prod", {})))
    assert unread.reason.startswith("LMCACHE_CONFIG_FILE overrides it, and /etc/lmcache/config.yaml comes from")
    known = {("ns", "lmcache"): {"data": {"config.yaml": "max_local_cpu_size: 8\n"}}}
    assert l1_of(read(Objects("prod", {}, config_maps=known))).size_bytes == 8 * GIB


def test_a_server_of_a_node_is_no_size_of_one_replica() -> None:
    server = process(command=["lmcache", "server", "--l1-size-gb", "60"])
    assert server_l1(server).size_bytes == 60 * GIB
    shared = server_l1(server, is_shared=True)
    assert (shared.size_bytes, shared.text) == (None, "60 GiB per node")


@pytest.mark.parametrize(
    ("adapter", "size_bytes", "text"),
    [
        ('{"type":"fs_native","base_path":"/l2","max_capacity_gb":0.5}', GIB // 2, "fs_native /l2, 0.5 GiB"),
        ('{"type":"fs","base_path":"/l2"}', None, "fs /l2"),
        ("[]", None, ""),
    ],
)
def test_l2_of_a_server_is_its_adapters(adapter: str, size_bytes: int | None, text: str) -> None:
    server = process(command=["lmcache", "server", "--l2-adapter", adapter])
    found = Storage(Objects("prod", {}), "ns", ()).l2_of(process(args=SERVER), server)
    assert (found.size_bytes, found.text) == (size_bytes, text)


@pytest.mark.parametrize(
    ("variables", "size_bytes", "text"),
    [
        ({}, 0, "no remote"),
        ({"LMCACHE_REMOTE_URL": "redis://cache:6379"}, None, "redis://cache:6379"),
        ({"LMCACHE_REMOTE_URL": "sagemaker-hyperpod://$(IP):9200"}, None, "tieredstorage"),
        ({"LMCACHE_REMOTE_URL": "fs://h:0/l2"}, None, "fs://h:0/l2"),
        ({"LMCACHE_REMOTE_URL": "fs://[/l2"}, None, "fs://[/l2"),
        ({"LMCACHE_LOCAL_DISK": "file:///d", "LMCACHE_MAX_LOCAL_DISK_SIZE": "50"}, None, "local disk file:///d 50"),
    ],
)
def test_l2_of_an_engine_is_its_remote(variables: dict[str, str], size_bytes: int | None, text: str) -> None:
    found = Storage(Objects("prod", {}), "ns", ()).l2_of(process(args=LMCACHE, env=env(**variables)))
    assert (found.size_bytes, found.text) == (size_bytes, text)


@pytest.mark.parametrize(
    ("written", "size_bytes"),
    [("16Gi", 16 * GIB), ("500M", 500_000_000), ("1.5Gi", 3 * GIB // 2), (5, 5), ("-1", None), ("", None), ("x", None),
     (None, None), (True, None), ("1e400", None), ("NaN", None)],
)  # fmt: skip
def test_a_quantity_is_bytes_or_nothing(written: object, size_bytes: int | None) -> None:
    assert bytes_of(written) == size_bytes


def test_half_a_core_is_half() -> None:
    assert quantity("500m") is not None
    assert float(quantity("500m") or 0) == 0.5
