"""docker-compose.yml, as docker-compose itself resolves it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import needs

ROOT = Path(__file__).parents[2]
SET = {"TIERDECK_DB_PASSWORD": "made-up", "TIERDECK_FLEET": "/somewhere/fleet.yaml"}


def config(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TIERDECK_")}
    command = [
        needs.tool("docker-compose"),
        "--project-directory",
        str(ROOT),
        "--profile",
        "next",
        "--profile",
        "kubernetes",
        "config",
    ]
    return subprocess.run(
        command, cwd=ROOT, env=clean | environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    answer = config(SET)
    assert answer.returncode == 0, answer.stderr
    resolved: dict[str, Any] = yaml.safe_load(answer.stdout)["services"]
    return resolved


@pytest.mark.parametrize("name", sorted(SET))
def test_what_has_no_default_must_be_set(name: str) -> None:
    answer = config({key: value for key, value in SET.items() if key != name})
    assert answer.returncode != 0
    assert name in (ROOT / "docker-compose.yml").read_text()


def test_there_is_one_service_per_process(services: dict[str, Any]) -> None:
    assert set(services) == {"postgres", "migrate", "collectors", "controller", "alerting", "console"}


def test_only_the_console_is_published_and_on_loopback(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"console": ["127.0.0.1:8501:8501/tcp"]}


def test_our_processes_run_without_rights_on_a_read_only_root(services: dict[str, Any]) -> None:
    for name, service in services.items():
        if name != "postgres":
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_lasting_service_has_a_health_check(services: dict[str, Any]) -> None:
    lasting = {name for name, service in services.items() if service["restart"] != "no"}
    assert lasting == {"postgres", "collectors", "controller", "alerting", "console"}
    assert all("healthcheck" in services[name] for name in lasting)


def test_the_controller_is_started_only_when_it_is_asked_for(services: dict[str, Any]) -> None:
    assert services["controller"]["profiles"] == ["kubernetes"]
    assert services["controller"]["volumes"] == ["/dev/null:/etc/tierdeck/kubeconfig:ro"]


def test_the_password_is_in_no_address(services: dict[str, Any]) -> None:
    for service in services.values():
        assert SET["TIERDECK_DB_PASSWORD"] not in service["environment"].get("TIERDECK_DATABASE_URL", "")
