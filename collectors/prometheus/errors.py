"""What can go wrong with a Prometheus; each kind is a class, since callers act on the kind.

::

    UnreachableError             exit code 3
    ├── ServerUnreachableError     nothing answers at the address, or TLS fails
    ├── ServerBusyError            it says "not now", or cuts the connection, at every try
    ├── QueryTooLargeError         more than the server or we can take: ask for less at a time
    └── IncompleteAnswerError      the answer says of itself that parts are missing
    UsageError                   exit code 2
    ├── NotPrometheusError         something answers, but not with the API of Prometheus
    ├── AccessRefusedError         credentials or tenant missing, wrong, or without the right
    └── QueryRefusedError          the server does not take this query
"""

from __future__ import annotations

from tierdeck.errors import UnreachableError, UsageError


class ServerUnreachableError(UnreachableError):
    """Nothing answers at the address, or no TLS connection comes about."""


class ServerBusyError(UnreachableError):
    """The server can't answer now. `retry_after_seconds`: how long it asks to be left alone; 0 if it does not say."""

    def __init__(self, message: str, hint: str = "", retry_after_seconds: float = 0.0) -> None:
        super().__init__(message, hint)
        self.retry_after_seconds = retry_after_seconds


class QueryTooLargeError(UnreachableError):
    """The query wants more samples, series, bytes or time than allowed: halve its range or its selectors."""


class IncompleteAnswerError(UnreachableError):
    """A successful answer from which, by its own word, data is missing: it must not be counted as whole."""


class NotPrometheusError(UsageError):
    """What answers there is not the API of Prometheus."""


class AccessRefusedError(UsageError):
    """Who asks is not known, or may not; or the tenant is missing."""


class QueryRefusedError(UsageError):
    """The server does not take this query as it is, however small."""
