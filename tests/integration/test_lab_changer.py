"""Changes of the simulated fleet through its own API: planned, written once, read back, proved, and undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from controller.changes.changer import DeniedError, DriftedError, Progress
from controller.changes.lab import LabChanger
from lab.sim.fleet import Fleet
from tests.support.lab_served import served_lab
from tests.support.proofs import first_that_tells
from tierdeck.changes.change import Change
from tierdeck.changes.plan import Plan, Preview, Refusal, Surface
from tierdeck.changes.proof import Verdict
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.errors import UnreachableError
from tierdeck.routing import RoutingStrategy
from tierdeck.tiers import Tier

GIB = 2**30


@pytest.fixture
def lab() -> Iterator[tuple[Fleet, str]]:
    with served_lab(rate=0.5, warm_seconds=60) as found:
        yield found


def change(endpoint: str = "chat", **wish: object) -> Change:
    return Change("default", endpoint, Wish(**wish), "ann", "", "key", 1.0, {})  # type: ignore[arg-type]


def planned(changer: LabChanger, wanted: Change) -> Plan:
    plan = changer.plan(wanted, None)
    assert isinstance(plan, Plan), plan
    return plan


def refused(found: Plan | tuple[Refusal, ...]) -> list[str]:
    assert not isinstance(found, Plan)
    return [one.code for one in found]


def test_a_strategy_is_switched_proved_and_switched_back(lab: tuple[Fleet, str]) -> None:
    fleet, address = lab
    changer, wanted = LabChanger(address), change(strategy="session")
    plan = planned(changer, wanted)
    (write,) = plan.writes
    assert (write.surface, write.address) == (Surface.LAB, f"{address}/admin/strategy")
    assert [(edit.where, edit.before, edit.after) for edit in write.edits] == [("strategy", "roundrobin", "session")]
    assert (plan.strategy, plan.restarts, plan.loses) == ("session", (), ())
    preview = changer.preview(plan, 2.0)
    assert "-strategy: roundrobin" in preview.diff
    assert "+strategy: session" in preview.diff
    assert changer.apply(plan, "ann")
    assert not changer.apply(plan, "ann")
    assert changer.verify(plan, 3.0).progress is Progress.DONE
    proof = first_that_tells(lambda: changer.probe("chat", "session"), lambda one: one.verdict)
    assert (proof.verdict, proof.seen) == (Verdict.EFFECTIVE, "session"), proof

    back = changer.plan(replace(wanted, reverts=7), replace(wanted, id=7, preview=preview))
    assert isinstance(back, Plan)
    assert back.strategy == "roundrobin"
    assert changer.apply(back, "ann")
    assert fleet.endpoints["chat"].strategy is RoutingStrategy.ROUNDROBIN


def test_what_is_applied_and_not_in_effect_is_not_called_effective(lab: tuple[Fleet, str]) -> None:
    fleet, address = lab
    fleet.endpoints["chat"].stick(on=True)
    changer = LabChanger(address)
    plan = planned(changer, change(strategy="session"))
    changer.apply(plan, "ann")
    assert changer.verify(plan, 3.0).progress is Progress.DONE  # the configuration shows it
    proof = first_that_tells(lambda: changer.probe("chat", "session"), lambda one: one.verdict)
    assert proof.verdict is Verdict.APPLIED_NOT_EFFECTIVE, proof


def test_sizes_roll_out_replica_by_replica(lab: tuple[Fleet, str]) -> None:
    fleet, address = lab
    changer = LabChanger(address)
    plan = planned(changer, change(l0=L0Wish(size_bytes=6 * GIB), l1_bytes=16 * GIB, l2_bytes=90 * GIB))
    assert [(write.ref.kind, len(write.edits)) for write in plan.writes] == [("LabEndpoint", 2), ("LabPool", 1)]
    assert (plan.loses, plan.strategy) == ((Tier.L0, Tier.L1), "")
    assert changer.apply(plan, "ann")
    verified = changer.verify(plan, 3.0)
    assert verified.progress is Progress.WAITING
    # each of 3 replicas is away for 20 s, and a second passes between two: 63 s
    fleet.advance(64.0)
    assert changer.verify(plan, 3.0).progress is Progress.DONE
    assert fleet.endpoints["chat"].replicas[0].sizes.l1_bytes == 16 * GIB
    assert sum(worker.capacity_bytes for worker in fleet.pool.workers) == 90 * GIB


def test_what_the_lab_can_not_do_is_refused_with_the_reason(lab: tuple[Fleet, str]) -> None:
    changer = LabChanger(lab[1])
    assert refused(changer.plan(change("nobody", strategy="session"), None)) == ["not_possible"]
    assert refused(changer.plan(change(strategy="round_robin"), None)) == ["unknown_strategy"]
    assert refused(changer.plan(change(strategy="roundrobin"), None)) == ["nothing_to_do"]
    assert refused(changer.plan(change(l0=L0Wish(share=0.8)), None)) == ["not_possible"]
    assert refused(changer.plan(change(l1_bytes=0), None)) == ["not_possible"]


def test_what_somebody_else_wrote_meanwhile_is_not_written_over(lab: tuple[Fleet, str]) -> None:
    fleet, address = lab
    changer, wanted = LabChanger(address), change(strategy="session")
    plan = planned(changer, wanted)
    fleet.endpoints["chat"].set_strategy(RoutingStrategy.KVAWARE)
    with pytest.raises(DriftedError, match="strategy is kvaware by now, not roundrobin"):
        changer.apply(plan, "ann")
    reverted = replace(wanted, id=7, preview=Preview(plan, "", 2.0))
    assert refused(changer.plan(replace(wanted, reverts=7), reverted)) == ["changed_meanwhile"]


def test_what_the_lab_refuses_is_denied_with_its_words(lab: tuple[Fleet, str]) -> None:
    changer = LabChanger(lab[1])
    plan = planned(changer, change(l0=L0Wish(size_bytes=2**20)))  # a block is 64 tokens of 57,344 bytes: 3.5 MiB
    with pytest.raises(DeniedError, match="hold no block"):
        changer.apply(plan, "ann")


def test_a_lab_that_is_away_is_unreachable() -> None:
    with pytest.raises(UnreachableError, match="does not answer"):
        LabChanger("http://127.0.0.1:9").plan(change(strategy="session"), None)
