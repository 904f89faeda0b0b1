"""One HTTP request to a receiver: bounded in time, every failure a `Trouble` that names no address."""

from __future__ import annotations

import email.utils
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import requests
from requests.auth import AuthBase

from alerting.notify.channel import SEND_SECONDS, Trouble, UndeliveredError

_CONNECT_SECONDS = 10.0
_READ_SECONDS = SEND_SECONDS - _CONNECT_SECONDS
_HEALING = frozenset({401, 403, 404, 407, 408, 421, 423, 424, 425, 429})
"""What a receiver says that people or time mend: credentials, a route that is being rolled out, too many requests."""
_LONGEST_WAIT_SECONDS = 3600.0


def call(
    method: str,
    url: str,
    *,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    auth: AuthBase | Callable[[], AuthBase | None] | None = None,
    ca: Path | None = None,
) -> None:
    """Ask once and drop the answer's body. Redirects are not followed: secrets go where they were meant for.

    Raises:
        UndeliveredError: no answer, or not one of success.
    """
    options: dict[str, Any] = {
        "headers": {"User-Agent": "tierdeck", **(headers or {})},
        "timeout": (_CONNECT_SECONDS, _READ_SECONDS),
        "allow_redirects": False,
        "stream": True,
        "verify": str(ca) if ca is not None else True,
    }
    if body is not None:
        options["json"] = body
    try:
        options["auth"] = auth if isinstance(auth, AuthBase) or auth is None else auth()
        with requests.Session() as session, session.request(method, url, **options) as response:
            status, after = response.status_code, response.headers.get("Retry-After", "")
    except (requests.RequestException, OSError, UnicodeError, ValueError) as error:
        # the error and all that it wraps hold the address: not chained
        raise UndeliveredError(_trouble_of(error)) from None
    if not 200 <= status < 300:
        raise UndeliveredError(trouble_of_status(status, wait_seconds(after, time.time())))


def trouble_of_status(status: int, wait: float = 0.0) -> Trouble:
    """What a status that is no success means."""
    return Trouble(f"it answered with HTTP {status}", may_heal=status >= 500 or status in _HEALING, wait_seconds=wait)


def wait_seconds(text: str, now: float) -> float:
    """Of a `Retry-After`, which is seconds or a date; at most an hour, and 0 for what is neither."""
    if text.strip().isdecimal():
        seconds = float(text)
    else:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - now
        except ValueError:
            return 0.0
    return min(max(0.0, seconds), _LONGEST_WAIT_SECONDS)


_CONNECTING: tuple[tuple[type[BaseException], str], ...] = (
    (requests.exceptions.SSLError, "no TLS connection comes about"),
    (requests.exceptions.ProxyError, "the proxy on the way does not let through"),
    (socket.gaierror, "its name is not known"),
    (ConnectionRefusedError, "nothing listens there"),
    (requests.exceptions.ConnectTimeout, "it does not take the connection"),
)
"""Nothing was sent yet."""


def _trouble_of(error: BaseException) -> Trouble:
    causes = _causes(error)
    for one in causes:
        if isinstance(one, ssl.SSLCertVerificationError):
            return Trouble(f"its certificate is not trusted ({one.verify_message.rstrip('.')})")
    for kind, words in _CONNECTING:
        if any(isinstance(one, kind) for one in causes):
            return Trouble(words)
    if any(isinstance(one, TimeoutError | requests.exceptions.Timeout) for one in causes):
        return Trouble(f"no answer within {_READ_SECONDS:.0f} s", is_unsure=True)
    if isinstance(error, requests.ConnectionError | ConnectionError):
        return Trouble("it ended the connection before it had answered", is_unsure=True)
    return Trouble(f"it can't be asked ({type(error).__name__})")


def _causes(error: BaseException) -> list[BaseException]:
    todo: list[object] = [error]
    found: list[BaseException] = []
    while todo:
        one = todo.pop(0)
        if isinstance(one, BaseException) and one not in found:
            found.append(one)
            todo += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
    return found
