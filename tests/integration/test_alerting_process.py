"""The alerting process itself, killed wherever it is: each alert is one, and each is said once."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from db import Store
from lab.sim.fleet import Fleet
from tests.integration.cause_fleet import SPEC
from tests.support.http_replies import Canned, replying
from tests.support.processes import running, wait_until
from tests.support.simulated_deck import CLUSTER, SimulatedDeck
from tests.support.stores import Sqlite
from tierdeck.account import WarmingLimits
from tierdeck.alerts.alert import AlertState
from tierdeck.alerts.notice import NoticeKind

_HEALTHY_MINUTES, _ILL_MINUTES = 25, 20


def lived(url: str) -> None:
    """A fleet whose pool has lost a worker minutes ago, judged up to shortly before that."""
    end = time.time() // 60 * 60
    with Store.open(url) as store:
        fleet = Fleet(SPEC, 1, end - 60.0 * (_HEALTHY_MINUTES + _ILL_MINUTES))
        deck = SimulatedDeck(fleet, store, every=30.0)
        deck.run(60.0 * _HEALTHY_MINUTES)
        store.save_alerts([], [], end - 60.0 * (_ILL_MINUTES + 2), judged=CLUSTER)
        deck.switch("worker-loss", "chat")
        deck.run(60.0 * _ILL_MINUTES)
        store.rollup(time.time(), WarmingLimits())


def test_killed_again_and_again_it_neither_loses_nor_doubles(sqlite: Sqlite, tmp_path: Path) -> None:
    url, log = sqlite.migrated(), tmp_path / "log"
    lived(url)
    with replying(Canned()) as server:
        settings = {
            "TIERDECK_HOME": str(tmp_path),
            "TIERDECK_DATABASE_URL": url,
            "TIERDECK_NOTIFY_URLS": f"hook=webhook+{server.url}",
        }
        for seconds in (2.0, 3.0, 3.5, 4.0, 5.0):
            with running("alerting", log=log, **settings):  # ends by SIGKILL
                time.sleep(seconds)  # wherever it is then: reading, judging, writing, sending
        with running("alerting", log=log, **settings), Store.open(url) as store:
            wait_until(lambda: bool(store.notices()) and not store.notices_waiting(), "the notices' end", log)
        asked = [one.headers["Idempotency-Key"] for one in server.asked]
    with Store.open(url) as store:
        firing = [one for one in store.open_alerts() if one.state is AlertState.FIRING and not one.suppressed_by]
        assert Counter(one.rule for one in firing) == {"l2_outage": 1}
        sent = [one for one in store.notices() if one.kind is NoticeKind.FIRING]
        assert [one.alert.rule for one in sent if one.alert is not None] == ["l2_outage"]
        assert set(asked) == {one.key for one in sent}, "what was sent twice has the same key"
