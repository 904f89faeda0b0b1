"""`explain` on real captures (vLLM 0.32.0, LMCache 0.5.6): figures worked by hand from the raw text."""

from pathlib import Path
from typing import Any

import pytest

from collectors.explain import explain
from collectors.snapshot import read_snapshot
from tests.support.expositions import codes, tokens
from tierdeck.account import WarmingLimits

CAPTURES = Path(__file__).parents[3] / "lab" / "captures"


def document(name: str) -> Any:
    return explain(read_snapshot(CAPTURES / name), WarmingLimits())


@pytest.mark.parametrize("name", ["cross-replica", "pressure"])
def test_tiers_add_up_to_the_prompt_tokens_everywhere(name: str) -> None:
    whole = document(name)
    for part in (whole["fleet"], *whole["replicas"].values()):
        found = {tier: count for tier, count in tokens(part).items() if count is not None}
        l1_l2 = found.pop("L1+L2")
        assert l1_l2 == found["L1"] + found["L2"]
        assert sum(found.values()) == part["prompt_tokens"]


def test_hits_that_l0_had_served_already_are_not_counted_again() -> None:
    # A at 60 s: prefix_cache_queries 4416, hits 2048; external hits 0. LMCache reports
    # lookup_hit_l1_tokens 2048 for the same prompts: L0 had served them. miss = 4416 - 2048 = 2368,
    # which is also prompt_tokens_by_source{local_compute}.
    replica = document("cross-replica")["replicas"]["A"]
    assert replica["prompt_tokens"] == 4416
    assert tokens(replica) == {"L0": 2048, "L1": 0, "L2": 0, "L1+L2": 0, "miss": 2368}
    assert replica["found_not_loaded_tokens"] == 0
    assert replica["requests"] == 8


def test_a_prompt_that_b_reads_from_l2_though_a_wrote_it_is_b_s_l2() -> None:
    # B at 60 s: queries 2208, hits 0, external hits 2048; LMCache lookup_hit_l1 0, lookup_hit_l2 2048.
    # L1 in [max(0, 2048 - 2048), min(2048, 0)] = [0, 0]; miss = 2208 - 2048 = 160 = local_compute.
    replica = document("cross-replica")["replicas"]["B"]
    assert replica["prompt_tokens"] == 2208
    assert tokens(replica) == {"L0": 0, "L1": 0, "L2": 2048, "L1+L2": 2048, "miss": 160}
    assert replica["tiers"]["L2"]["low"] == replica["tiers"]["L2"]["high"] == 2048
    assert replica["hit_ratio"]["by_token"] == pytest.approx(2048 / 2208)
    assert codes(replica) == []


def test_the_fleet_is_the_sum_of_its_replicas() -> None:
    # 4416 + 2208 = 6624; L0 2048 + 0; L2 0 + 2048; miss 2368 + 160 = 2528; hit (2048 + 2048) / 6624
    fleet = document("cross-replica")["fleet"]
    assert fleet["prompt_tokens"] == 6624
    assert tokens(fleet) == {"L0": 2048, "L1": 0, "L2": 2048, "L1+L2": 2048, "miss": 2528}
    assert fleet["hit_ratio"]["by_token"] == pytest.approx(4096 / 6624)
    assert fleet["unreadable"] == []


def test_l1_and_l2_are_told_apart_under_pressure() -> None:
    # A, 0 s to 180 s: queries 121440 - 4416 = 117024; hits 2048 - 2048 = 0; external hits 14336 - 0;
    # lookup_hit_l1 11712 - 2048 = 9664; lookup_hit_l2 4672 - 0. E = 14336 = 9664 + 4672, so both are
    # exact. miss = 117024 - 14336 = 102688 = local_compute 105056 - 2368.
    replica = document("pressure")["replicas"]["A"]
    assert replica["prompt_tokens"] == 117024
    assert tokens(replica) == {"L0": 0, "L1": 9664, "L2": 4672, "L1+L2": 14336, "miss": 102688}
    assert replica["requests"] == 220 - 8
    # LMCache: used 2850816 bytes at a ratio of 0.66375736..: 0.004 GiB = 4294967 bytes
    assert replica["tier_usage"]["L1"] == {"used_bytes": 2850816, "capacity_bytes": 4294967}


def test_a_replica_without_traffic_is_idle_and_has_no_ratio() -> None:
    whole = document("pressure")
    replica = whole["replicas"]["B"]
    assert replica["state"] == "idle"
    assert replica["prompt_tokens"] == 0
    assert replica["hit_ratio"]["by_token"] is None
    assert "no prompt tokens" in replica["why"]["hit_ratio.by_token"]
    assert whole["fleet"]["state"] == "ok"


def test_ttft_is_interpolated_within_its_bucket() -> None:
    # B at 60 s, cumulative: le 0.04: 0, le 0.06: 2, le 0.08: 3, le 0.25: 4. p50: rank 0.5 * 4 = 2 is the
    # end of the bucket (0.04, 0.06].
    replica = document("cross-replica")["replicas"]["B"]
    p50 = replica["ttft_seconds"]["p50"]
    assert (p50["value"], p50["low"], p50["high"]) == (pytest.approx(0.06), 0.04, 0.06)
    assert replica["ttft_seconds"]["count"] == 4
    assert replica["ttft_seconds"]["vantage"] == "engine"


def test_every_null_has_its_reason() -> None:
    for name in ("cross-replica", "pressure"):
        whole = document(name)
        for part in (whole["fleet"], *whole["replicas"].values()):
            assert set(part["why"]) == set(nulls(part))


def nulls(part: Any, path: str = "") -> list[str]:
    found = []
    for key, value in part.items():
        if key in ("why", "notes"):
            continue
        where = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            found += nulls(value, where)
        elif value is None:
            found.append(where)
    return found
