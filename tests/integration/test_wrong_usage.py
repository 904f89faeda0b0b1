"""Each of our commands, called as it can't be: one line that says what to do, and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TIERDECK = str(Path(sys.executable).with_name("tierdeck"))
MODULE = f"{sys.executable} -m"
CALLS = {
    f"{TIERDECK} approve 0": "tierdeck: invalid value for 'ID'",
    f"{TIERDECK} routes": "tierdeck: no such command 'routes'. Did you mean",
    f"{TIERDECK} route chat": "tierdeck: missing argument 'strategy'. `tierdeck route --help`",
    f"{TIERDECK} events --limit few": "tierdeck: invalid value for '--limit'",
    f"{TIERDECK} silence add --nobody": "tierdeck: no such option: --nobody",
    f"{TIERDECK} ledger chat --window 3parsec": "tierdeck: '3parsec' is not a duration",
    f"{MODULE} controller frob": "tierdeck: no such command 'frob'",
    f"{MODULE} collectors backfill --nope": "tierdeck: no such option: --nope. `python -m collectors backfill --help`",
    f"{MODULE} alerting frob": "tierdeck: no such command 'frob'",
    f"{MODULE} db frob": "tierdeck: argument command: invalid choice: 'frob'",
    f"{MODULE} lab sim --port x": "tierdeck: argument --port: invalid int value: 'x'. `python -m lab sim --help`",
    f"{MODULE} console.web --port x": "tierdeck: argument --port: invalid int value: 'x'",
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_usage_is_one_line_and_changes_nothing(call: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TIERDECK_HOME": str(tmp_path)}
    done = subprocess.run(call.split(), env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(CALLS[call]), line
    assert list(tmp_path.iterdir()) == []


def test_a_group_that_is_asked_nothing_shows_its_help(tmp_path: Path) -> None:
    environment = {**os.environ, "TIERDECK_HOME": str(tmp_path), "NO_COLOR": "1"}
    done = subprocess.run([TIERDECK, "probe"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "routing" in done.stdout + done.stderr
    assert "tierdeck: " not in done.stderr
