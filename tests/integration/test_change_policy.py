"""Rows are power: what a forged row in the store asks for is not written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.changes.policy import Policy
from db import Store
from tests.support.any_changes import CHANGE
from tests.support.change_bench import ALLOW, Bench
from tests.support.rounds import T0
from tierdeck.changes.change import State, Step
from tierdeck.changes.plan import ABSENT, FieldEdit, Plan, Preview, Surface, Write
from tierdeck.deployed import ObjectRef
from tierdeck.errors import UsageError

ROUTER = ObjectRef("Deployment", "inference", "chat-router")
ADDRESS = "/apis/apps/v1/namespaces/inference/deployments/chat-router"
MODE = ("spec", "template", "spec", "containers", "[name=router]", "env", "[name=ROUTING_LOGIC]", "value")
GOOD = Write(ROUTER, ADDRESS, "apps/v1", (FieldEdit(MODE, "roundrobin", "session"),))
ENGINE = ("spec", "template", "spec", "containers", "[name=vllm]")
ENV = (*ENGINE, "env")


def forged(bench: Bench, state: State, write: Write, *, approved_by: str = "eve") -> int:
    """A row that somebody put there, in the middle of its way."""
    proposed = bench.propose()
    order = (State.PREVIEWED, State.APPROVED, State.APPLYING, State.PROVING)
    for one in order[: order.index(state) + 1]:
        assert bench.store.claim_change("east", "eve", bench.clock.now, 30) is not None
        row = replace(proposed, state=one, preview=Preview(Plan((write,)), "", T0), approved_by=approved_by)
        row = replace(row, approved_at=T0 if approved_by else None)
        assert bench.store.move_change(row, Step(row.id, T0, one, "eve", "…"), "eve", bench.clock.now)
    bench.store.drop_change(proposed.id, "eve")
    return proposed.id


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (replace(GOOD, edits=(FieldEdit((*ENGINE, "image"), "a", "evil"),)), "no change of Tierdeck's writes"),
        (replace(GOOD, ref=ObjectRef("Secret", "inference", "x")), "has no kind Secret"),
        (replace(GOOD, ref=replace(ROUTER, namespace="kube-system")), "has no namespace kube-system"),
        (replace(GOOD, ref=replace(ROUTER, namespace="")), "has no namespace the whole cluster"),
        (replace(GOOD, address="/api/v1/namespaces/inference/secrets/chat-router"), "is not the address of"),
        (replace(GOOD, surface=Surface.LAB), "is no lab's of this controller"),
        (
            replace(GOOD, edits=(FieldEdit((*ENGINE, "args"), [], ["--gpu-memory-utilization=0.99"]),)),
            "--gpu-memory-utilization 0.99 is beyond the limits",
        ),
        (
            replace(GOOD, edits=(FieldEdit((*ENGINE, "args"), [], ["--gpu-memory-utilization=nan"]),)),
            "beyond the limits",
        ),
        (
            replace(
                GOOD, edits=(FieldEdit((*ENGINE, "env", "[name=LMCACHE_MAX_LOCAL_CPU_SIZE]", "value"), "5", "4Gi"),)
            ),
            "beyond the limits",
        ),
        (replace(GOOD, edits=(FieldEdit(("spec", "replicas"), 1, 2),)), "only where the allow list limits them"),
        (replace(GOOD, edits=(FieldEdit(("spec", "replicas"), 1, 0),)), "only where the allow list limits them"),
        (replace(GOOD, edits=(FieldEdit((*ENGINE, "args"), [], ["--l1-size-gb", "65"]),)), "beyond the limits"),
        (replace(GOOD, edits=(FieldEdit((*ENGINE, "args"), [], ["--kv-offloading-size", "65"]),)), "beyond the limits"),
        (
            replace(GOOD, edits=(FieldEdit(("spec", "lmCacheConfig", "cpuOffloadingBufferSize"), "5", "65Gi"),)),
            "beyond the limits",
        ),
    ],
)
def test_a_forged_plan_that_is_being_applied_is_not_written(
    store: Store, tmp_path: Path, write: Write, words: str
) -> None:
    bench = Bench(store, tmp_path)
    number = forged(bench, State.APPLYING, write)
    bench.work()
    failed = bench.now(number)
    assert failed.state is State.FAILED
    assert words in failed.outcome
    assert bench.fleet.written == []


@pytest.mark.parametrize(
    ("count", "is_taken"), [(1, True), (8, True), (0, False), (-1, False), (9, False), (ABSENT, False)]
)
def test_replicas_are_never_none_at_all(store: Store, tmp_path: Path, count: object, is_taken: bool) -> None:
    bench = Bench(store, tmp_path)
    bench.allow.write_text(ALLOW.replace("l2: 1TiB", "l2: 1TiB, replicas: 8"))
    write = replace(GOOD, edits=(FieldEdit(("spec", "replicas"), 3, count),))
    found = Policy(bench.settings, store).plan_refusals(CHANGE, Plan((write,)))
    assert [one.code for one in found] == ([] if is_taken else ["not_allowed"])


@pytest.mark.parametrize(
    ("address", "gib", "words"),
    [
        ("http://10.0.0.7:9300/quota/a%2Fb", 1024.0, ""),
        ("http://10.0.0.7:9300/quota/a%2Fb", 1025.0, "beyond the limits"),
        ("http://10.0.0.7:9300/other", 1.0, "is no quota"),
        ("http://10.0.0.7:9300/quota/a?x=/b", 1.0, "is no quota"),
        ("http://user@10.0.0.7:9300/quota/a", 1.0, "is no quota"),
        ("file:///quota/a", 1.0, "is no quota"),
    ],
)
def test_a_quota_may_be_written_within_its_limit_and_nowhere_else(
    store: Store, tmp_path: Path, address: str, gib: float, words: str
) -> None:
    bench = Bench(store, tmp_path)
    bench.allow.write_text(ALLOW.replace("[Deployment]", "[Deployment, LMCacheQuota]"))
    ref = ObjectRef("LMCacheQuota", "inference", "coordinator/a")
    write = Write(ref, address, "", (FieldEdit(("limit_gb",), 80.0, gib),), Surface.LMCACHE_QUOTA)
    found = Policy(bench.settings, store).plan_refusals(CHANGE, Plan((write,)))
    assert [words in one.reason for one in found] == ([True] if words else [])


def test_a_revert_may_write_a_definitions_default_back(store: Store, tmp_path: Path) -> None:
    edit = FieldEdit(("spec", "lmCacheConfig", "cpuOffloadingBufferSize"), "40", "4Gi")
    found = Policy(Bench(store, tmp_path).settings, store).plan_refusals(CHANGE, Plan((replace(GOOD, edits=(edit,)),)))
    assert found == ()


def test_a_forged_approval_is_of_nothing_but_what_is_planned_anew(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path)
    number = forged(bench, State.APPROVED, GOOD)  # the wish is prefixaware, the write is session
    bench.work()
    assert bench.now(number).state is State.PREVIEWED
    assert bench.fleet.written == []


def test_a_forged_revert_takes_back_no_other_endpoints_change(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path)
    kept = bench.made(replace(CHANGE, endpoint="inference/code", key="other"))
    proposed = bench.propose(replace(CHANGE, key="undo"))
    assert bench.store.claim_change("east", "eve", bench.clock.now, 30) is not None
    row = replace(proposed, reverts=kept.id)
    assert bench.store.move_change(replace(row, state=State.PREVIEWED), None, "eve", bench.clock.now)
    approved = replace(row, state=State.APPROVED, approved_by="eve", approved_at=bench.clock.now)
    assert bench.store.move_change(approved, None, "eve", bench.clock.now)
    bench.store.drop_change(proposed.id, "eve")
    written = list(bench.fleet.written)
    bench.work()
    refused = bench.now(proposed.id)
    assert (refused.state, bench.fleet.written) == (State.REFUSED, written)
    assert "is one of inference/code" in refused.refusals[0].reason


def test_what_nobody_approved_is_not_applied(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path)
    number = forged(bench, State.APPLYING, GOOD, approved_by="")
    bench.work()
    assert (bench.now(number).state, bench.fleet.written) == (State.FAILED, [])


def test_a_lab_is_changed_without_a_file_and_only_where_one_is_named(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path, {"changes_file": None, "lab_url": "http://127.0.0.1:1"})
    for change, code in ((CHANGE, "observe_only"), (replace(CHANGE, endpoint="chat", key="2"), "not_possible")):
        proposed = bench.propose(change)  # the fleet in memory has no endpoint of this name
        bench.work()
        assert bench.now(proposed.id).refusals[0].code == code


def test_a_controller_does_not_begin_with_a_broken_file(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path)
    for content, words in (("kinds: 3", "namespaces: missing"), (None, "No such file")):
        bench.allow.write_text(content) if content else bench.allow.unlink()
        with pytest.raises(UsageError, match=words):
            bench.started("b")


def test_a_secret_in_a_forged_row_gets_no_further(store: Store, tmp_path: Path) -> None:
    """A variable that is not on the list is refused, and its value is told nowhere."""
    bench = Bench(store, tmp_path)
    number = forged(
        bench,
        State.APPLYING,
        replace(GOOD, edits=(FieldEdit((*ENGINE, "env", "[name=HF_TOKEN]", "value"), "", "hf_x"),)),
    )
    bench.work()
    failed = bench.now(number)
    assert failed.state is State.FAILED
    assert "hf_x" not in failed.outcome
    assert not any("hf_x" in step.words for step in bench.steps(number))


def test_changes_of_two_endpoints_at_one_address_are_not_in_each_others_way(store: Store, tmp_path: Path) -> None:
    bench = Bench(store, tmp_path)
    chat, rag, pool = (ObjectRef(kind, "", name) for kind, name in (("LabEndpoint", "chat"), ("LabEndpoint", "rag"),
                                                                    ("LabPool", "curvine")))  # fmt: skip
    of_chat, of_rag, of_pool = (
        Write(one, "http://127.0.0.1:1/admin/sizes", "", (FieldEdit(("sizes", "l1_bytes"), 1, 2),), Surface.LAB)
        for one in (chat, rag, pool)
    )
    policy, other = Policy(bench.settings, store), replace(CHANGE, id=99, endpoint="inference/code")
    forged(bench, State.PROVING, of_chat)
    assert list(policy.busy(other, Plan((of_rag, of_pool)))) == []
    (refusal,) = policy.busy(other, Plan((of_pool, of_chat)))
    assert refusal.code == "busy"
    assert "LabEndpoint chat too" in refusal.reason
