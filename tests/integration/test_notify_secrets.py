"""No address, password or token of a channel is found anywhere afterwards, however the sending ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from db import Store
from tests.support.http_replies import Canned, replying
from tests.support.processes import PATIENCE_SECONDS, running
from tests.support.rounds import T0
from tests.support.stores import Sqlite

CANARY = "c4n4ry"
ENDS = {
    "fine": Canned(),
    "refused": Canned(403, f"no {CANARY}"),
    "gone": Canned(410, f"no {CANARY}"),
    "broken": Canned(500, f"no {CANARY}", {"Retry-After": CANARY}),
    "moved": Canned(302, "", {"Location": f"http://127.0.0.1:1/{CANARY}"}),
    "cut": Canned(is_cut=True),
}


def ways(url: str) -> str:
    host = url.removeprefix("http://")
    port = host.rpartition(":")[2]
    return "\n".join(
        (
            f"hook = webhook+http://{CANARY}:{CANARY}@{host}/{CANARY}?token={CANARY}",
            f"json = json://{CANARY}:{CANARY}@{host}/{CANARY}",
            f"mail = mailto://{CANARY}:{CANARY}@127.0.0.1:{port}?from=a@deck.example&to=b@team.example&mode=insecure",
            f"nowhere = webhook+http://{CANARY}.invalid/{CANARY}",
            f"no_tls = webhook+https://{host}/{CANARY}",
            f"no_slack = https://hooks.slack.com/services/T0{CANARY.upper()}/B0{CANARY.upper()}/{CANARY * 4}",
            f"no_pager = pagerduty://{CANARY}@{CANARY}",
        )
    )


@pytest.mark.parametrize("end", ENDS)
def test_the_store_the_log_and_the_metrics_hold_no_secret(sqlite: Sqlite, tmp_path: Path, end: str) -> None:
    url, log, file = sqlite.migrated(), tmp_path / "log", tmp_path / "channels"
    token = tmp_path / "token"
    token.write_text(CANARY)
    with replying(ENDS[end]) as server:
        file.write_text(ways(server.url), "utf-8")
        settings = {
            "TIERDECK_NOTIFY_FILE": str(file),
            "TIERDECK_ALERTMANAGER_URL": f"{server.url}/{CANARY}",
            "TIERDECK_ALERTMANAGER_TOKEN_FILE": str(token),
            "TIERDECK_HEARTBEAT_URL": f"{server.url}/{CANARY}",
            "HTTPS_PROXY": f"http://{CANARY}:{CANARY}@127.0.0.1:1",
            "NO_PROXY": "127.0.0.1",
        }
        with running("tests.support.sending", url, str(T0), "", log=log, **settings) as process:
            code = process.wait(PATIENCE_SECONDS)
    words = log.read_text("utf-8", errors="replace")
    assert code == 0, words
    with Store.open(url) as store:
        said = {one.channel: one for one in store.notices()}
        assert len(store.channels()) == len(said) == 8
    assert all(said[name].trouble for name in ("nowhere", "no_tls", "no_slack", "no_pager"))
    assert bool(said["hook"].trouble) is (end != "fine")
    assert "notice_failed" in words
    assert 'tierdeck_alerting_notices_total{kind="webhook"' in words
    assert f'tierdeck_alerting_heartbeats_total{{outcome="{"sent" if end == "fine" else "failed"}"}} 1.0' in words
    store_bytes = b"".join(path.read_bytes() for path in Path(url.removeprefix("sqlite:///")).parent.glob("*.db*"))
    # the Alertmanager's own address is told nowhere either, though it is no secret by itself
    for where in (words.encode(), store_bytes, "".join(one.trouble for one in said.values()).encode()):
        assert CANARY.encode() not in where.lower()
