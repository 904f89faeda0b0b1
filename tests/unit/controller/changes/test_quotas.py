"""Quotas of LMCache's coordinator: written once, never over somebody else's, and taken away by a revert."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller.api.errors import ApiFailingError, ApiUnreachableError
from controller.changes.changer import DeniedError, DriftedError, Progress
from controller.changes.quotas import LIMIT, Quotas, quota_address
from tests.support.quota_server import QuotaServer, quota_server
from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Surface, Write
from tierdeck.deployed import ObjectRef

REF = ObjectRef("LMCacheQuota", "llm", "coordinator/team-a")


@pytest.fixture
def server() -> Iterator[QuotaServer]:
    with quota_server() as one:
        yield one


def write(server: QuotaServer, before: Json, after: Json, salt: str = "team-a") -> Write:
    edit = FieldEdit(LIMIT, before, after)
    return Write(REF, quota_address(server.address, salt), "", (edit,), Surface.LMCACHE_QUOTA)


def test_a_quota_is_set_once_and_read_back(server: QuotaServer) -> None:
    one = write(server, ABSENT, 50)
    assert Quotas().preview(one) == (f"--- {REF} (now)\n+++ {REF} (changed)\n+limit_gb: 50\n")
    assert Quotas().apply(one)
    assert server.limits == {"team-a": 50}
    assert not Quotas().apply(one)
    assert [asked for asked in server.asked if asked.startswith("PUT")] == ["PUT /quota/team-a"]
    assert Quotas().verify(one).progress is Progress.DONE


def test_one_that_was_not_there_goes_again_by_a_revert(server: QuotaServer) -> None:
    server.limits["team-a"] = 50.0
    assert Quotas().apply(write(server, 50, ABSENT))
    assert server.limits == {}


def test_what_somebody_else_set_meanwhile_is_not_overwritten(server: QuotaServer) -> None:
    server.limits["team-a"] = 70.0
    with pytest.raises(DriftedError, match="is 70 GiB and no longer without a limit"):
        Quotas().apply(write(server, ABSENT, 50))
    assert server.limits == {"team-a": 70.0}
    assert Quotas().verify(write(server, ABSENT, 50)).progress is Progress.FAILED


def test_a_salt_is_one_part_of_the_address_and_none_is_its_own(server: QuotaServer) -> None:
    Quotas().apply(write(server, ABSENT, 5, "a:b ?"))
    Quotas().apply(write(server, ABSENT, 7, ""))
    assert server.limits == {"a:b ?": 5, "": 7}
    with pytest.raises(DeniedError, match="404"):  # as the real one answers
        Quotas().apply(write(server, ABSENT, 5, "a/b"))


@pytest.mark.parametrize(("status", "error"), [(400, DeniedError), (503, ApiFailingError), (429, ApiFailingError)])
def test_an_answer_that_is_none_is_an_error_of_its_kind(
    server: QuotaServer, status: int, error: type[Exception]
) -> None:
    server.status = status
    with pytest.raises(error):
        Quotas().apply(write(server, ABSENT, 50))


def test_a_coordinator_that_is_away_can_be_asked_later() -> None:
    with quota_server() as gone:
        pass
    with pytest.raises(ApiUnreachableError, match="LMCache's coordinator at 127"):
        Quotas().apply(write(gone, ABSENT, 50))
