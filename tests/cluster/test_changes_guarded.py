"""What keeps a write from being another than the one that was approved, on a real API server."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from controller.api.client import Api, Sent
from controller.changes.changer import DeniedError
from controller.changes.move import LeaseLostError
from tests.cluster.changing import Changing, engines
from tests.support.cluster import Cluster
from tierdeck.changes.wish import L0Wish, Wish

L0 = Wish(l0=L0Wish(share=0.8))


@pytest.fixture
def changing(cluster: Cluster, namespace: str) -> Changing:
    """An engine that kubectl applied."""
    cluster.rest.apply(engines(namespace), manager="kubectl-client-side-apply")
    return Changing(cluster, namespace)


def test_who_lost_the_change_writes_nothing(changing: Changing) -> None:
    plan = changing.planned(L0)

    def lost() -> None:
        raise LeaseLostError

    with pytest.raises(LeaseLostError):
        changing.changer.apply(plan, "", lost)
    assert changing.live()["metadata"]["generation"] == 1


class Rewriting(Api):
    """An API server with a webhook that puts another size where L0 is written."""

    def send(self, path: str, sent: Sent, *, read_seconds: float = 30.0) -> dict[str, object]:
        stored = Api.send(self, path, sent, read_seconds=read_seconds)
        return json.loads(json.dumps(stored).replace('"0.8"', '"0.7"'))  # type: ignore[no-any-return]


def test_what_a_webhook_makes_something_else_of_is_denied_at_the_preview(cluster: Cluster, changing: Changing) -> None:
    rewritten = Changing(cluster, changing.namespace, Rewriting(cluster.url, cluster.client()))
    with pytest.raises(DeniedError, match=r"would store .*0\.7.* and not .*0\.8.* in spec\.template"):
        rewritten.changer.preview(changing.planned(L0), 1.0)


def test_what_is_looked_at_is_what_is_written_to(changing: Changing) -> None:
    plan = changing.planned(L0)
    elsewhere = replace(plan.writes[0], address=plan.writes[0].address.replace("/apps/v1/", "/apps/v1beta2/"))
    with pytest.raises(DeniedError, match="is not where the server has"):
        changing.changer.apply(replace(plan, writes=(elsewhere,)), "")
