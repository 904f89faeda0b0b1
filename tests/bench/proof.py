"""A hundred proofs in the lab: four strategies and one that is applied and not in effect, beside other traffic.

The peer reads the router's configuration, as one does without a probe: it takes every strategy for effective that is
applied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from controller.probe.prober import MOST_SECONDS, probe
from controller.probe.route import lab_route
from lab.sim.fleet import Fleet
from tests.bench import Measure, measure
from tests.support.lab_served import served_lab
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.routing import RoutingStrategy

RUNS = 100
_TRAFFIC = 2.0
"""Requests of others a second, at three replicas."""
_WARM_SECONDS = 600.0
_ENDPOINT, _TWO = "chat", "rag"
_MOST_REQUESTS = 20


@dataclass(frozen=True, slots=True)
class Case:
    """What is applied, and what the router really does."""

    wished: RoutingStrategy
    is_effective: bool
    instead: RoutingStrategy

    def is_right(self, proof: Proof) -> bool:
        return proof.verdict is (Verdict.EFFECTIVE if self.is_effective else Verdict.APPLIED_NOT_EFFECTIVE)


def cases() -> Iterator[Case]:
    """Twenty times each strategy in effect, and twenty times not: one that was in effect before has stayed."""
    strategies = tuple(RoutingStrategy)
    for number in range(RUNS):
        wished = strategies[number % 4]
        others = [one for one in strategies if one is not wished]
        yield Case(wished, number % 20 < 16, others[number // 20 % 3])


def run() -> list[Measure]:
    with served_lab(_TRAFFIC, _WARM_SECONDS) as (fleet, address):
        three = [(case, _proved(fleet, address, _ENDPOINT, case)) for case in cases()]
        two = [(case, _proved(fleet, address, _TWO, case)) for case in list(cases())[:20]]
    verdicts = Counter(_told(case, proof) for case, proof in three)
    configured = sum(case.is_effective for case, _ in three)
    what = f"{RUNS} proofs, 3 replicas, {_TRAFFIC:g} requests of others a second"
    return [
        measure(f"{what}: right", verdicts["right"], "proofs", at_least=95),
        measure("  right, peer beside it", verdicts["right"], "proofs", peer=("the configuration", configured),
                at_least=1.0),
        measure("  wrong: told effective", verdicts["wrong: effective"], "proofs", at_most=0),
        measure("  wrong: told not effective", verdicts["wrong: not effective"], "proofs", at_most=0),
        measure("  cannot tell", verdicts["cannot tell"], "proofs", at_most=5),
        measure("  requests, most", max(proof.requests for _, proof in three), "requests", at_most=_MOST_REQUESTS),
        measure("  seconds, most", max(proof.seconds for _, proof in three), "s", at_most=MOST_SECONDS),
        *_with_two(two),
    ]  # fmt: skip


def _with_two(two: list[tuple[Case, Proof]]) -> list[Measure]:
    """Half of the odds a request: less is told, and nothing wrong."""
    verdicts = Counter(_told(case, proof) for case, proof in two)
    wrong = verdicts["wrong: effective"] + verdicts["wrong: not effective"]
    return [
        measure(f"{len(two)} proofs, 2 replicas: right", verdicts["right"], "proofs"),
        measure("  cannot tell", verdicts["cannot tell"], "proofs"),
        measure("  wrong", wrong, "proofs", at_most=0),
        measure("  seconds, most", max(proof.seconds for _, proof in two), "s", at_most=MOST_SECONDS),
    ]


def _told(case: Case, proof: Proof) -> str:
    if case.is_right(proof):
        return "right"
    if proof.verdict is Verdict.CANNOT_TELL:
        return "cannot tell"
    return "wrong: effective" if proof.verdict is Verdict.EFFECTIVE else "wrong: not effective"


def _proved(fleet: Fleet, address: str, name: str, case: Case) -> Proof:
    endpoint = fleet.endpoints[name]
    endpoint.stick(on=False)
    if not case.is_effective:
        endpoint.set_strategy(case.instead)
        endpoint.stick(on=True)
    endpoint.set_strategy(case.wished)
    route = lab_route(address, name, tuple(replica.name for replica in endpoint.replicas))
    return probe(route, str(case.wished))
