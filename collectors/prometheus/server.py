"""The edge to a Prometheus: queries go in, series come out, and whatever goes wrong is an error of ours.

Only GET is used, since reading rights of proxies (Kubernetes, kube-rbac-proxy) cover no more: queries stay below 8 kB.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypedDict, TypeVar, cast

from prometheus_api_client import PrometheusConnect

from collectors.prometheus.access import credentials_of
from collectors.prometheus.errors import NotPrometheusError, ServerBusyError, ServerUnreachableError
from collectors.prometheus.session import Session
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.server_address import ServerAddress
from tierdeck.settings import Settings

_Answer = TypeVar("_Answer")
_PAUSES_SECONDS = (1.0, 4.0)
_MOST_SECONDS = 20.0
_GRACE_SECONDS = 5.0
"""What a server is given more than its own limit, so that its word on why it gave up is heard."""


class Series(TypedDict, total=False):
    """One entry of a result as the API gives it: `value` in a vector, `values` in a matrix.

    A sample is a list of epoch seconds and the value as text.
    """

    metric: dict[str, str]
    value: tuple[float, str]
    values: list[tuple[float, str]]


class Server:
    """One Prometheus, or what speaks its API. Synchronous; one object a thread.

    What each method but `help_text` raises: `ServerUnreachableError`, `ServerBusyError` (after three tries),
    `QueryTooLargeError`, `IncompleteAnswerError`, all UnreachableError; `NotPrometheusError`, `AccessRefusedError`,
    `QueryRefusedError`, all UsageError.
    """

    def __init__(self, session: Session, url: str, timeout_seconds: float, wait: Callable[[float], object]) -> None:
        self._client = PrometheusConnect(url, retry=0, session=session)  # the only retry is the one below
        self._wait = wait
        # Thanos: `max_source_resolution`, since a downsampled counter is none; `partial_response`, so that no store is
        # left out in silence, and for a VictoriaMetrics cluster `deny_partial_response`. VictoriaMetrics: `nocache` and
        # `latency_offset`, since it shifts a range to its cache's steps and repeats older points over the last 30 s.
        # All of them read the parameters that they know by name and ignore the rest.
        self._always = {
            "timeout": f"{round(timeout_seconds * 1000)}ms",
            "max_source_resolution": "0s",
            "partial_response": "false",
            "deny_partial_response": "1",
            "nocache": "1",
            "latency_offset": "1ms",
        }

    @classmethod
    def of(cls, settings: Settings, wait: Callable[[float], object] = time.sleep) -> Self:
        """The server that the settings name; nothing is asked yet.

        Args:
            wait: called with seconds before a query is tried again; an `Event.wait` ends such a pause early.

        Raises:
            UsageError: none is named, or a file with credentials can't be used.
        """
        text = settings.prometheus_url.get_secret_value()
        if not text:
            raise UsageError("No Prometheus is named", "Set TIERDECK_PROMETHEUS_URL, or say --prometheus ADDRESS.")
        address = ServerAddress.parse(text)
        seconds = settings.prometheus_timeout_seconds
        session = Session(
            address.url, seconds + _GRACE_SECONDS, credentials_of(settings, address), settings.prometheus_tenant
        )
        session.trust(settings.prometheus_ca_file, settings.prometheus_cert_file, settings.prometheus_key_file)
        return cls(session, address.url, seconds, wait)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back its connections."""
        self._client.close()

    def instant(self, query: str, at: float) -> list[Series]:
        """The result of an instant query at an epoch second; with a range selector, the samples as they were stored."""
        answer = self._patiently(lambda: self._client.custom_query(query, {**self._always, "time": f"{at:.3f}"}))
        return cast(list[Series], answer)

    def over(self, query: str, start: float, end: float, step_seconds: float) -> list[Series]:
        """The result of a range query, both ends included; `start` and `end` are whole epoch seconds."""
        assert start == round(start), "whole seconds: the client library rounds"
        assert end == round(end), "whole seconds: the client library rounds"
        moments = [datetime.fromtimestamp(at, UTC) for at in (start, end)]
        answer = self._patiently(
            lambda: self._client.custom_query_range(query, *moments, f"{step_seconds:g}", dict(self._always))
        )
        return cast(list[Series], answer)

    def server_time(self) -> float:
        """The server's clock, in epoch seconds."""

        def ask() -> float:
            answer = self._client.custom_query("time()", dict(self._always))
            # a scalar is [at, value]; VictoriaMetrics makes it a vector
            return float(answer[0]["value"][1] if isinstance(answer[0], dict) else answer[1])

        return self._patiently(ask)

    def help_text(self, metric: str) -> str:
        """The HELP of a metric; empty where the server keeps none or does not tell.

        Raises:
            ServerUnreachableError: nothing answers.
        """
        try:
            entries = self._client.get_metric_metadata(metric)
            return next((str(one["help"]) for one in entries if one["metric_name"] == metric and one["help"]), "")
        except ServerUnreachableError:
            raise
        except (TierdeckError, LookupError, AttributeError, TypeError):
            return ""

    def _patiently(self, ask: Callable[[], _Answer]) -> _Answer:
        give_up_at = time.monotonic() + _MOST_SECONDS
        for pause in _PAUSES_SECONDS:
            try:
                return self._ask(ask)
            except ServerBusyError as error:
                seconds = max(pause, error.retry_after_seconds)
                if time.monotonic() + seconds > give_up_at:
                    raise
                self._wait(seconds)
        return self._ask(ask)

    def _ask(self, ask: Callable[[], _Answer]) -> _Answer:
        try:
            return ask()
        except (LookupError, TypeError, ValueError) as error:
            raise NotPrometheusError(f"{self._client.url} answers, but not as a Prometheus does") from error
