"""One connection to a Kubernetes API server: JSON in and out, errors by kind, never a traceback of a library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import urllib3
from kubernetes import client
from kubernetes.config import ConfigException

from controller.api.errors import ApiUnreachableError, CredentialsError
from controller.api.refusals import refusal

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 30.0
_WATCH_GRACE_SECONDS = 10.0
APPLY = "application/apply-patch+yaml"
"""The kind of a patch that is a server-side apply; JSON is YAML too."""


@dataclass(frozen=True, slots=True)
class Person:
    """In whose name something is written; the server has to allow who asks to impersonate them.

    Source: Kubernetes, "User impersonation".
    """

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """What is written: a whole object (POST, PUT), or a patch of it.

    Attributes:
        content_type: `application/json-patch+json` and the like tell the kind of a patch.
        query: such as `dryRun`, `fieldManager`, `force`.
        person: None: in the name of who asks.
    """

    method: str
    document: object
    content_type: str = "application/json"
    query: Mapping[str, str] = field(default_factory=dict)
    person: Person | None = None


@dataclass(frozen=True, slots=True)
class Api:
    """A client of the API server at `address`; safe to share between threads."""

    address: str
    _client: client.ApiClient

    @classmethod
    def of(cls, made: client.ApiClient) -> Api:
        """Around a client of the kubernetes library that knows the server and who asks."""
        return cls(str(made.configuration.host), made)

    def get(
        self, path: str, query: Mapping[str, str | int] | None = None, *, read_seconds: float = _READ_SECONDS
    ) -> dict[str, Any]:
        """One JSON document.

        Args:
            read_seconds: without a byte for so long it is given up.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`.
        """
        with self._asking(path, query or {}, read_seconds) as response:
            return self._document(response.read(decode_content=True))

    def send(self, path: str, sent: Sent, *, read_seconds: float = _READ_SECONDS) -> dict[str, Any]:
        """Write one document; what becomes of it.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`.
        """
        with self._asking(path, sent.query, read_seconds, sent) as response:
            return self._document(response.read(decode_content=True))

    def watch(self, path: str, query: Mapping[str, str | int], seconds: int) -> Iterator[dict[str, Any]]:
        """The documents of a watch, until the server ends it.

        Args:
            seconds: for how long the server is asked to go on.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`; ExpiredError also in the midst of it.
        """
        asked = {**query, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": seconds}
        with self._asking(path, asked, seconds + _WATCH_GRACE_SECONDS) as response:
            rest = b""
            for part in response.stream(amt=None, decode_content=True):
                *lines, rest = (rest + part).split(b"\n")
                yield from (self._watched(line) for line in lines if line)

    def _watched(self, line: bytes) -> dict[str, Any]:
        document = self._document(line)
        if document.get("type") == "ERROR":
            status = document.get("object")
            status = status if isinstance(status, dict) else {}
            raise refusal(int(status.get("code") or 500), status, self.address)
        return document

    @contextmanager
    def _asking(
        self, path: str, query: Mapping[str, str | int], read_seconds: float, sent: Sent | None = None
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        response: urllib3.BaseHTTPResponse | None = None
        try:
            method, url, headers, _, _ = self._client.param_serialize(
                "GET" if sent is None else sent.method,
                path,
                query_params=list(query.items()),
                header_params={"Accept": "application/json"},
                auth_settings=["BearerToken"],
            )
            if sent is not None:
                headers["Content-Type"] = sent.content_type
            response = self._client.rest_client.pool_manager.request(
                method,
                url,
                body=None if sent is None else orjson.dumps(sent.document),
                headers=headers if sent is None else _in_the_name_of(sent.person, headers),
                timeout=urllib3.Timeout(connect=min(_CONNECT_SECONDS, read_seconds), read=read_seconds),
                preload_content=False,
                retries=False,
                redirect=False,  # a token goes nowhere else
            )
            if response.status not in (200, 201):
                told = response.read(decode_content=True)
                wait, is_write = response.headers.get("Retry-After", ""), sent is not None
                raise refusal(response.status, told, self.address, wait=wait, is_write=is_write)
            yield response
        except (urllib3.exceptions.HTTPError, OSError) as error:
            reason = f"the Kubernetes API at {self.address} does not answer: {_plain(error)}"
            raise ApiUnreachableError(reason, "Nothing is lost: it is asked again until it does.") from error
        except ConfigException as error:
            raise CredentialsError(f"no credentials for the Kubernetes API at {self.address}: {error}") from error
        finally:
            if response is not None:
                response.close()  # a watch that is left halfway can't be used for another request
                response.release_conn()

    def _document(self, body: bytes) -> dict[str, Any]:
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            document = None
        if not isinstance(document, dict):
            raise ApiUnreachableError(f"what answers at {self.address} does not speak the Kubernetes API")
        return document


def _in_the_name_of(person: Person | None, headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers with a person's; those of several groups have the same name."""
    if person is None:
        return headers
    made = urllib3.HTTPHeaderDict(headers)
    made.add("Impersonate-User", person.name)
    for group in person.groups:
        made.add("Impersonate-Group", group)
    return made


def _plain(error: BaseException) -> str:
    """An error of urllib3 without the object's address that its text begins with."""
    cause = getattr(error, "reason", None) or error
    text = str(cause) or type(cause).__name__
    return text.rpartition("object at 0x")[2].partition(">: ")[2] or text
