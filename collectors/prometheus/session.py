"""One HTTP request to a Prometheus: bounded in time and size, every failure an error of ours, told without secrets."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import requests
from requests.auth import AuthBase

from collectors.prometheus.errors import QueryTooLargeError
from collectors.prometheus.failures import failure, too_late
from collectors.prometheus.replies import Reply
from tierdeck.errors import UsageError
from tierdeck.units import format_size

_CHUNK = 256 * 1024
_MAX_BYTES = 128 * 2**20
_CONNECT_SECONDS = 10.0


class WholeAnswer(requests.Response):
    """A successful answer, parsed once."""

    def __init__(self, document: dict[str, object]) -> None:
        super().__init__()
        self.status_code = 200
        self._document = document

    def json(self, **_: Any) -> dict[str, object]:
        """The parsed document."""
        return self._document


class Session(requests.Session):
    """Keep-alive connections to one server. What `request` returns is successful and whole; the rest is raised."""

    def __init__(self, who: str, seconds: float, auth: AuthBase | None = None, tenant: str = "") -> None:
        """`seconds`: until a whole answer must be there."""
        super().__init__()
        self._who = who
        self._seconds = seconds
        self.auth = auth
        self.headers.update({"User-Agent": "tierdeck", "Accept": "application/json"})
        if tenant:
            self.headers["X-Scope-OrgID"] = tenant

    def trust(self, ca: Path | None, certificate: Path | None, key: Path | None) -> None:
        """Use these PEM files for TLS. Raises UsageError where one is not there."""
        for file in (ca, certificate, key):
            if file is not None and not file.is_file():
                raise UsageError(f"{file}: no such file", "Check the TIERDECK_PROMETHEUS_…_FILE settings.")
        if ca is not None:
            self.verify = str(ca)
        if certificate is not None:
            self.cert = (str(certificate), str(key)) if key is not None else str(certificate)

    def request(self, method: str, url: str | bytes, *_: Any, **options: Any) -> WholeAnswer:
        """Ask once, and read to the end. Redirects are not followed: credentials go where they were meant for.

        Raises:
            UnreachableError, UsageError: of the kinds in `collectors.prometheus.errors`.
        """
        give_up_at = time.monotonic() + self._seconds
        limits = {"timeout": (min(_CONNECT_SECONDS, self._seconds), self._seconds), "allow_redirects": False}
        try:
            with super().request(method, url, **{**options, **limits, "stream": True}) as response:
                body = bytearray()
                for chunk in response.iter_content(_CHUNK):
                    body += chunk
                    if len(body) > _MAX_BYTES:
                        raise QueryTooLargeError(f"{self._who} answers with more than {format_size(_MAX_BYTES)}")
                    if time.monotonic() > give_up_at:
                        raise too_late(self._who, self._seconds)
        except (requests.RequestException, OSError) as error:
            raise failure(self._who, error, self._seconds) from error
        return WholeAnswer(Reply(self._who, response.status_code, bytes(body), response.headers).document())
