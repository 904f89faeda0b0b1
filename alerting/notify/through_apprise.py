"""Slack, e-mail and whatever else apprise knows.

apprise logs addresses and what receivers answer: its log goes nowhere, and of what it says of a failure only the
number of an HTTP status is kept.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from apprise import Apprise, AppriseAsset, NotifyFormat, NotifyType
from apprise.plugins import url_to_dict
from apprise.result import AppriseResult, AppriseResultStatus

from alerting.notify.channel import SEND_SECONDS, Trouble, UndeliveredError
from alerting.notify.http import trouble_of_status
from tierdeck.alerts.alert import Severity
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.saying import Audience, incident_key
from tierdeck.alerts.wording import Wording

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 15.0
_STATUS = re.compile(r"\berror=(\d{3})\b")
_BROKEN = "\u200b"
_TYPES = {
    Severity.CRITICAL: NotifyType.FAILURE,
    Severity.WARNING: NotifyType.WARNING,
    Severity.INFO: NotifyType.INFO,
}
_PAGERDUTY = "pagerduty"
Parts = Mapping[str, Any]
"""An address taken apart, as apprise's own function gives it."""

_log = logging.getLogger("apprise")
_log.propagate = False
_log.addHandler(logging.NullHandler())


class ThroughApprise:
    """One apprise address. A new service object for each message: they remember and wait."""

    can_confirm = False

    def __init__(self, audience: Audience, parts: Parts) -> None:
        self.audience = audience
        self.name = audience.channel
        self.kind = str(parts["schema"])
        self._parts = parts

    @classmethod
    def parse(cls, audience: Audience, url: str) -> ThroughApprise:
        """The channel of an address.

        Raises:
            ValueError: apprise can't use it; the sentence holds nothing of it.
        """
        parts: Parts | None = url_to_dict(url)  # type: ignore[no-untyped-call]
        kind = PagerDuty if parts and parts["schema"] == _PAGERDUTY else cls
        if not parts or Apprise.instantiate(dict(parts), asset=_asset(), suppress_exceptions=True) is None:
            raise ValueError("apprise knows no such address")
        return kind(audience, parts)

    def send(self, notice: Notice, wording: Wording) -> None:
        """Whether it arrived is what apprise says; nobody at the other end knows a repeat."""
        self._notify(self._parts, harmless(wording.body), harmless(wording.subject), _type_of(notice))

    def _notify(self, parts: Parts, body: str, title: str, kind: NotifyType) -> None:
        timeouts = {"cto": _CONNECT_SECONDS, "rto": _READ_SECONDS}
        service = Apprise.instantiate({**timeouts, **parts}, asset=_asset())
        if service is None:
            raise UndeliveredError(Trouble("apprise can't use its address any more", may_heal=False))
        result = Apprise([service], asset=_asset()).notify(
            body, title=title, notify_type=kind, body_format=NotifyFormat.TEXT, timeout=SEND_SECONDS
        )
        if not result:
            raise UndeliveredError(_trouble_of(result))


class PagerDuty(ThroughApprise):
    """PagerDuty's Events API: our key for the incident makes a repeat part of it, and resolves it."""

    can_confirm = True

    def send(self, notice: Notice, wording: Wording) -> None:
        """The subject is the incident's title; the body stands in its details."""
        alert, is_over = notice.alert, notice.kind is NoticeKind.RESOLVED
        own: dict[str, Any] = {
            "dedup": incident_key(alert) if alert else f"tierdeck-test-{self.name}",
            "action": "resolve" if is_over else "trigger",
            "severity": str(alert.severity) if alert else "info",
            "details": {**self._parts.get("details", {}), "text": wording.body},
            "source": (alert.subject.name if alert else "") or "tierdeck",
            "group": alert.subject.cluster if alert else "",
            "class_id": alert.rule if alert else "test",
            "include_image": False,
        }
        if wording.link:
            own["click"] = wording.link
        self._notify({**self._parts, **own}, wording.subject, "", _type_of(notice))


def harmless(text: str) -> str:
    """Names may hold `@everyone` or `<!channel>`: a sign of no width keeps chats from calling people by them."""
    return re.sub(r"([@<])(?=\S)", rf"\1{_BROKEN}", text)


def _asset() -> AppriseAsset:
    return AppriseAsset(app_id="Tierdeck", app_desc="Tierdeck", app_url="", http_redirects=False, async_mode=False)


def _type_of(notice: Notice) -> NotifyType:
    if notice.kind is NoticeKind.RESOLVED:
        return NotifyType.SUCCESS
    return _TYPES[notice.alert.severity] if notice.alert else NotifyType.INFO


def _trouble_of(result: AppriseResult) -> Trouble:
    if result.status is AppriseResultStatus.TIMEOUT:
        return Trouble(f"it was not done within {SEND_SECONDS:.0f} s", is_unsure=True)
    found = next(filter(None, (_STATUS.search(str(entry.message)) for entry in result.logs())), None)
    if found is None:
        return Trouble("apprise could not send it: no connection, or it was refused", is_unsure=True)
    return trouble_of_status(int(found[1]))
