"""What got no L2 is said in the store: once, of whom it is where that can be found out, and whatever goes wrong."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from kubernetes import client

from controller.api.client import Api
from controller.injector.decision import Undecided, Withheld, traced
from controller.injector.telling import Teller, Trace
from db import Store
from health.pulse import Pulse
from tests.unit.controller.test_l2_review import FILE, POD, look_up
from tierdeck.errors import TierdeckError
from tierdeck.events import EventKind
from tierdeck.l2.file import parse_l2

NOW = 1_700_000_000.0
NOBODY = Api.of(client.ApiClient(client.Configuration(host="http://127.0.0.1:1")))
"""An API server that is away: what is said in the cluster is lost, and what is said in the store is not."""


def told(store: Store, trace: Trace, *lost: Undecided) -> list[tuple[str, str, str]]:
    """Endpoint, subject and words of the events, the oldest first, once the teller has said all and ended."""
    teller, stop = Teller(NOBODY, store, "east", trace, lambda: NOW), threading.Event()
    for one in lost:
        teller.tell(one)
    stop.set()
    teller.run(stop, Pulse())
    found = store.events(0.0, NOW + 1, "east", kinds=[EventKind.L2_WITHHELD])
    return sorted(zip(found["endpoint"], found["subject"], found["words"], strict=True))


def by_owners(lost: Undecided) -> Withheld | None:
    return traced(lost, parse_l2(FILE, "l2.yaml"), look_up)


def away(_: Undecided) -> Withheld | None:
    raise TierdeckError("the API is away")


def broken(_: Undecided) -> Withheld | None:
    raise KeyError("a fault of ours")


def test_a_pod_that_was_not_decided_on_is_told_of_its_endpoint_once(store: Store) -> None:
    late = [Undecided(POD, "llm", f"it was not decided within {seconds} s") for seconds in (4, 5)]
    words = "L2 was not injected: it was not decided within 4 s"
    assert told(store, by_owners, *late) == [("llm/chat", "Deployment llm/chat", words)]


def test_nobody_hears_of_a_pod_that_did_not_opt_in(store: Store) -> None:
    other = {"metadata": {"name": "other"}, "spec": POD["spec"]}
    assert told(store, by_owners, Undecided(other, "llm", "late")) == []


@pytest.mark.parametrize("trace", [away, broken])
def test_where_its_owners_can_not_be_asked_for_it_is_told_of_the_pod(store: Store, trace: Trace) -> None:
    found = told(store, trace, Undecided(POD, "llm", "the API is away"), Undecided(POD, "llm", "late"))
    assert [subject for _, subject, _ in found] == ["Pod llm/chat-5f-…"] * 2
    assert [words for _, _, words in found] == [f"L2 was not injected: {why}" for why in ("late", "the API is away")]


def test_many_threads_tell_at_once(store: Store) -> None:
    teller = Teller(NOBODY, store, "east", by_owners)

    def tell(name: int) -> None:
        for at in range(300):
            teller.tell(Undecided({"metadata": {"name": f"p{name}-{at}"}}, "llm", "late"))

    pace = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(5) as threads:
            list(threads.map(tell, range(5)))  # raises what one of them raised
    finally:
        sys.setswitchinterval(pace)
