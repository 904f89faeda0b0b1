"""The repository's shape: whose packages these are, who may import whom, what a file looks like."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("tierdeck", "db", "health", "collectors", "alerting", "controller", "console", "lab")
FILES = sorted(path for folder in (*PACKAGES, "tests") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_ours_and_not_a_namesake_from_an_index(name: str) -> None:
    file = importlib.import_module(name).__file__
    assert file is not None
    assert Path(file).resolve() == (ROOT / name / "__init__.py").resolve()


def test_nothing_in_the_console_is_named_like_one_of_our_packages() -> None:
    # Streamlit looks for imports beside its script first: such a file would hide the package.
    names = {path.stem if path.is_file() else path.name for path in (ROOT / "console").rglob("*")}
    assert not names & set(PACKAGES)


def test_imports_keep_to_the_layers() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_lock_names_no_host() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_every_file_opens_with_a_sentence_that_says_what_it_is() -> None:
    # An empty __init__.py among the tests only makes a folder a package.
    spoken = [path for path in FILES if path.stat().st_size or "tests" not in path.parts]
    assert not [str(path.relative_to(ROOT)) for path in spoken if not _is_sentence(_docstring(path))]


def test_no_file_is_beyond_400_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in FILES}
    assert not {name: length for name, length in lengths.items() if length > 400}


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def _is_sentence(text: str) -> bool:
    return text.partition("\n\n")[0].strip().endswith((".", ":", "?"))
