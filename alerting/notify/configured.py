"""The channels that the settings name. Addresses are secrets: an error says where one stands, and never what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from alerting.notify.address import Address
from alerting.notify.alertmanager import Access, Alertmanager
from alerting.notify.channel import Channel
from alerting.notify.heartbeat import Heartbeat
from alerting.notify.webhook import Webhook
from tierdeck.alerts.alert import Severity
from tierdeck.alerts.saying import Audience
from tierdeck.errors import UsageError
from tierdeck.server_address import ServerAddress
from tierdeck.settings import Settings

_LINE = re.compile(r"(?P<name>[\w.-]+)(?:\s*\((?P<least>\w+)\))?(?:\s*=\s*|:\s+)(?P<url>\S.*)", re.ASCII)
_WEBHOOK = "webhook+"
_API = ("/api/v2/alerts", "/api/v2", "/#", "/")
_RESERVED = ("alertmanager", "heartbeat")
_HINT = "docs/notify.md has an example for each kind."


@dataclass(frozen=True, slots=True)
class Configured:
    """What there is; any of it may be missing."""

    channels: tuple[Channel, ...] = ()
    heartbeat: Heartbeat | None = None

    @property
    def alertmanagers(self) -> tuple[Alertmanager, ...]:
        return tuple(one for one in self.channels if isinstance(one, Alertmanager))

    @property
    def audiences(self) -> tuple[Audience, ...]:
        return tuple(one.audience for one in self.channels)

    @property
    def names(self) -> list[tuple[str, str]]:
        """Name and kind of each channel: what may be shown."""
        return [(one.name, one.kind) for one in self.channels]


def configured(settings: Settings) -> Configured:
    """The channels and the heartbeat of these settings.

    Raises:
        UsageError: one of them can't be used.
    """
    channels: list[Channel] = [*_from_file(settings.notify_file), *_from_text(settings.notify_urls.get_secret_value())]
    names = [one.name for one in channels]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), "")
    if twice:
        raise UsageError(f"two channels are called {twice}", "A channel's name stays with its notices: give each one.")
    return Configured((*channels, *_alertmanagers(settings)), _heartbeat(settings))


def _from_file(file: Path | None) -> Iterator[Channel]:
    if file is None:
        return
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not text"
        raise UsageError(
            f"TIERDECK_NOTIFY_FILE: {file} can't be read ({why})", "Name a file that this process may read."
        ) from error
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield _channel(line, f"TIERDECK_NOTIFY_FILE, line {number}")


def _from_text(text: str) -> Iterator[Channel]:
    for number, entry in enumerate(text.split(), 1):
        yield _channel(entry, f"TIERDECK_NOTIFY_URLS, entry {number}")


def _channel(line: str, where: str) -> Channel:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise UsageError(f"{where}: it is not `name = address`", _HINT)
    if match["name"].split("-")[0] in _RESERVED:
        raise UsageError(f"{where}: the name {match['name']} is taken", "Choose another one.")
    try:
        least = Severity(match["least"] or Severity.INFO)
    except ValueError:
        raise UsageError(f"{where}: no such severity", f"One of {', '.join(Severity)}.") from None
    audience, url = Audience(match["name"], least), match["url"].strip("\"'")
    try:
        if url.startswith(_WEBHOOK):
            return Webhook(audience, Address.parse(url.removeprefix(_WEBHOOK)))
        from alerting.notify.through_apprise import ThroughApprise  # noqa: PLC0415 it takes its time to import

        return ThroughApprise.parse(audience, url)
    except ValueError as error:
        raise UsageError(f"{where}: the address of {audience.channel} can't be used: {error}", _HINT) from None


def _alertmanagers(settings: Settings) -> Iterator[Alertmanager]:
    texts = [text.strip() for text in settings.alertmanager_url.get_secret_value().split(",")]
    for number, text in enumerate(filter(None, texts), 1):
        try:
            address = ServerAddress.parse(text)
        except ValueError as error:
            raise UsageError(f"TIERDECK_ALERTMANAGER_URL can't be used: {error}") from None
        if address.username and (settings.alertmanager_username or settings.alertmanager_token_file):
            raise UsageError("TIERDECK_ALERTMANAGER_URL holds a user, and another setting says who is asking: keep one")
        url = address.url
        for ending in _API:
            url = url.removesuffix(ending)
        access = Access(
            url,
            settings.alertmanager_username or address.username,
            settings.alertmanager_password_file or address.password,
            settings.alertmanager_token_file,
            settings.alertmanager_ca_file,
        )
        name = "alertmanager" if number == 1 else f"alertmanager-{number}"
        yield Alertmanager(
            Audience(name, is_repeated=False), access, settings.console_url, settings.cluster, settings.docs_url
        )


def _heartbeat(settings: Settings) -> Heartbeat | None:
    text = settings.heartbeat_url.get_secret_value()
    try:
        return Heartbeat(Address.parse(text)) if text else None
    except ValueError as error:
        raise UsageError(f"TIERDECK_HEARTBEAT_URL can't be used: {error}") from None
