"""The console as a process: its probes, its sentences where the store is missing, its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.browser import console, free_port
from tests.support.console_store import Habit, Made, fill
from tests.support.processes import running, wait_until


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_healthz_answers_200_while_the_store_does(tmp_path: Path) -> None:
    now = time.time()
    fill(f"sqlite:///{tmp_path}/tierdeck.db", [Made("one", [Habit()])], now - 60, now)
    with console(f"sqlite:///{tmp_path}/tierdeck.db", tmp_path / "log") as address:
        status, body = get(f"{address}/healthz")
        assert status == 200
        assert json.loads(body) == {"status": "ok", "last_at": pytest.approx(now, abs=15)}
        status, body = get(f"{address}/metrics")
        assert status == 200
        assert "tierdeck_console_store_up 1.0" in body
        assert 'tierdeck_console_query_seconds_count{query="fleet"} 1.0' in body  # the warm-up


def test_healthz_answers_503_in_a_sentence_without_a_store(tmp_path: Path) -> None:
    with console(f"sqlite:///{tmp_path}/missing.db", tmp_path / "log") as address:
        status, body = get(f"{address}/healthz")
        assert status == 503
        assert "there is no store" in json.loads(body)["error"]
        assert "tierdeck_console_store_up 0.0" in get(f"{address}/metrics")[1]


def test_sigterm_ends_it_with_exit_code_0(tmp_path: Path) -> None:
    log, port = tmp_path / "log", free_port()
    environment = {**os.environ, "TIERDECK_DATABASE_URL": f"sqlite:///{tmp_path}/missing.db"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "console.web", "--port", str(port)], env=environment, stdout=output, stderr=output
        )
    wait_until(lambda: "console listening at http://127.0.0.1" in log.read_text(), "the console", log)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    assert "Traceback" not in log.read_text()


def catches_sigterm(process: subprocess.Popen[bytes]) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def test_sigterm_while_it_starts_ends_it_without_a_traceback(tmp_path: Path) -> None:
    environment = {"TIERDECK_DATABASE_URL": f"sqlite:///{tmp_path}/missing.db"}
    log = tmp_path / "log"
    with running("console.web", "--port", "0", log=log, **environment) as process:
        # it is warming up then, and its port is not open yet
        wait_until(lambda: catches_sigterm(process), "its signal handler", log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert "Traceback" not in log.read_text()


def test_a_taken_port_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    environment = {**os.environ, "TIERDECK_DATABASE_URL": f"sqlite:///{tmp_path}/missing.db"}
    with console(f"sqlite:///{tmp_path}/missing.db", tmp_path / "log") as address:
        port = address.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "console.web", "--port", port], env=environment, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"tierdeck: can't listen on 127.0.0.1:{port}")
    assert len(done.stderr.splitlines()) == 1
