"""The error of an answer that is none: by its status, with the server's own words and causes.

Source: Kubernetes API, meta/v1 Status (`message`, `reason`, `details.causes`, `details.retryAfterSeconds`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from controller.api.errors import (
    ApiFailingError,
    BusyError,
    ConflictError,
    Conflicting,
    CredentialsError,
    ExpiredError,
    FieldConflictError,
    ForbiddenError,
    NotServedError,
    RefusedError,
)
from tierdeck.errors import TierdeckError

_MOST_WORDS = 200
_MOST_WORDS_OF_A_WRITE = 600
"""A webhook's words, or the fields that are wrong, are what a person needs."""
_FIELD_CONFLICT = "FieldManagerConflict"
_MANAGER = re.compile(r'conflict with "([^"]*)"')
_OF_NO_SENSE = ("failed to create typed patch object", "field not declared in schema", "failed to convert new object")
"""A field that is not known, or a value that makes no sense: said with 500 where it is applied."""
_KINDS: Mapping[int, type[TierdeckError]] = {
    403: ForbiddenError,
    404: NotServedError,
    409: ConflictError,
    410: ExpiredError,
}
_HINT = "Nothing is lost: it is asked again until it does."


def refusal(
    status: int, answer: bytes | dict[str, object], address: str, *, wait: str = "", is_write: bool = False
) -> TierdeckError:
    """The error.

    Args:
        answer: a Status document, or the body as it came.
        wait: the header `Retry-After`.
        is_write: a document was sent: what is refused as wrong would be refused again.
    """
    document = _document(answer) if isinstance(answer, bytes) else answer
    message = str(document.get("message") or document)
    words = message[: _MOST_WORDS_OF_A_WRITE if is_write else _MOST_WORDS]
    if status == 401:
        hint = "Renew the kubeconfig's credentials, or the service account's token."
        return CredentialsError(f"the Kubernetes API at {address} does not know who asks (401): {words}", hint)
    conflicts = _conflicts(document) if status == 409 else ()
    if conflicts:
        return FieldConflictError(words, conflicts)
    if status in _KINDS:
        return _KINDS[status](words)
    if status == 429:
        return BusyError(f"the Kubernetes API at {address} can't answer now (429): {words}", _HINT, _seconds(wait))
    if is_write and (status in (400, 413, 415, 422) or any(part in message for part in _OF_NO_SENSE)):
        return RefusedError(words)
    return ApiFailingError(f"the Kubernetes API at {address} can't answer now ({status}): {words}", _HINT)


def _conflicts(document: dict[str, object]) -> tuple[Conflicting, ...]:
    details = document.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    found = []
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == _FIELD_CONFLICT:
            said = str(cause.get("message", ""))
            named = _MANAGER.search(said)
            found.append(Conflicting(named[1] if named else said, str(cause.get("field", ""))))
    return tuple(found)


def _seconds(wait: str) -> float:
    """`Retry-After` in seconds; a date, which no API server sends, counts as not told."""
    return float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 10 else 0.0


def _document(body: bytes) -> dict[str, object]:
    """A Status document; what is none becomes its message."""
    try:
        document = json.loads(body)
    except ValueError:
        return {"message": body.decode("utf-8", errors="replace").strip()}
    return document if isinstance(document, dict) else {"message": str(document)}
