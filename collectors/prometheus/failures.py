"""What it means when no HTTP reply comes back: told in words of ours, since those of the libraries hold whole URLs."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import requests

from collectors.prometheus.errors import QueryTooLargeError, ServerBusyError, ServerUnreachableError
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.units import format_seconds

_NOBODY: tuple[tuple[type[BaseException], str, str], ...] = (
    (requests.exceptions.ProxyError, "the proxy on the way does not let through", "Check HTTPS_PROXY and NO_PROXY."),
    (socket.gaierror, "its name is not known", "Check the address and this machine's DNS."),
    (ConnectionRefusedError, "nothing listens there", "Check host and port, and that it runs."),
    (requests.exceptions.ConnectTimeout, "it does not take the connection", "Check firewalls and network policies."),
)
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")


def failure(who: str, error: Exception, seconds: float) -> TierdeckError:
    """The error that `error`, raised while asking, stands for.

    Args:
        who: the server's address without credentials.
        seconds: how long a reply was waited for.
    """
    causes = list(_causes(error))
    tls = next((one for one in causes if isinstance(one, ssl.SSLError)), None)
    if tls is not None or isinstance(error, requests.exceptions.SSLError):
        return _tls_failure(who, tls)
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        return UsageError(f"{who} is not an address", "Give one such as http://prometheus:9090.")
    for kind, why, hint in _NOBODY:
        if any(isinstance(one, kind) for one in causes):
            return ServerUnreachableError(f"{who} can't be reached: {why}", hint)
    if any(isinstance(one, TimeoutError | requests.exceptions.Timeout) for one in causes):
        return too_late(who, seconds)
    return _broken(who, causes)


def too_late(who: str, seconds: float) -> QueryTooLargeError:
    """The reply was not there in time: less would have been."""
    return QueryTooLargeError(
        f"{who} did not answer a query within {format_seconds(seconds)}",
        "TIERDECK_PROMETHEUS_TIMEOUT_SECONDS says how long to wait.",
    )


def _broken(who: str, causes: list[BaseException]) -> TierdeckError:
    for one in causes:
        if isinstance(one, OSError) and one.errno and one.strerror and not isinstance(one, ConnectionError):
            return ServerUnreachableError(f"{who} can't be reached: {one.strerror.lower()}", "Check the network.")
    # a server that wants a client certificate may close the connection so soon that its alert is lost
    certificate = " Or does it want a client certificate?" if who.startswith("https:") else ""
    return ServerBusyError(f"{who} ended the connection before it had answered", f"Is it being restarted?{certificate}")


def _tls_failure(who: str, error: ssl.SSLError | None) -> ServerUnreachableError:
    reason = (error.reason if error is not None else None) or ""
    spoken = reason.lower().replace("_", " ") or "no reason given"
    if isinstance(error, ssl.SSLCertVerificationError):
        return ServerUnreachableError(
            f"The certificate of {who} is not trusted: {error.verify_message.rstrip('.')}",
            "TIERDECK_PROMETHEUS_CA_FILE names the certificate of who signed it; the host must be in it.",
        )
    if reason in _NOT_TLS:
        return ServerUnreachableError(f"{who} does not speak TLS", "Begin the address with http://.")
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return ServerUnreachableError(
            f"{who} does not take the client certificate, or misses one ({spoken})",
            "Set TIERDECK_PROMETHEUS_CERT_FILE and TIERDECK_PROMETHEUS_KEY_FILE.",
        )
    return ServerUnreachableError(
        f"No TLS connection to {who} comes about ({spoken})", "Check the files that the settings name for TLS."
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that it wraps, the outermost first."""
    todo: list[object] = [error]
    seen: set[int] = set()
    while todo:
        one = todo.pop(0)
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            todo += [*one.args, getattr(one, "reason", None), one.__cause__, one.__context__]
