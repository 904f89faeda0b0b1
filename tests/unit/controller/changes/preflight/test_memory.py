"""Memory of the pod: L1 beside what the container has beyond it today."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.changes.preflight import preflight
from tests.support.preflight import (
    GIB,
    MEMORY_LIMIT,
    Shelf,
    codes,
    edit,
    engine,
    l1_of,
    look,
    memory_to,
    node,
    plan,
    pod,
    pods_of,
)
from tierdeck.changes.wish import L0Wish, Wish


def test_a_larger_l1_whose_memory_grows_with_it_passes() -> None:
    # 64 GiB today, 40 of it L1: 24 beside it; 24 + 60 = 84
    found = preflight(look(engine()), plan(*memory_to("84Gi")), l1_of(60))
    assert codes(found) == []
    assert not [one for one in found.warnings if "OOMKilled" in one or "not checked: container" in one]


def test_a_larger_l1_without_more_memory_is_refused_with_what_is_missing() -> None:
    # 16 GiB of the 24 beside L1 are enough, and 60 of L1: 76 GiB; 64 are there, 12 GiB = 12,884,901,888 bytes short
    found = preflight(look(engine()), plan(), l1_of(60))
    assert codes(found) == ["memory"]
    assert "Container vllm of Deployment llm/chat will have 64 GiB of memory (limits)" in found.refusals[0].reason
    assert "12 GiB (12,884,901,888 bytes) are missing" in found.refusals[0].reason
    assert "resources.limits.memory" in found.refusals[0].fix


def test_memory_that_grows_by_less_than_l1_is_refused() -> None:
    # all of the 24 beside L1 have to stay: 24 + 60 = 84, of which 80 are there: 4 GiB = 4,294,967,296 bytes are missing
    found = preflight(look(engine()), plan(*memory_to("80Gi")), l1_of(60))
    assert codes(found) == ["memory"]
    assert "4 GiB (4,294,967,296 bytes) are missing" in found.refusals[0].reason


def test_memory_that_stays_and_is_ample_is_a_warning() -> None:
    # 200 - 40 = 160 beside L1 today, 200 - 60 = 140 afterwards
    found = preflight(look(engine(memory="200Gi")), plan(), l1_of(60))
    assert codes(found) == []
    assert [one for one in found.warnings if "will have 140 GiB of memory, and has 160 GiB today" in one]


def test_an_l1_that_is_off_still_has_its_buffer() -> None:
    # LMCache holds the 40 GiB for L2; switched on they take no more
    made = engine()
    made["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "LMCACHE_LOCAL_CPU", "value": "False"})
    found = preflight(look(made), plan(), l1_of(40))
    assert codes(found) == []
    assert not [one for one in found.warnings if "memory" in one and "Deployment llm/chat" in one and "Beside" in one]


def test_l1_counts_for_all_ranks_together() -> None:
    # 2 ranks of 20 GiB are 40 GiB of L1 today: 64 - 40 = 24 beside it; 24 + 50 = 74, 1 more than 73
    at = look(engine(l1="20", args=["--tensor-parallel-size", "2"]))
    found = preflight(at, plan(*memory_to("73Gi")), l1_of(50))
    assert codes(found) == ["memory"]
    assert "1 GiB (1,073,741,824 bytes) are missing" in found.refusals[0].reason
    assert codes(preflight(at, plan(*memory_to("74Gi")), l1_of(50))) == []


def test_where_l1_is_not_known_today_a_limit_above_it_is_a_warning() -> None:
    # 4Gi is no plain number, so LMCache takes none from it
    at = look(engine(l1="4Gi"))
    found = preflight(at, plan(*memory_to("70Gi")), l1_of(60))
    assert codes(found) == []
    assert any("how large L1 of Deployment llm/chat is today is not known" in one for one in found.warnings)


def test_where_l1_is_not_known_today_a_limit_below_it_is_refused() -> None:
    found = preflight(look(engine(l1="4Gi")), plan(), l1_of(80))
    assert codes(found) == ["memory"]
    assert "L1 alone takes 80 GiB" in found.refusals[0].reason


def test_memory_that_is_not_stated_is_not_passed_in_silence() -> None:
    found = preflight(look(engine(memory=None)), plan(), l1_of(60))
    assert codes(found) == []
    assert any("states neither a limit nor a request" in one for one in found.warnings)


def test_an_engine_with_little_beside_l1_is_warned_of() -> None:
    # 44 - 40 = 4 GiB beside L1; 4 + 50 = 54
    found = preflight(look(engine(memory="44Gi")), plan(*memory_to("54Gi")), l1_of(50))
    assert codes(found) == []
    assert any("will have 4 GiB of memory; 8 to 16 GiB are usual" in one for one in found.warnings)


def test_a_limit_that_grows_without_its_request_is_warned_of() -> None:
    found = preflight(look(engine()), plan(edit(MEMORY_LIMIT, "84Gi")), l1_of(60))
    assert codes(found) == []
    assert any("asks for 64 GiB of memory, which grows by less than L1 does" in one for one in found.warnings)


def test_a_smaller_limit_with_the_same_l1_is_refused() -> None:
    # 24 beside L1 + 40 = 64; 60 are 4 GiB too few
    found = preflight(look(engine()), plan(*memory_to("60Gi")), Wish(l0=L0Wish(share=0.8)))
    assert codes(found) == ["memory"]
    assert "4 GiB (4,294,967,296 bytes) are missing" in found.refusals[0].reason


def test_l1_that_goes_needs_nothing() -> None:
    assert codes(preflight(look(engine()), plan(), l1_of(0))) == []


@given(
    memory=st.integers(1, 200),
    l1=st.integers(0, 200),
    replicas=st.integers(0, 4),
    surge=st.sampled_from([0, 1, "25%", "100%"]),
    unavailable=st.sampled_from([0, 1, "25%"]),
    taken=st.integers(0, 200),
    wish=st.sampled_from([Wish(strategy="roundrobin"), Wish(l0=L0Wish(share=0.5)), Wish(l0=L0Wish(blocks=10))]),
)
def test_a_plan_that_changes_nothing_in_memory_is_never_refused_for_it(
    memory: int, l1: int, replicas: int, surge: int | str, unavailable: int | str, taken: int, wish: Wish
) -> None:
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    made = engine(memory=f"{memory}Gi", l1=str(l1), replicas=replicas, strategy=strategy)
    around = [node("n1"), node("n2"), pod("big", "n1", memory=f"{taken}Gi")]
    at = look(made, *pods_of(made, *["n1", "n2"][:replicas]), *around, reader=Shelf())
    assert "memory" not in codes(preflight(at, plan(), wish))


@pytest.mark.parametrize("gib", [1, 39, 40])
def test_an_l1_that_does_not_grow_needs_no_more_memory(gib: int) -> None:
    assert codes(preflight(look(engine()), plan(), Wish(l1_bytes=gib * GIB))) == []
