"""A real Alertmanager of a test's own, on a free loopback port."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.needs import tool
from tests.support.processes import end_with_us, wait_until

_LISTENS = re.compile(r'msg="Listening on" address=(\S+)')


class RunningAlertmanager:
    """A running server; `url` is its address without a path."""

    def __init__(self, url: str) -> None:
        self.url = url

    def alerts(self, name: str, **more: str) -> list[dict[str, Any]]:
        """Those that are active, by their `alertname`."""
        found = requests.get(f"{self.url}/api/v2/alerts", params=more, timeout=30)
        return [one for one in found.json() if one["labels"]["alertname"] == name]

    def silence(self, starts_at: str, ends_at: str, **labels: str) -> None:
        """A silence as its own page makes one."""
        matchers = [{"name": name, "value": value, "isRegex": False} for name, value in labels.items()]
        body: Any = {
            "matchers": matchers,
            "startsAt": starts_at,
            "endsAt": ends_at,
            "createdBy": "ada",
            "comment": "known",
        }
        requests.post(f"{self.url}/api/v2/silences", json=body, timeout=30).raise_for_status()


@contextmanager
def running_alertmanager(folder: Path, hook: str) -> Iterator[RunningAlertmanager]:
    """A server whose only route leads to the webhook at `hook`, at once."""
    program = tool("prometheus-alertmanager", "alertmanager")
    (folder / "alertmanager.yml").write_text(
        "route: {receiver: hook, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}\n"
        f"receivers: [{{name: hook, webhook_configs: [{{url: '{hook}', send_resolved: true}}]}}]\n",
        "utf-8",
    )
    path = folder / "alertmanager.log"
    command = [
        program,
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'data'}",
        "--web.listen-address=127.0.0.1:0",
        "--cluster.listen-address=",
    ]
    with path.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=end_with_us,  # noqa: PLW1509 it calls into the C library only
        )
    try:
        wait_until(lambda: process.poll() is not None or bool(_LISTENS.search(_words(path))), "Alertmanager", path)
        assert process.poll() is None, _words(path)
        there = RunningAlertmanager(f"http://{_LISTENS.findall(_words(path))[-1]}")
        wait_until(lambda: requests.get(f"{there.url}/-/ready", timeout=30).status_code == 200, "Alertmanager", path)
        yield there
    finally:
        process.terminate()
        process.wait(30)


def _words(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")
