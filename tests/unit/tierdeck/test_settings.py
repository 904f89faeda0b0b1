"""Settings: what a deck was started with holds for every command on its home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierdeck.errors import UsageError
from tierdeck.settings import DECK_FILE, load_settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERDECK_HOME", str(tmp_path))
    (tmp_path / DECK_FILE).write_text("TIERDECK_SCRAPE_INTERVAL_SECONDS=5\nTIERDECK_SCRAPE_TIMEOUT_SECONDS=4\n")
    return tmp_path


def test_a_command_scrapes_and_judges_as_the_deck_of_its_home_does(home: Path) -> None:
    assert load_settings().scrape_interval_seconds == 5
    assert load_settings().stale_after_seconds == 15


def test_the_environment_says_more_than_the_last_start(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERDECK_SCRAPE_INTERVAL_SECONDS", "7")
    assert load_settings().scrape_interval_seconds == 7


def test_a_start_does_not_inherit_the_one_before(home: Path) -> None:
    assert load_settings(is_start=True).scrape_interval_seconds == 15


def test_a_broken_file_is_one_line(home: Path) -> None:
    (home / DECK_FILE).write_text("TIERDECK_SCRAPE_INTERVAL_SECONDS=soon\n")
    with pytest.raises(UsageError, match="SCRAPE_INTERVAL_SECONDS"):
        load_settings()
