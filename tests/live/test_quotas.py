"""Quotas of the real coordinator: set, read back, never over somebody else's, and taken away again."""

from __future__ import annotations

import uuid

import pytest

from controller.changes.changer import DriftedError, Progress
from controller.changes.quotas import LIMIT, Quotas, quota_address
from tests.live.fleet import LiveFleet
from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Surface, Write
from tierdeck.deployed import ObjectRef


def test_a_quota_of_a_salt_is_changed_live_and_taken_back(fleet: LiveFleet) -> None:
    salt = f"team a:{uuid.uuid4().hex[:8]}"  # with marks that have to be escaped
    address, quotas = quota_address(fleet.state()["coordinator"], salt), Quotas()

    def write(before: Json, after: Json) -> Write:
        ref = ObjectRef("LMCacheQuota", "real", f"coordinator/{salt}")
        return Write(ref, address, "", (FieldEdit(LIMIT, before, after),), Surface.LMCACHE_QUOTA)

    assert quotas.limit(address) is ABSENT
    assert quotas.apply(write(ABSENT, 0.5))
    assert not quotas.apply(write(ABSENT, 0.5)), "nothing is written twice"
    assert quotas.limit(address) == pytest.approx(0.5)
    assert quotas.verify(write(ABSENT, 0.5)).progress is Progress.DONE
    with pytest.raises(DriftedError):
        quotas.apply(write(0.25, 1.0))
    assert quotas.apply(write(0.5, 0.75))
    assert quotas.apply(write(0.75, ABSENT)), "a revert takes it away"
    assert quotas.limit(address) is ABSENT
