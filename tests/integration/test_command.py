"""The `tierdeck` command as a child process: documents, exit codes, and never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from alerting.export.alertmanager import inhibit_rules

INHIBITING = len(inhibit_rules())

CAPTURES = Path(__file__).parents[2] / "lab" / "captures"
BOARDS = Path(__file__).parents[1] / "fixtures" / "boards"
TIERDECK = Path(sys.executable).with_name("tierdeck")


def tierdeck(home: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [TIERDECK, *args],
        env={**os.environ, "TIERDECK_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def test_explain_prints_one_json_document_and_nothing_else(tmp_path: Path) -> None:
    done = tierdeck(tmp_path, "explain", str(CAPTURES / "cross-replica"), "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert document["replicas"]["B"]["tiers"]["L2"]["tokens"] == 2048


def test_explain_speaks_to_people_too(tmp_path: Path) -> None:
    done = tierdeck(tmp_path, "explain", str(CAPTURES / "pressure"))
    assert done.returncode == 0
    assert "B  [idle]" in done.stdout
    assert "by token: unknown: no prompt tokens looked up in the window; by request: " in done.stdout


def test_up_refuses_a_broken_file_before_it_makes_or_starts_anything(tmp_path: Path) -> None:
    home, config = tmp_path / "home", tmp_path / "deck.yaml"
    config.write_text("endpoints: []")
    done = tierdeck(home, "up", "--config", str(config), "--port", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tierdeck: {config}: endpoints: empty, at least one entry is needed")
    assert len(done.stderr.splitlines()) == 1
    assert not home.exists()


def test_lint_names_faults_and_says_by_its_exit_code_whether_there_are_any(tmp_path: Path) -> None:
    faulty = tierdeck(tmp_path, "lint", str(BOARDS / "llm-d-alerts.yaml"), "--json")
    document = json.loads(faulty.stdout)
    assert (faulty.returncode, faulty.stderr) == (1, "")
    assert set(document) >= {"file", "queries", "skipped", "findings"}
    assert all(set(found) == {"rule", "where", "expression", "says", "right"} for found in document["findings"])
    assert (document["queries"], document["skipped"], len(document["findings"])) == (5, 0, 6)
    for_people = tierdeck(tmp_path, "lint", str(BOARDS / "llm-d-alerts.yaml"))
    assert for_people.returncode == 1
    assert "6 faults in 4 of 5 queries" in for_people.stdout
    good = tierdeck(tmp_path, "lint", str(BOARDS / "good.json"))
    assert (good.returncode, good.stderr) == (0, "")
    assert "no fault found in 13 queries; passed over: 1 loki" in good.stdout


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["explain", "no-such-folder"], 2, "no-such-folder is not a directory"),
        (["explain"], 2, "nothing to explain. Name a snapshot directory, or a Prometheus with --prometheus."),
        (["ledger", "x", "--window", "soon"], 2, "'soon' is not a duration"),
        (["ledger", "x", "--window", "1s"], 2, "holds no two scrapes"),
        (["snapshot", "new", "--every", "0.2s"], 2, "can't be below one second"),
        (["lint", "no-such-file"], 2, "can't read no-such-file: No such file"),
        (["lint", "."], 2, ". is a directory. A Grafana board as JSON or a Prometheus rule file as YAML is wanted."),
        (["lint"], 2, "missing argument"),
        (["nonsense"], 2, "no such command"),
        (["up", "--demo", "--config", "x.yaml"], 2, "not together with --config"),
        (["up", "--speed", "2", "--config", "x.yaml"], 2, "not together with --config"),
        (["up", "--history", "30d"], 2, "seven days at most"),
        (["up", "--history", "soon"], 2, "is not a duration"),
        (["up", "--config", "x.yaml", "--port", "0"], 2, "x.yaml: No such file"),
        (["status"], 3, "tierdeck up"),
    ],
)
def test_what_can_t_be_done_is_one_line_and_an_exit_code(tmp_path: Path, args: list[str], code: int, says: str) -> None:
    done = tierdeck(tmp_path / "home", *args)
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    assert says in line


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    done = tierdeck(tmp_path, "status", TIERDECK_SCRAPE_INTERVAL_SECONDS="often")
    assert done.returncode == 2
    assert "TIERDECK_SCRAPE_INTERVAL_SECONDS" in done.stderr


def test_a_database_s_password_is_never_shown(tmp_path: Path) -> None:
    url = "postgresql+psycopg://deck:hunter2@127.0.0.1:9/deck"
    done = tierdeck(tmp_path, "status", TIERDECK_DATABASE_URL=url)
    assert done.returncode == 3
    assert "hunter2" not in done.stdout + done.stderr


def test_every_command_has_a_help_text(tmp_path: Path) -> None:
    for command in ("up", "status", "endpoints", "targets", "ledger"):
        done = tierdeck(tmp_path, command, "--help")
        assert done.returncode == 0
        assert "--help" in done.stdout
    for command, takes in (("explain", "DIR"), ("snapshot", "DIR"), ("lint", "FILE")):
        assert takes in tierdeck(tmp_path, command, "--help").stdout


def test_export_writes_rules_routes_and_boards(tmp_path: Path) -> None:
    rules = tierdeck(tmp_path, "export", "prometheus-rules", "--as", "prometheusrule", "--labels", "release=prom")
    assert (rules.returncode, rules.stderr) == (0, "")
    assert "kind: PrometheusRule" in rules.stdout
    assert tierdeck(tmp_path, "export", "alertmanager").stdout.count("source_matchers") == INHIBITING
    boards = tierdeck(tmp_path, "export", "grafana", "--out", str(tmp_path / "boards"))
    assert boards.returncode == 0
    assert json.loads((tmp_path / "boards" / "tierdeck-fleet.json").read_text())["uid"] == "tierdeck-fleet"


def test_export_refuses_an_objective_that_no_bucket_can_tell(tmp_path: Path) -> None:
    done = tierdeck(tmp_path, "export", "prometheus-rules", "--ttft-objective", "0.95:2s")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Take 1s or 2.5s.\n")
    assert len(done.stderr.splitlines()) == 1
