"""A real Prometheus on the real fleet: `explain` over what it scraped, against what the clients were told."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
QUIET_SECONDS = 30
"""Half of it is for the start of a command on a busy machine: its window begins that much later."""


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


@dataclass(frozen=True, slots=True)
class Scraped:
    """A Prometheus that scrapes the fleet since then; what its labels make of the endpoint and its replicas."""

    server: Prometheus
    since: float
    endpoint: str
    replicas: Mapping[str, str]

    def explained(self, start_at: float) -> dict[str, Any]:
        """The document of the time since then; empty where the command fails."""
        window = ("--window", f"{time.time() - start_at:.0f}s", "--json")
        command = [str(TIERDECK), "explain", "--prometheus", self.server.url, *window]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return found

    def prompt_tokens(self, start_at: float) -> dict[str, float | None]:
        document = self.explained(start_at)
        return {name: one["prompt_tokens"] for name, one in document.get("replicas", {}).items()}


@pytest.fixture(params=["pods", "addresses"])
def scraped(request: pytest.FixtureRequest, fleet: LiveFleet, tmp_path: Path) -> Iterator[Scraped]:
    by_address = {name: urlsplit(targets["vllm"]).netloc for name, targets in fleet.targets.items()}
    endpoint, names = ("real", PODS) if request.param == "pods" else ("vllm", by_address)
    with running_prometheus(tmp_path, scrape_config(fleet, is_labelled=names is PODS)) as server:
        yield Scraped(server, time.time(), endpoint, names)


def test_what_a_prometheus_scraped_agrees_with_what_the_clients_were_told(
    fleet: LiveFleet, scraped: Scraped, say: Callable[[str], None]
) -> None:
    settle(fleet)
    still = dict.fromkeys(scraped.replicas.values(), 0)
    wait_until(lambda: scraped.prompt_tokens(time.time() - QUIET_SECONDS) == still, "two replicas without a request")
    wait_until(lambda: time.time() > scraped.since + QUIET_SECONDS, "scrapes of that time")
    start_at = time.time() - QUIET_SECONDS / 2
    (prefix,) = prefixes(1, seed=int(start_at))
    asked = {"a": [fleet.ask("a", with_tail(prefix)) for _ in range(3)]}
    settle(fleet)  # what A computed is in L2 then
    asked["b"] = [fleet.ask("b", with_tail(prefix)) for _ in range(2)]
    settle(fleet)
    wanted = {scraped.replicas[name]: sum(one.prompt for one in some) for name, some in asked.items()}
    wait_until(lambda: scraped.prompt_tokens(start_at) == wanted, "scrapes of all requests")

    document = scraped.explained(start_at)
    assert document["source"]["endpoints"] == [scraped.endpoint]
    assert document["source"]["not_placed"] == []
    for name, some in asked.items():
        one = document["replicas"][scraped.replicas[name]]
        found, told = tokens(one), sum(usage.cached for usage in some)
        say(f"{scraped.replicas[name]} through Prometheus: {found}, told to the clients: {told}")
        assert found["L0"] + found["L1+L2"] == pytest.approx(told, abs=BLOCK_TOKENS * len(some))
        assert found["L0"] + found["L1+L2"] + found["miss"] == wanted[scraped.replicas[name]]
        # Prometheus 2.42 keeps the colon
        assert one["names"]["vllm"]["read"]["prompt_tokens"] == "vllm:prefix_cache_queries_total"
    # A's second and third request find 512 tokens in its L0; B's first finds what A stored, its second in its own L0
    assert (tokens(document["fleet"])["L0"], tokens(document["fleet"])["L1+L2"]) == (3 * 512, 512)
