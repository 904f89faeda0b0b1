"""What an HTTP reply of a Prometheus means: the document in it, or the error that it stands for.

Sources: Prometheus `web/api/v1/api.go` (422 execution, 503 timeout, 400 bad_data; `warnings`); Thanos
`pkg/api/query/v1.go`; Mimir `pkg/util/validation/errors.go`; VictoriaMetrics `app/vmselect` (`isPartial`, 422, 429);
RFC 9110 (`Retry-After`).
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import urlsplit

import orjson

from collectors.prometheus.errors import (
    AccessRefusedError,
    IncompleteAnswerError,
    NotPrometheusError,
    QueryRefusedError,
    QueryTooLargeError,
    ServerBusyError,
)

_FIRST_WORDS, _LAST_WORDS = 60, 180
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_TOO_LARGE = re.compile(
    r"too many|exceed|limit|too (large|long|big)|maximum|-search\.max|timed? ?out|deadline|cannot select more than",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"PromQL (info|warning)|No StoreAPIs matched for this query", re.IGNORECASE)
"""Remarks on the query itself; and a Thanos, or one below it, that keeps nothing of that time or those labels."""
_PREFIXES = (
    "Mimir and Grafana Cloud want the path /prometheus (Grafana Cloud: /api/prom) at its end, a VictoriaMetrics "
    "cluster /select/0/prometheus, Amazon /workspaces/ws-…; see docs/connect.md."
)
_CREDENTIALS = (
    "Set TIERDECK_PROMETHEUS_TOKEN_FILE, or TIERDECK_PROMETHEUS_USERNAME and …_PASSWORD_FILE, or for Amazon "
    "TIERDECK_PROMETHEUS_AWS_REGION; see docs/connect.md."
)
_SMALLER = (
    "Narrow it with TIERDECK_PROMETHEUS_MATCH or fill in less of the past with TIERDECK_PROMETHEUS_BACKFILL_SECONDS."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply, read to its end. `who` is the server's address without credentials."""

    who: str
    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def document(self) -> dict[str, object]:
        """The JSON object of a successful and whole answer.

        Raises:
            AccessRefusedError, IncompleteAnswerError, NotPrometheusError, QueryRefusedError, QueryTooLargeError,
            ServerBusyError: what the reply says instead.
        """
        if self.status != 200:
            self._refuse()
        document = self._json()
        if document.get("status") != "success" or "data" not in document:
            raise NotPrometheusError(f"{self.who} answers, but not as a Prometheus does", _PREFIXES)
        if document.get("isPartial") is True:
            raise IncompleteAnswerError(
                f"{self.who} leaves data out of its answer (isPartial)", "One of its storage nodes does not answer it."
            )
        warnings = document.get("warnings")
        told = [str(one) for one in warnings if not _HARMLESS.match(str(one))] if isinstance(warnings, list) else []
        if told:
            raise IncompleteAnswerError(
                f"{self.who} leaves data out of its answer: {_shortened(told[0])}",
                "Something that it reads from does not answer it.",
            )
        return document

    def _refuse(self) -> NoReturn:
        words = self._words()
        said = f": {_shortened(words)}" if words else f" (HTTP {self.status})"
        match self.status:
            case 401 if "org id" in words.lower():
                raise AccessRefusedError(
                    f"{self.who} wants to know whose data is asked for{said}", "Set TIERDECK_PROMETHEUS_TENANT."
                )
            case 401:
                raise AccessRefusedError(f"{self.who} does not accept who is asking{said}", _CREDENTIALS)
            case 403:
                raise AccessRefusedError(
                    f"{self.who} does not allow this query{said}",
                    "These credentials need the right to query; docs/connect.md lists the least rights.",
                )
            case 400 | 422:
                self._refuse_query(words, said)
            case 408 | 413 | 414 | 431 | 504:
                raise QueryTooLargeError(f"{self.who} did not finish a query{said}", _SMALLER)
            case 429:
                raise self._busy(said)
            case status if status >= 500:
                late = self._is_json() and re.search(r"timed? ?out|deadline", words, re.IGNORECASE)
                if late and "queue" not in words:
                    raise QueryTooLargeError(f"{self.who} did not finish a query{said}", _SMALLER)
                raise self._busy(said)
            case status if 300 <= status < 400:
                raise NotPrometheusError(f"{self.who} sends on to {self._location()}", "Give that address, or log in.")
            case _:
                raise NotPrometheusError(f"There is no API of a Prometheus at {self.who}{said}", _PREFIXES)

    def _refuse_query(self, words: str, said: str) -> NoReturn:
        if "HTTP request to an HTTPS server" in words:
            raise NotPrometheusError(f"{self.who} speaks TLS", "Begin the address with https://.")
        if not self._is_json():
            raise NotPrometheusError(f"There is no API of a Prometheus at {self.who}{said}", _PREFIXES)
        if "parse error" not in words and _TOO_LARGE.search(_QUOTED.sub("", words)):
            raise QueryTooLargeError(f"{self.who} finds a query too large{said}", _SMALLER)
        if "rpc error" in words:  # of Thanos: a store that it reads from does not answer it
            raise self._busy(said)
        raise QueryRefusedError(f"{self.who} does not take a query{said}", "Check TIERDECK_PROMETHEUS_MATCH.")

    def _busy(self, said: str) -> ServerBusyError:
        return ServerBusyError(
            f"{self.who} can't answer now{said}",
            "It is tried again; if this stays, ask less often or give the server more.",
            self._retry_after_seconds(),
        )

    def _is_json(self) -> bool:
        return self.body[:64].lstrip()[:1] == b"{"

    def _json(self) -> dict[str, object]:
        try:
            document = orjson.loads(self.body) if self._is_json() else None
        except ValueError as error:
            raise NotPrometheusError(f"{self.who} answers with JSON that ends early or is none", _PREFIXES) from error
        if not isinstance(document, dict):
            what = "a web page" if b"<html" in self.body[:2000].lower() else "something that is not JSON"
            raise NotPrometheusError(f"{self.who} answers with {what}, not as a Prometheus does", _PREFIXES)
        return document

    def _words(self) -> str:
        """What the server says in words; nothing of a web page."""
        if self._is_json():
            try:
                document = orjson.loads(self.body)
            except ValueError:
                return ""
            return str(document.get("error") or document.get("message") or document.get("Message") or "")
        text = self.body[:4000].decode("utf-8", errors="replace").strip()
        return "" if text.startswith("<") else text

    def _location(self) -> str:
        parts = urlsplit(self.headers.get("Location", ""))
        return f"{parts.scheme}://{parts.hostname or ''}{parts.path}" if parts.scheme else parts.path or "elsewhere"

    def _retry_after_seconds(self) -> float:
        told = self.headers.get("Retry-After", "").strip()
        if told.isdigit():
            return float(told)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - time.time())
        except ValueError:
            return 0.0


def _shortened(text: str) -> str:
    """On one line; of a long text its two ends, since servers put the query in front of the reason."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split()).rstrip(".")
    return line if len(line) <= _FIRST_WORDS + _LAST_WORDS else f"{line[:_FIRST_WORDS]} … {line[-_LAST_WORDS:]}"
