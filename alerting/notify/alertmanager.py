"""Alertmanager's API v2: what fires is posted, and posted again as long as it does; routes and silences hold there.

Source: Alertmanager's `api/v2/openapi.yaml`; that who sends repeats itself, and says resolved ones for a while too,
is how Prometheus does it (`rules/manager.go`, `resolvedRetention`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from requests import PreparedRequest
from requests.auth import AuthBase, HTTPBasicAuth

from alerting.notify.channel import Trouble, UndeliveredError
from alerting.notify.http import call
from alerting.notify.webhook import instant
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.rules import BY_NAME
from tierdeck.alerts.saying import Audience
from tierdeck.alerts.silence import labels_of
from tierdeck.alerts.wording import Wording, word

REPOST_SECONDS = 60.0
VALID_SECONDS = 600.0
"""How long Alertmanager takes what was posted last for true: a restart of ours within it resolves nothing there."""
WATCHDOG = "TierdeckWatchdog"
_TRIAL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Access:
    """Where it is, and what proves who is asking; the files are read at each request, since they are renewed."""

    url: str
    username: str = ""
    password: str | Path = ""
    token_file: Path | None = None
    ca: Path | None = None

    def auth(self) -> AuthBase | None:
        """Raises UndeliveredError where a file can't be read."""
        if self.token_file is not None:
            return _Bearer(_secret(self.token_file))
        if self.username:
            password = _secret(self.password) if isinstance(self.password, Path) else self.password
            return HTTPBasicAuth(self.username.encode(), password.encode())
        return None


class _Bearer(AuthBase):
    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class Alertmanager:
    """One Alertmanager; of a cluster of them each is one."""

    kind = "alertmanager"
    can_confirm = True

    def __init__(
        self, audience: Audience, access: Access, console_url: str = "", cluster: str = "", docs_url: str = ""
    ) -> None:
        self.audience = audience
        self.name = audience.channel
        self._access = access
        self._console_url = console_url
        self._cluster = cluster
        self._docs_url = docs_url
        self._lock = threading.Lock()

    def send(self, notice: Notice, wording: Wording) -> None:
        """The same again changes nothing there: alerts are known by their labels."""
        now = time.time()
        with self._lock:
            if notice.alert is None:
                self._post([_trial(wording, now)])
            else:
                self._post([posted(notice.alert, wording, now)])

    def repeat(self, read: Callable[[], Iterable[Alert]], *, is_watching: bool) -> None:
        """Post all that was said there and fires, or was over lately, and the watchdog while the rules are judged.

        Args:
            read: gives these alerts; asked when no sending is under way, so that nothing older is posted after it.

        Raises:
            UndeliveredError: it did not take them.
        """
        with self._lock:
            now = time.time()
            some = [posted(one, word(_again(one, self.name), self._console_url, self._docs_url), now) for one in read()]
            if is_watching:
                some.append(_watchdog(self._console_url, now, self._cluster))
            if some:
                self._post(some)

    def _post(self, some: list[dict[str, object]]) -> None:
        access = self._access
        call("POST", f"{access.url}/api/v2/alerts", body=some, auth=access.auth, ca=access.ca)


def posted(alert: Alert, wording: Wording, now: float) -> dict[str, object]:
    """One alert as the API takes it; `endsAt` in the future is how long this holds without being said again."""
    rule = BY_NAME.get(alert.rule)
    advice = "\n".join(f"{number}. {step}" for number, step in enumerate(rule.advice if rule else (), 1))
    notes = {
        "summary": wording.subject,
        "description": wording.body,
        "causes": wording.causes,
        "runbook": advice,
        "runbook_url": wording.more,
        "dashboard": wording.link,
    }
    # an end that lies in the future there is not taken for one: what was posted before holds longer (`Alert.Merge`)
    ends_at = min(alert.resolved_at, now) if alert.resolved_at is not None else now + VALID_SECONDS
    document: dict[str, object] = {
        "labels": {"alertname": rule.alertname if rule else alert.rule, **labels_of(alert)},
        "annotations": {name: text for name, text in notes.items() if text},
        "startsAt": instant(alert.fired_at if alert.fired_at is not None else alert.pending_at),
        "endsAt": instant(ends_at),
    }
    return {**document, "generatorURL": wording.link} if wording.link else document


def _watchdog(console_url: str, now: float, cluster: str) -> dict[str, object]:
    document: dict[str, object] = {
        "labels": {"alertname": WATCHDOG, "severity": "none"} | ({"cluster": cluster} if cluster else {}),
        "annotations": {"summary": "Always firing while Tierdeck judges its rules: be warned when it is missing."},
        "endsAt": instant(now + 3 * REPOST_SECONDS),
    }
    return {**document, "generatorURL": console_url} if console_url else document


def _trial(wording: Wording, now: float) -> dict[str, object]:
    return {
        "labels": {"alertname": "TierdeckTest", "severity": "info"},
        "annotations": {"summary": wording.subject, "description": wording.body},
        "endsAt": instant(now + _TRIAL_SECONDS),
    }


def _again(alert: Alert, channel: str) -> Notice:
    """Words for what stands there all the time: the annotations of one alert stay as they were first sent."""
    kind = NoticeKind.FIRING if alert.is_open else NoticeKind.RESOLVED
    return Notice("", channel, kind, alert, created_at=0.0, due_at=0.0)


def _secret(file: Path) -> str:
    try:
        secret = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise UndeliveredError(Trouble("the file with its password or token can't be read")) from None
    if not secret or not secret.isprintable():
        raise UndeliveredError(Trouble("the file with its password or token does not hold one line with it"))
    return secret
