"""What is refused before anything is built."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.real.environment import cache_folder, ensure
from tierdeck.errors import UnreachableError, UsageError


def test_the_cache_folder_is_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIERDECK_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("TIERDECK_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "tierdeck"


def test_too_little_disk_is_one_line_and_nothing_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIERDECK_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=11.94e9))
    said: list[str] = []
    with pytest.raises(UsageError, match=r"needs 12 GB of free disk, and .* has 11\.9 GB") as caught:
        ensure(said.append)
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.line()
    assert said == []
    assert not [path for path in (tmp_path / "lab").iterdir() if path.is_dir()]


def test_a_cache_folder_that_can_not_be_used_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIERDECK_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="Not a directory"):
        ensure(print)


def test_a_build_that_takes_too_long_is_given_up_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIERDECK_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=20e9))
    with pytest.raises(UnreachableError, match="took too long to build") as caught:
        ensure(print, build_seconds=0)
    assert caught.value.exit_code == 3
    assert "\n" not in caught.value.line()
    assert not list((tmp_path / "lab").glob("env-*/.complete"))
