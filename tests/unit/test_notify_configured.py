"""Channels from the settings: each kind, and what is refused, in a sentence that shows no address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alerting.notify.configured import configured
from tierdeck.alerts.alert import Severity
from tierdeck.errors import UsageError
from tierdeck.settings import Settings, load_settings

SLACK = "https://hooks.slack.com/services/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"


def of(text: str = "", **settings: Any) -> Any:
    return configured(Settings(notify_urls=text, **settings))


def test_nothing_is_configured_by_default() -> None:
    ways = of()
    assert (ways.channels, ways.heartbeat, ways.names) == ((), None, [])


def test_a_file_names_channels_as_lines_or_as_yaml(tmp_path: Path) -> None:
    file = tmp_path / "channels"
    file.write_text(
        f"# who is called\n\nteam = {SLACK}\npager (critical) = pagerduty://CANARY@CANARY\n"
        "mail: 'mailto://me:CANARY@smtp.example?to=a@team.example'\n"
        "hook:\twebhook+https://hooks.example/in?x=a=b\n"
    )
    ways = of(notify_file=file)
    assert ways.names == [("team", "slack"), ("pager", "pagerduty"), ("mail", "mailto"), ("hook", "webhook")]
    assert [one.least for one in ways.audiences] == [Severity.INFO, Severity.CRITICAL, Severity.INFO, Severity.INFO]


def test_the_environment_names_channels_parted_by_spaces() -> None:
    ways = of(f"team={SLACK} hook(warning)=webhook+http://hooks.example:8080")
    assert ways.names == [("team", "slack"), ("hook", "webhook")]
    assert ways.audiences[1].least is Severity.WARNING


def test_each_alertmanager_of_a_cluster_is_a_channel_that_repeats_by_itself() -> None:
    ways = of(alertmanager_url="http://am-0.example:9093/, am-1.example:9093/#/alerts")
    assert ways.names == [("alertmanager", "alertmanager"), ("alertmanager-2", "alertmanager")]
    assert len(ways.alertmanagers) == 2
    assert not any(one.is_repeated for one in ways.audiences)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CANARY", "entry 1: it is not `name = address`"),
        ("https://CANARY.example", "entry 1: it is not"),
        ("a=nope://CANARY", "entry 1: the address of a can't be used: apprise knows no such address"),
        ("a=webhook+ftp://CANARY", "begins with http"),
        ("a=webhook+https://[CANARY", "it is no address"),
        ("a(urgent)=webhook+https://CANARY", "no such severity"),
        ("alertmanager-2=webhook+https://CANARY", "is taken"),
        ("a=webhook+https://x.example a=webhook+https://CANARY", "two channels are called a"),
    ],
)
def test_what_can_not_be_used_is_refused_unseen(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(text)
    assert words in str(caught.value)
    assert "CANARY" not in caught.value.line()


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        of(notify_file=tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not text"):
        of(notify_file=tmp_path / "binary")
    (tmp_path / "bad").write_text(f"a = {SLACK}\nCANARY\n")
    with pytest.raises(UsageError, match="TIERDECK_NOTIFY_FILE, line 2"):
        of(notify_file=tmp_path / "bad")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alertmanager_url": "ftp://CANARY"}, "TIERDECK_ALERTMANAGER_URL can't be used"),
        ({"alertmanager_url": "http://u:CANARY@am.example", "alertmanager_token_file": Path("t")}, "keep one"),
        ({"heartbeat_url": "CANARY"}, "TIERDECK_HEARTBEAT_URL can't be used"),
    ],
)
def test_other_addresses_are_refused_unseen_too(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(**settings)
    assert words in str(caught.value)
    assert "CANARY" not in caught.value.line()


@pytest.mark.parametrize(
    "settings",
    [
        {"console_url": "deck.example"},
        {"console_url": "https://ada:secret@deck.example"},
        {"alertmanager_username": "ada"},
        {"alertmanager_username": "ada", "alertmanager_password_file": "p", "alertmanager_token_file": "t"},
        {"renotify_seconds": 1},
    ],
)
def test_settings_that_fit_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="_"):
        load_settings(**settings)


def test_no_channel_shows_its_address() -> None:
    ways = of(f"team={SLACK} hook=webhook+https://u:CANARY@h.example/CANARY", heartbeat_url="https://h.example/CANARY")
    shown = f"{ways!r} {ways.channels!r} {[vars(one) for one in ways.channels if one.kind == 'webhook']}"
    assert "CANARY" not in shown
