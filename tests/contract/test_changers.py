"""What every way to change deployments promises (`controller/changes/changer.py`), held against each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from controller.changes.changer import Changer, DriftedError, Progress, Verified
from controller.changes.lab import LabChanger
from controller.changes.memory import MemoryChanger
from tests.support.any_changes import CHANGE, CHAT
from tests.support.processes import wait_until
from tests.support.scraped import running_lab
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Plan
from tierdeck.changes.wish import Wish

GIB = 2**30
WISHES = (Wish(strategy="kvaware"), Wish(l1_bytes=24 * GIB), Wish(l1_bytes=16 * GIB, l2_bytes=128 * GIB))


@dataclass
class Subject:
    """One way, with an endpoint to change.

    Attributes:
        drift: somebody else gives the router another strategy, `session`.
    """

    changer: Changer
    endpoint: str
    drift: Callable[[], None]

    def change(self, wish: Wish, number: int = 1) -> Change:
        return replace(CHANGE, endpoint=self.endpoint, wish=wish, id=number)


@contextmanager
def in_memory(_: Path) -> Iterator[Subject]:
    fleet = MemoryChanger(CHAT)

    def drift() -> None:
        key = next(one for one in fleet.fields if one[0].name == "chat-router")
        fleet.fields[key] = "session"

    yield Subject(fleet, CHAT, drift)


@contextmanager
def of_the_lab(folder: Path) -> Iterator[Subject]:
    with running_lab(folder, "--speed", "30") as lab:
        yield Subject(
            LabChanger(lab.address),
            "chat",
            lambda: lab.change("strategy", {"endpoint": "chat", "strategy": "session"}),
        )


SUBJECTS: tuple[Callable[[Path], AbstractContextManager[Subject]], ...] = (in_memory, of_the_lab)


@pytest.fixture(scope="module", params=SUBJECTS, ids=lambda one: one.__name__)
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with request.param(tmp_path_factory.mktemp("changer")) as found:
        yield found


def planned(subject: Subject, wish: Wish) -> Plan:
    made = subject.changer.plan(subject.change(wish), None)
    assert isinstance(made, Plan), made
    return made


def settled(subject: Subject, plan: Plan) -> Verified:
    seen: list[Verified] = []

    def is_over() -> bool:
        seen.append(subject.changer.verify(plan, 0.0))
        return seen[-1].progress is not Progress.WAITING

    wait_until(is_over, "what was written to take effect")
    return seen[-1]


@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.text)
def test_there_once_and_back_once(subject: Subject, wish: Wish) -> None:
    plan = planned(subject, wish)
    assert plan.writes
    assert plan.strategy == wish.strategy
    preview = subject.changer.preview(plan, 5.0)
    assert (preview.plan, preview.at) == (plan, 5.0)
    assert preview.diff
    assert planned(subject, wish) == plan  # neither planning nor previewing changes anything
    assert subject.changer.apply(plan, "bob")
    assert not subject.changer.apply(plan, "bob")  # it is there already
    verified = settled(subject, plan)
    assert (verified.progress, bool(verified.words)) == (Progress.DONE, True)
    again = subject.changer.plan(subject.change(wish), None)
    assert not isinstance(again, Plan)
    assert [one.code for one in again] == ["nothing_to_do"]
    made = replace(subject.change(wish), state=State.KEPT, preview=preview)
    back = subject.changer.plan(replace(subject.change(wish, 2), reverts=1), made)
    assert isinstance(back, Plan), back
    assert subject.changer.apply(back, "bob")
    assert settled(subject, back).progress is Progress.DONE
    assert planned(subject, wish).writes == plan.writes  # it is as it was


def test_what_is_not_there_can_not_be_changed(subject: Subject) -> None:
    change = replace(subject.change(WISHES[0]), endpoint=f"{subject.endpoint}-none")
    refusals = subject.changer.plan(change, None)
    assert not isinstance(refusals, Plan)
    assert refusals[0].code in ("not_possible", "unreadable")


def test_what_somebody_else_wrote_is_not_written_over(subject: Subject) -> None:
    plan = planned(subject, WISHES[0])
    subject.drift()
    with pytest.raises(DriftedError) as caught:
        subject.changer.apply(plan, "bob")
    assert caught.value.written in (0, None)
    with pytest.raises(DriftedError):
        subject.changer.preview(plan, 5.0)
    (edit,) = planned(subject, WISHES[0]).writes[0].edits
    assert edit.before == "session"  # it is still the other's
