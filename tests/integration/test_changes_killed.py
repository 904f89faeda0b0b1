"""A controller of the simulated fleet is killed with SIGKILL at each transition; the next one ends it rightly."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller.changes.lease import LEASE_SECONDS
from db import Store
from tests.support.any_changes import CHANGE
from tests.support.counted_lab import CountedLab, counted_lab
from tests.support.processes import PATIENCE_SECONDS, running, wait_until
from tests.support.stores import Sqlite
from tierdeck.changes.change import Change, State
from tierdeck.changes.wish import Wish

POINTS = (
    "claimed", "planned", "previewed", "moving previewed", "moved previewed", "moving applying", "moved applying",
    "applying", "applied", "moving proving", "moved proving", "verified", "moving observing", "moved observing",
    "moving kept", "moved kept",
)  # fmt: skip
STEPS = [
    State.PROPOSED,
    State.PREVIEWED,
    State.APPROVED,
    State.APPLYING,
    State.PROVING,
    State.OBSERVING,
    State.KEPT,
]
TURN = {"roundrobin": "session", "session": "roundrobin"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CountedLab]:
    with counted_lab(tmp_path_factory.mktemp("lab")) as found:
        yield found


def settings(lab: CountedLab, url: str) -> dict[str, str]:
    return {
        "TIERDECK_DATABASE_URL": url,
        "TIERDECK_CLUSTER": "east",
        "TIERDECK_LAB_URL": lab.url,
        "TIERDECK_PROBE_ROUTING": "false",
    }


def proposed(url: str, strategy: str) -> Change:
    with Store.open(url) as store:
        return store.propose(
            replace(CHANGE, endpoint="chat", wish=Wish(strategy=strategy), proposed_at=time.time(), key=strategy)
        )


def ended(url: str, number: int) -> tuple[Change, list[State]]:
    with Store.open(url) as store:
        found = store.change(number)
        assert found is not None
        return found, list(dict.fromkeys(step.state for step in store.change_steps(number)))


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_it_is_written_once(lab: CountedLab, sqlite: Sqlite, tmp_path: Path, point: str) -> None:
    url, log = sqlite.migrated(), tmp_path / "log"
    wanted = TURN.get(lab.strategy("chat"), "roundrobin")
    lab.posts.clear()
    change = proposed(url, wanted)
    for here, later, expected in ((point, 0.0, -signal.SIGKILL), ("", LEASE_SECONDS + 1, 0)):
        module = "tests.support.dying_controller"
        with running(module, here, str(later), log=log, **settings(lab, url)) as process:
            assert process.wait(PATIENCE_SECONDS) == expected, log.read_text()
    found, states = ended(url, change.id)
    assert (found.state, states) == (State.KEPT, STEPS)
    assert lab.posts == [("/admin/strategy", {"endpoint": "chat", "strategy": wanted})]
    assert lab.strategy("chat") == wanted


def test_the_controller_itself_is_killed_and_started_again(lab: CountedLab, sqlite: Sqlite, tmp_path: Path) -> None:
    """As it is, with nothing put into it: killed after the preview and in the middle of what is approved."""
    url, log = sqlite.migrated(), tmp_path / "log"
    wanted = TURN.get(lab.strategy("chat"), "roundrobin")
    lab.posts.clear()
    change = proposed(url, wanted)
    with Store.open(url) as store:

        def is_at(*states: State) -> bool:
            now = store.change(change.id)
            return now is not None and now.state in states

        with running("controller", log=log, **settings(lab, url)) as process:
            wait_until(lambda: is_at(State.PREVIEWED), "the preview", log)
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_SECONDS)
        with running("controller", log=log, **settings(lab, url)) as process:
            store.approve_change(change.id, "bob", time.time())
            wait_until(lambda: not is_at(State.APPROVED), "the first step", log)
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE_SECONDS)
        with running("controller", log=log, **settings(lab, url)) as process:
            wait_until(lambda: is_at(State.KEPT), "the end", log)
            wait_until(lambda: log.read_text().count("controller_started") == 3, "its start", log)
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
    assert ended(url, change.id)[1] == STEPS
    assert lab.posts == [("/admin/strategy", {"endpoint": "chat", "strategy": wanted})]
