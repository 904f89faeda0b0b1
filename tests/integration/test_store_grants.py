"""PostgreSQL roles per process: only console and controller write changes, and each can do its own work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from db import Store
from db.__main__ import main
from db.grants import PROCESSES, grants
from db.schema import REVISIONS
from tests.support.alerts import firing, notice, silence
from tests.support.any_changes import CHANGE, CHAT
from tests.support.deployed import deployed, sighting
from tests.support.rounds import T0, a_round, endpoint
from tests.support.stores import Postgres
from tierdeck.account import WarmingLimits
from tierdeck.changes.change import State, Step
from tierdeck.changes.plan import Plan, Preview
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.errors import TierdeckError, UnreachableError
from tierdeck.resolution import Resolution

pytestmark = pytest.mark.postgres
PREVIEW = Preview(Plan(()), "", T0)
PROOF = Proof(Verdict.EFFECTIVE, "session", "session", (), 8, 1.0, T0)


class Roles:
    """One database with the roles; `open` is a process that has one of them."""

    def __init__(self, url: str) -> None:
        self.url = url
        for _ in range(2):  # running it again changes nothing
            self.run(grants("deck"))

    def run(self, sql: str, role: str = "") -> None:
        with psycopg.connect(self._as(role), autocommit=True) as connection:
            connection.execute(sql.encode())

    @contextmanager
    def open(self, role: str) -> Iterator[Store]:
        with Store.open(self._as(role), migrate=True) as store:
            yield store

    def _as(self, role: str) -> str:
        if not role:
            return self.url
        return f"{self.url}{'&' if '?' in self.url else '?'}options=-c%20role%3Ddeck_{role}"


@pytest.fixture
def roles(postgres: Postgres) -> Roles:
    return Roles(postgres.migrated())


WRITES: dict[str, Callable[[Store], object]] = {
    "propose": lambda store: store.propose(replace(CHANGE, key=str(time.time()), endpoint="other")),
    "approve": lambda store: store.approve_change(1, "eve", T0),
    "cancel": lambda store: store.cancel_change(1, "eve", T0),
    "claim": lambda store: store.claim_change("east", "eve", T0, 30),
    "hold": lambda store: store.hold_change(1, "eve", T0, 30),
    "move": lambda store: store.move_change(CHANGE, None, "eve", T0),
    "proof": lambda store: store.save_proof("east", CHAT, PROOF),
}


@pytest.mark.parametrize("role", [one for one in PROCESSES if one not in ("console", "controller")])
def test_no_other_process_writes_changes(roles: Roles, role: str) -> None:
    with roles.open("console") as store:
        proposed = store.propose(CHANGE)
    roles.run(f"UPDATE changes SET id = 1 WHERE id = {proposed.id}" if proposed.id != 1 else "SELECT 1")
    with roles.open(role) as store:
        assert len(store.changes()) == 1  # it may look
        for name, write in WRITES.items():
            with pytest.raises(UnreachableError, match="permission denied") as caught:
                write(store)
            assert "Grant it" in caught.value.hint, name
    for sql in (
        "DELETE FROM changes",
        "UPDATE changes SET state = 'approved'",
        "INSERT INTO change_steps DEFAULT VALUES",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            roles.run(sql, role)


@pytest.mark.parametrize("role", PROCESSES)
def test_nobody_unwrites_what_was_done(roles: Roles, role: str) -> None:
    for sql in (
        "DELETE FROM audit",
        "UPDATE audit SET actor = 'ada'",
        "DELETE FROM changes",
        "DELETE FROM change_steps",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            roles.run(sql, role)


def test_console_and_controller_do_their_work(roles: Roles) -> None:
    with roles.open("console") as console, roles.open("controller") as controller:
        proposed = console.propose(CHANGE)
        claimed = controller.claim_change("east", "c", T0, 30)
        assert claimed is not None
        previewed = replace(claimed, state=State.PREVIEWED, preview=PREVIEW, proof=PROOF)
        assert controller.move_change(previewed, Step(claimed.id, T0, State.PREVIEWED, "c", "…"), "c", T0)
        console.approve_change(proposed.id, "bob", T0)
        console.cancel_change(proposed.id, "bob", T0)
        console.add_silence(silence())
        controller.sight(sighting(T0, deployed()), lambda _before, _now: [])
        controller.beat("controller", "c", "1", T0, T0)


def test_collectors_and_alerting_do_their_work(roles: Roles) -> None:
    with roles.open("collectors") as store:
        store.declare("east", [endpoint()], [], "test", "test")
        store.append([a_round(T0)])
        store.rollup(T0 + 3600, WarmingLimits())
        store.prune(T0 + 10**7, dict.fromkeys(Resolution, 3600), event_seconds=3600, alert_seconds=3600)
        store.beat("collectors", "c", "1", T0, T0)
    with roles.open("alerting") as store:
        alert = firing()
        (saved,) = store.save_alerts([alert], [notice("k", alert)], T0, judged="east")
        assert store.hold_lease("alerting/east", "a", T0, 30)
        assert store.take_notice(T0 + 60, ["slack"], 30) is not None
        assert store.alert(saved.id) is not None


def test_a_limited_role_that_meets_an_older_store_says_what_is_missing(roles: Roles) -> None:
    roles.run("UPDATE alembic_version SET version_num = '0011'")
    try:
        with pytest.raises(TierdeckError), roles.open("collectors"):
            pass
    finally:
        roles.run("UPDATE alembic_version SET version_num = '" + REVISIONS[-1] + "'")


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grants", "--prefix", "deck"]) == 0
    assert capsys.readouterr().out == grants("deck")
    with pytest.raises(SystemExit):
        main(["grants", "--prefix", "Robert'); DROP"])
    assert "can't begin a role's name" in capsys.readouterr().err
