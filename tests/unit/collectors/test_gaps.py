"""How far back the row reaches that is counted after a gap."""

from __future__ import annotations

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from tests.support.expositions import START, vllm
from tierdeck.fleet import Replica, ReplicaKey, SourceKind, Target
from tierdeck.ledger import merge
from tierdeck.rounds import Round, Scrape

TARGET = Target(ReplicaKey("c", "e", "A"), "vllm", "http://x")


def fed(accountant: ReplicaAccountant, at: float, page: str | None) -> Round:
    if page is None:
        return accountant.feed(at, {"vllm": Answered(Scrape(TARGET, at, answered=False, reason="no answer"))})
    reading, _ = interpret(BY_KIND[SourceKind.VLLM], page)
    return accountant.feed(at, {"vllm": Answered(Scrape(TARGET, at, answered=True), reading)})


def test_a_row_after_failed_scrapes_covers_their_time() -> None:
    accountant = ReplicaAccountant(Replica(TARGET.key, (TARGET,)))
    pages = {0: vllm(0, 0, 0, 0), 15: vllm(100, 0, 100, 0), 30: None, 45: None}
    rows = [fed(accountant, at, page).ledger for at, page in pages.items()]
    accountant = ReplicaAccountant(Replica(TARGET.key, (TARGET,)), accountant.memory())  # a collector's restart
    rows.append(fed(accountant, 60, vllm(400, 0, 400, 0)).ledger)
    rows.append(fed(accountant, 75, vllm(500, 0, 500, 0)).ledger)
    edges = [(row.started_at, row.ended_at) for row in rows]
    assert edges == [(0, 0), (0, 15), (15, 30), (30, 45), (15, 60), (60, 75)]
    whole = merge(rows)
    assert (whole.started_at, whole.ended_at, whole.prompt_tokens) == (0, 75, 500)


def test_a_new_process_tells_nothing_of_the_time_before_it() -> None:
    accountant = ReplicaAccountant(Replica(TARGET.key, (TARGET,)))
    for at, page in {0: vllm(0, 0, 0, 0), 15: None, 30: None}.items():
        fed(accountant, at, page)
    row = fed(accountant, 45, vllm(50, 0, 50, 0, start=START + 900)).ledger
    assert (row.started_at, row.prompt_tokens, row.restarts) == (30, 50, 1)
