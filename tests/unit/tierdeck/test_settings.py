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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"url": "http://me:pa55@x", "token_file": "t"}, "a user in prometheus_url and prometheus_token_file"),
        ({"username": "me", "password_file": "p", "aws_region": "eu-west-1"}, "keep one"),
        ({"username": "me"}, "need each other"),
        ({"password_file": "p"}, "need each other"),
        ({"key_file": "k"}, "needs prometheus_cert_file"),
        ({"url": "http://x", "ca_file": "c"}, "begins with https://"),
        ({"url": "http://me:pa55@x:port"}, "its port"),
        ({"tenant": "a\nb"}, "prometheus_tenant"),
    ],
)
def test_what_can_not_hold_together_for_a_prometheus_is_one_line(given: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        load_settings(is_start=True, **{f"prometheus_{name}": value for name, value in given.items()})
    assert "pa55" not in caught.value.line()


def test_the_address_of_a_prometheus_is_shown_without_its_password() -> None:
    settings = load_settings(is_start=True, prometheus_url="me:pa55@prometheus:9090/")
    assert settings.prometheus_address == "http://prometheus:9090"
    assert "pa55" not in repr(settings)
    assert load_settings(is_start=True).prometheus_address == ""
