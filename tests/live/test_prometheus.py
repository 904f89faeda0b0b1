"""A real Prometheus on the real fleet: `explain` over what it scraped, against what the clients were told."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.live.agreement import BLOCK_TOKENS, tokens
from tests.live.fleet import LiveFleet, prefixes, with_tail
from tests.live.window import settle
from tests.support.deck import TIERDECK
from tests.support.processes import wait_until
from tests.support.prometheus import Prometheus, running_prometheus

PODS = {"a": "real-0", "b": "real-1"}
"""As a StatefulSet calls them."""
QUIET_SECONDS = 10


def scrape_config(fleet: LiveFleet, *, is_labelled: bool) -> str:
    """A job for each kind of target: of pods, or of addresses and nothing else."""
    endpoint = yaml.safe_load(fleet.config.read_text())["endpoints"][0]
    owned = [(PODS[one["name"]], kind, url) for one in endpoint["replicas"] for kind, url in one["targets"].items()]
    owned += [(f"{kind}-0", kind, url) for kind, url in endpoint["shared"].items()]
    jobs: dict[str, list[dict[str, object]]] = {}
    for pod, kind, url in owned:
        labels = {"labels": {"pod": pod, "namespace": "serving"}} if is_labelled else {}
        jobs.setdefault(kind, []).append({"targets": [urlsplit(url).netloc], **labels})
    return yaml.safe_dump(
        {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s"},
            "scrape_configs": [{"job_name": kind, "static_configs": targets} for kind, targets in jobs.items()],
        }
    )


@pytest.fixture(params=[True, False], ids=["pods", "addresses"])
def scraped(request: pytest.FixtureRequest, fleet: LiveFleet, tmp_path: Path) -> Iterator[Prometheus]:
    with running_prometheus(tmp_path, scrape_config(fleet, is_labelled=request.param)) as server:
        yield server


def explained(server: Prometheus, window_seconds: int) -> dict[str, Any]:
    """The document; empty where the command fails."""
    command = [str(TIERDECK), "explain", "--prometheus", server.url, "--window", f"{window_seconds}s", "--json"]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def prompt_tokens(document: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: one["prompt_tokens"] for name, one in document.get("replicas", {}).items()}


def test_what_a_prometheus_scraped_agrees_with_what_the_clients_were_told(
    fleet: LiveFleet, scraped: Prometheus, say: Callable[[str], None]
) -> None:
    settle(fleet)
    wait_until(lambda: list(prompt_tokens(explained(scraped, QUIET_SECONDS)).values()) == [0, 0], "two still replicas")
    start_at = time.time() - QUIET_SECONDS / 2
    (prefix,) = prefixes(1, seed=int(start_at))
    asked = {"a": [fleet.ask("a", with_tail(prefix)) for _ in range(3)]}
    settle(fleet)  # what A computed is in L2 then
    asked["b"] = [fleet.ask("b", with_tail(prefix)) for _ in range(2)]
    wanted = sorted(sum(one.prompt for one in some) for some in asked.values())

    def document() -> dict[str, Any]:
        return explained(scraped, round(time.time() - start_at))

    wait_until(lambda: sorted(prompt_tokens(document()).values()) == wanted, "all of it scraped")
    settle(fleet)
    found = document()
    print(json.dumps(found, indent=1))
    told = {name: tokens(one) for name, one in found["replicas"].items()}
    say(f"through Prometheus: {told}, told to the clients: {asked}")
