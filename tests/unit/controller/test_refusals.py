"""What an API server refuses, by its kind: with its words, who is in conflict, and how long to wait."""

from __future__ import annotations

import json

import pytest
from kubernetes import client

from controller.api.client import APPLY, Api, Person, Sent
from controller.api.errors import (
    ApiFailingError,
    BusyError,
    ConflictError,
    Conflicting,
    FieldConflictError,
    ForbiddenError,
    RefusedError,
)
from controller.api.refusals import refusal
from tests.support.http_replies import Canned, replying

CAUSE = {"reason": "FieldManagerConflict", "message": 'conflict with "helm" using apps/v1', "field": ".spec.replicas"}
# as kube-apiserver 1.37 answers an apply that is not forced
CONFLICT = {
    "kind": "Status",
    "status": "Failure",
    "message": 'Apply failed with 1 conflict: conflict with "helm" using apps/v1: .spec.replicas',
    "reason": "Conflict",
    "details": {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "helm" using apps/v1',
                "field": ".spec.replicas",
            }
        ]
    },
    "code": 409,
}


def told(status: int, message: str, *, is_write: bool = True) -> Exception:
    return refusal(status, json.dumps({"kind": "Status", "message": message}).encode(), "https://k", is_write=is_write)


def test_who_owns_a_field_is_told_apart_from_somebody_who_was_quicker() -> None:
    owned = refusal(409, json.dumps(CONFLICT).encode(), "https://k", is_write=True)
    assert isinstance(owned, FieldConflictError)
    assert owned.conflicts == (Conflicting("helm", ".spec.replicas"),)
    quicker = told(409, 'Operation cannot be fulfilled on deployments.apps "chat": the object has been modified')
    assert isinstance(quicker, ConflictError)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_is_wrong_would_be_refused_again_where_something_was_written(status: int) -> None:
    words = 'admission webhook "no.example" denied the request: not on Fridays'
    assert type(told(status, words)) is RefusedError
    assert str(told(status, words)) == words
    assert type(told(status, words, is_write=False)) is ApiFailingError


def test_a_field_that_no_schema_knows_is_wrong_although_it_is_said_with_500() -> None:
    words = "failed to create typed patch object (llm/chat; apps/v1, Kind=Deployment): .spec.x: not declared"
    assert type(told(500, words)) is RefusedError
    assert type(told(500, "etcdserver: request timed out")) is ApiFailingError


def test_a_server_that_is_asked_too_much_says_for_how_long_to_wait() -> None:
    busy = refusal(429, b"Too many requests", "https://k", wait="7", is_write=True)
    assert isinstance(busy, BusyError)
    assert busy.seconds == 7
    dated = refusal(429, b"", "https://k", wait="Wed, 21 Oct 2026 07:28:00 GMT")
    assert isinstance(dated, BusyError)
    assert dated.seconds == 0


def test_the_words_of_a_write_are_kept_longer() -> None:
    assert len(str(told(422, "x" * 1000))) == 600
    assert len(str(told(403, "x" * 1000, is_write=False))) == 200
    assert isinstance(told(403, "x"), ForbiddenError)


def test_a_write_carries_its_query_and_the_person_in_whose_name_it_is_made() -> None:
    with replying(Canned(200, "{}")) as server:
        api = Api.of(client.ApiClient(client.Configuration(host=server.url)))
        query = {"fieldManager": "tierdeck", "dryRun": "All"}
        api.send("/apis/apps/v1/x", Sent("POST", {"a": 1}, APPLY, query, Person("ann", ("ops", "on-call"))))
        api.send("/apis/apps/v1/x", Sent("POST", {"a": 1}))
    first, second = server.asked
    assert first.parameters == query
    assert first.json() == {"a": 1}
    assert first.headers["Content-Type"] == "application/apply-patch+yaml"
    assert first.headers["Impersonate-User"] == "ann"
    assert first.headers["Impersonate-Group"] == "on-call"  # the last of both; a mapping keeps one
    assert "Impersonate-User" not in second.headers
