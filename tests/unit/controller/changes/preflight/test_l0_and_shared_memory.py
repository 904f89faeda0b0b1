"""L0 against the longest request, and /dev/shm against what LMCache's server keeps there."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.planner import Load
from controller.changes.preflight import preflight
from tests.support.preflight import GIB, Manifest, codes, edit, engine, l1_of, look, plan
from tierdeck.changes.wish import L0Wish, Wish

IDLE = Load(running=0, waiting=0, request_seconds=1)
SERVER = ("spec", "template", "spec", "containers", "[name=cache]")
# the server has 100 GiB with 10 of L1: 90 beside it, and 30 of L1 make 120
MORE = plan(edit((*SERVER, "resources", "limits", "memory"), "120Gi"))


def test_blocks_that_hold_less_than_the_longest_request_are_refused() -> None:
    # 500 × 16 = 8,000 tokens, 192 fewer than 8,192
    at = look(engine(args=["--max-model-len", "8192", "--block-size", "16"]))
    found = preflight(at, plan(), Wish(l0=L0Wish(blocks=500)))
    assert codes(found) == ["l0_too_small"]
    assert "would hold 8,000 tokens (500 blocks of 16)" in found.refusals[0].reason
    assert "--max-model-len of Deployment llm/chat is 8,192" in found.refusals[0].reason
    # 512 × 16 = 8,192
    assert codes(preflight(at, plan(), Wish(l0=L0Wish(blocks=512)))) == []


def test_a_length_with_a_unit_is_read_as_vllm_does() -> None:
    # 8K = 8 × 1,024 = 8,192; 8k = 8,000
    for written, refused in (("8K", True), ("8k", False)):
        at = look(engine(args=[f"--max-model-len={written}", "--block-size=16"]))
        assert bool(codes(preflight(at, plan(), Wish(l0=L0Wish(blocks=500))))) is refused


def test_a_length_that_an_image_of_aws_takes_by_a_variable_counts() -> None:
    made = engine(args=["--block-size", "16"])
    env = {"name": "SM_VLLM_MAX_MODEL_LEN", "value": "8192"}
    made["spec"]["template"]["spec"]["containers"][0]["env"].append(env)
    assert codes(preflight(look(made), plan(), Wish(l0=L0Wish(blocks=500)))) == ["l0_too_small"]


def test_bytes_count_on_every_rank() -> None:
    # 1 GiB on 2 ranks: 2,147,483,648 / 131,072 bytes a token = 16,384 tokens
    at = look(
        engine(args=["--max-model-len", "16385", "--tensor-parallel-size", "2"]),
        load=Load(running=0, waiting=0, kv_bytes_per_token=131_072),
    )
    found = preflight(at, plan(), Wish(l0=L0Wish(size_bytes=GIB)))
    assert codes(found) == ["l0_too_small"]
    assert "16,384 tokens (1 GiB on each of 2 ranks, 131,072 bytes a token)" in found.refusals[0].reason


@pytest.mark.parametrize(
    ("args", "wish", "why"),
    [
        ([], L0Wish(blocks=10), "--max-model-len is not set"),
        (["--max-model-len", "8192"], L0Wish(blocks=10), "how many tokens a block holds is not known"),
        (["--max-model-len", "8192"], L0Wish(size_bytes=GIB), "how many bytes a token takes is not known"),
        (["--max-model-len", "8192"], L0Wish(share=0.5), "shows only when vLLM starts"),
        (["--max-model-len", "$LENGTH"], L0Wish(blocks=10), "whose value is not known"),
    ],
)
def test_what_is_not_known_of_l0_is_said(args: list[str], wish: L0Wish, why: str) -> None:
    found = preflight(look(engine(args=args)), plan(), Wish(l0=wish))
    assert codes(found) == []
    assert [one for one in found.warnings if why in one and one.startswith("Whether L0 holds")]


def test_a_length_that_fits_itself_needs_no_check() -> None:
    found = preflight(look(engine(args=["--max-model-len", "auto"])), plan(), Wish(l0=L0Wish(blocks=1)))
    assert not [one for one in found.warnings if "L0" in one]


def with_server(size_limit: str | None, *, mounts: bool = True, shm: bool = True, **template: Any) -> Manifest:
    """An LMCache server beside the engine, with 10 GiB of L1 in /dev/shm."""
    args = ["server", "--l1-size-gb", "10", *(["--shm-name", "pool"] if shm else [])]
    server: dict[str, Any] = {
        "name": "cache", "image": "lmcache/standalone:v0.5.6", "command": ["lmcache"], "args": args,
        "resources": {"limits": {"memory": "100Gi"}},
    }  # fmt: skip
    made = engine(l1=None, template=template)
    spec = made["spec"]["template"]["spec"]
    spec["containers"].append(server)
    if mounts:
        server["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
        spec["volumes"] = [
            {"name": "shm", "emptyDir": {"medium": "Memory", **({"sizeLimit": size_limit} if size_limit else {})}}
        ]
    return made


def test_a_volume_at_dev_shm_that_is_too_small_for_l1_is_refused() -> None:
    # 30 GiB of L1, 16 Gi in the volume: 14 GiB = 15,032,385,536 bytes are missing
    found = preflight(look(with_server("16Gi"), load=IDLE), MORE, l1_of(30))
    assert codes(found) == ["shm"]
    assert "volume shm holds 16 GiB; L1 takes 30 GiB, so 14 GiB (15,032,385,536 bytes)" in found.refusals[0].reason


@pytest.mark.parametrize("made", [with_server("30Gi"), with_server(None), with_server("16Gi", shm=False)])
def test_a_volume_that_is_large_enough_or_not_used_passes(made: Manifest) -> None:
    assert codes(preflight(look(made, load=IDLE), MORE, l1_of(30))) == []


def test_a_server_that_mounts_nothing_there_is_warned_of() -> None:
    found = preflight(look(with_server(None, mounts=False), load=IDLE), MORE, l1_of(30))
    assert codes(found) == []
    assert [one for one in found.warnings if "give it 64 MiB unless they are told otherwise" in one]
    found = preflight(look(with_server(None, mounts=False, hostIPC=True), load=IDLE), MORE, l1_of(30))
    assert [one for one in found.warnings if "hostIPC" in one]
