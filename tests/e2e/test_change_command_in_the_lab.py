"""A new user's deck, changed by the command: previewed, made, proved by behaviour, and reverted."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.deck import TIERDECK, Deck, tokens, up
from tests.support.processes import wait_until
from tests.support.proofs import first_that_tells

CONTRACT = {"id", "endpoint", "state", "from", "to", "preview", "proof", "verdict", "notes"}


def tierdeck(deck: Deck, *args: str) -> tuple[int, Any]:
    """Exit code, and the one document on stdout."""
    done = subprocess.run(
        [TIERDECK, *args, "--json"], env=deck.environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def routing(deck: Deck) -> tuple[str, bool]:
    """The strategy of chat as the deck sees it, and whether it is proved."""
    _, inventory = tierdeck(deck, "endpoints")
    chat = next(one for one in inventory["endpoints"] if one["name"] == "chat")
    return chat["strategy"], chat["proof"]["proved"]


@pytest.mark.e2e
def test_a_switch_of_the_simulated_fleet_is_proved_and_reverted(tmp_path: Path) -> None:
    with up(tmp_path, "--history", "0") as (deck, _):
        wait_until(lambda: tokens(deck.ask("status")).get("chat", 0) > 0, "tokens", deck.log)
        before, is_proved = routing(deck)
        assert not is_proved
        after = "prefixaware" if before != "prefixaware" else "roundrobin"
        wait_until(lambda: tierdeck(deck, "route", "chat", after, "--dry-run")[0] == 0, "a controller", deck.log)
        code, document = tierdeck(deck, "route", "chat", after, "--yes", "--wait", "--reason", "try it")
        change = document["change"]
        assert code == 0, change
        assert change.keys() >= CONTRACT
        assert (change["endpoint"], change["state"], change["from"], change["to"]) == ("chat", "kept", before, after)
        assert change["preview"]["writes"]
        assert change["proof"]["verdict"] in ("effective", "cannot_tell")
        assert change["proof"]["evidence"]
        code, probe = first_that_tells(
            lambda: tierdeck(deck, "probe", "routing", "chat", "--strategy", after), lambda one: str(one[1]["verdict"])
        )
        assert (code, probe["verdict"]) == (0, "effective")
        wait_until(lambda: routing(deck) == (after, True), "the deck's inventory to follow", deck.log)
        code, document = tierdeck(deck, "revert", str(change["id"]), "--yes", "--wait")
        back = document["change"]
        assert code == 0, back
        assert (back["state"], back["to"], back["reverts"]) == ("kept", before, change["id"])
        code, document = tierdeck(deck, "resize", "chat", "--l1", "64Gi", "--yes", "--wait")
        assert (code, document["change"]["state"], document["change"]["to"]) == (0, "kept", "L1 64 GiB"), document
