"""Our own webhook: JSON by POST, with a key by which the receiver drops what it has already."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from requests.auth import HTTPBasicAuth

from alerting.notify.address import Address
from alerting.notify.http import call
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.notice import Notice
from tierdeck.alerts.saying import Audience, incident_key
from tierdeck.alerts.silence import labels_of
from tierdeck.alerts.wording import Wording

VERSION = 1


class Webhook:
    """POSTs to one address."""

    kind = "webhook"
    can_confirm = True

    def __init__(self, audience: Audience, address: Address) -> None:
        self.audience = audience
        self.name = audience.channel
        self._address = address

    def send(self, notice: Notice, wording: Wording) -> None:
        """A status of success says that the receiver has it."""
        auth = HTTPBasicAuth(*self._address.login) if self._address.login else None
        headers = {"Idempotency-Key": notice.key}
        call("POST", self._address.url, body=body_of(notice, wording), headers=headers, auth=auth)


def body_of(notice: Notice, wording: Wording) -> dict[str, object]:
    """What a receiver gets; docs/notify.md tells the keys. Instants are ISO 8601 UTC, or null."""
    return {
        "version": VERSION,
        "key": notice.key,
        "kind": str(notice.kind),
        "subject": wording.subject,
        "text": wording.body,
        "link": wording.link,
        "alert": None if notice.alert is None else _alert(notice.alert),
    }


def _alert(alert: Alert) -> dict[str, object]:
    return {
        "id": alert.id,
        "incident": incident_key(alert),
        "state": str(alert.state),
        "labels": labels_of(alert),
        "fired_at": instant(alert.fired_at),
        "resolved_at": instant(alert.resolved_at),
        "value": alert.value,
        "expected": alert.expected,
        "depth": alert.depth,
        "words": alert.words,
        "evidence": dict(alert.evidence),
        "causes": [{**asdict(cause), "at": instant(cause.at)} for cause in alert.causes],
    }


def instant(at: float | None) -> str | None:
    """ISO 8601 in UTC, as RFC 3339 wants it."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
