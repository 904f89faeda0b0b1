"""A person at a terminal: asked before anything is made, and free to leave with Ctrl-C; as child processes."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.changes.changer import Progress, Verified
from controller.changes.memory import MemoryChanger
from db import Store
from tests.integration.test_command import TIERDECK
from tests.support.changed_deck import fill_changeable, working_controller
from tests.support.processes import PATIENCE_SECONDS, wait_until
from tierdeck.changes.change import State


@pytest.fixture
def home(tmp_path: Path) -> Path:
    fill_changeable(f"sqlite:///{tmp_path}/tierdeck.db")
    return tmp_path


@pytest.fixture
def fleet(home: Path) -> Iterator[MemoryChanger]:
    with working_controller(f"sqlite:///{home}/tierdeck.db", home) as found:
        yield found


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, home: Path, *args: str) -> None:
        self._end, theirs = pty.openpty()
        environment = {**os.environ, "TIERDECK_HOME": str(home), "LOGNAME": "marie"}
        self.process = subprocess.Popen(
            [TIERDECK, *args], env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        os.set_blocking(self._end, False)
        self.said = ""

    def read(self) -> str:
        """All that it has said."""
        with contextlib.suppress(OSError):  # nothing new, or the command has ended
            self.said += os.read(self._end, 65536).decode(errors="replace")
        return self.said

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def code(self) -> int:
        """How it ended."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            self.read()
            time.sleep(0.05)
        self.read()
        return self.process.wait(timeout=1)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._end)


@pytest.fixture
def terminals(home: Path) -> Iterator[list[Terminal]]:
    found: list[Terminal] = []
    yield found
    for one in found:
        one.close()


def state(home: Path, number: int = 1) -> State | None:
    with Store.open(f"sqlite:///{home}/tierdeck.db") as store:
        found = store.change(number)
    return None if found is None else found.state


def test_it_shows_the_preview_and_asks_and_yes_makes_it(
    home: Path, fleet: MemoryChanger, terminals: list[Terminal]
) -> None:
    one = Terminal(home, "route", "chat", "prefixaware", "--wait")
    terminals.append(one)
    wait_until(lambda: "Make change 1? [y/N]" in one.read(), "the question")
    assert "roundrobin -> prefixaware" in one.said  # the diff comes before the question
    assert "No tier starts empty." in one.said
    assert fleet.written == []
    one.type("y\n")
    assert one.code() == 0
    assert "● kept" in one.said
    assert len(fleet.written) == 1
    assert state(home) is State.KEPT


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_any_other_answer_cancels_it(home: Path, fleet: MemoryChanger, terminals: list[Terminal], answer: str) -> None:
    one = Terminal(home, "route", "chat", "prefixaware")
    terminals.append(one)
    wait_until(lambda: "Make change 1? [y/N]" in one.read(), "the question")
    one.type(answer)
    assert one.code() == 1
    assert "– cancelled" in one.said
    assert (state(home), fleet.written) == (State.CANCELLED, [])


def test_ctrl_c_at_the_question_leaves_it_waiting(home: Path, fleet: MemoryChanger, terminals: list[Terminal]) -> None:
    one = Terminal(home, "route", "chat", "prefixaware")
    terminals.append(one)
    wait_until(lambda: "Make change 1? [y/N]" in one.read(), "the question")
    os.kill(one.process.pid, signal.SIGINT)
    assert one.code() == 130
    assert "Change 1 is left to itself" in one.said
    assert "Traceback" not in one.said
    assert (state(home), fleet.written) == (State.PREVIEWED, [])


def test_ctrl_c_while_following_leaves_the_change_going(
    home: Path, fleet: MemoryChanger, terminals: list[Terminal]
) -> None:
    fleet.faults.verified = [Verified(Progress.WAITING, "1 of 2 pods is ready")] * 1000
    one = Terminal(home, "route", "chat", "prefixaware", "--yes", "--wait")
    terminals.append(one)
    wait_until(lambda: "1 of 2 pods is ready" in one.read(), "the change to be proving")
    os.kill(one.process.pid, signal.SIGINT)
    assert one.code() == 130
    assert "`tierdeck change 1 --wait` follows it" in one.said
    assert "Traceback" not in one.said
    fleet.faults.verified.clear()
    wait_until(lambda: state(home) is State.KEPT, "the change to go on to its end")


def test_ctrl_c_in_a_dry_run_leaves_nothing_open(home: Path, terminals: list[Terminal]) -> None:
    one = Terminal(home, "route", "chat", "prefixaware", "--dry-run")  # no controller works: there comes no preview
    terminals.append(one)
    wait_until(lambda: state(home) is State.PROPOSED and "proposes" in one.read(), "the proposal")
    os.kill(one.process.pid, signal.SIGINT)
    assert one.code() == 130
    assert "Traceback" not in one.said
    assert state(home) is State.CANCELLED
