"""The Dockerfile as text, where no engine builds it: what it copies is there, and who it runs as."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = [
    line.strip()
    for line in re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text("utf-8")).splitlines()
    if line.strip() and not line.startswith("#")
]
KEPT = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}


def test_what_is_copied_from_the_repository_is_there_and_not_left_out() -> None:
    copied = [line.split()[1:-1] for line in LINES if line.startswith("COPY ") and "--from=" not in line]
    sources = {source for some in copied for source in some} - {"."}
    assert sources
    assert sources <= KEPT
    assert all((ROOT / name).exists() for name in KEPT)


def test_every_package_of_ours_reaches_the_image_and_nothing_that_it_does_not_run() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = {name.removesuffix("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages <= KEPT
    assert KEPT - packages == {"LICENSE", "README.md", "pyproject.toml", "requirements.lock"}


def test_it_runs_as_the_charts_user_and_asks_nobody_how_it_is() -> None:
    assert [line for line in LINES if line.startswith("USER ")] == ["USER 10001"]
    assert not [line for line in LINES if line.startswith("HEALTHCHECK")]


def test_only_what_the_project_depends_on_is_installed() -> None:
    (install,) = [line for line in LINES if "--requirements" in line]
    assert "--requirements pyproject.toml" in install
    assert "--constraints requirements.lock" in install
    assert "--verify-hashes" in install
    assert "--group" not in install
