"""A real Prometheus that scrapes the simulated fleet, or holds a recording of its past."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from lab.sim.discovery import labels_of
from tests.support.processes import running, wait_until
from tests.support.prometheus import Prometheus, running_prometheus

_SERIES = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")


def scrape_config(address: str, every: str = "1s") -> str:
    """Prometheus's configuration for a lab, which tells its targets itself."""
    return (
        f"global: {{scrape_interval: {every}, scrape_timeout: {every}}}\n"
        "scrape_configs:\n"
        "- job_name: lab\n"
        f"  http_sd_configs: [{{url: '{address}/http_sd', refresh_interval: 1s}}]\n"
    )


@dataclass(frozen=True)
class Lab:
    """A simulated fleet that runs."""

    address: str
    config: Path

    def change(self, what: str, body: Mapping[str, object]) -> Any:
        """POST to its admin API."""
        data = json.dumps(body).encode()
        with urlopen(Request(f"{self.address}/admin/{what}", data, {"content-type": "application/json"})) as answer:
            return json.load(answer)


@contextmanager
def running_lab(folder: Path, *args: str) -> Iterator[Lab]:
    config, log = folder / "lab.yaml", folder / "lab.log"
    with running("lab", "sim", "--config-out", str(config), *args, log=log):
        wait_until(config.exists, "the simulated fleet", log)
        found = re.search(r"http://127\.0\.0\.1:\d+", config.read_text())
        assert found is not None
        yield Lab(found[0], config)


@contextmanager
def scraping(folder: Path, lab: Lab, *flags: str, every: str = "1s") -> Iterator[Prometheus]:
    """A Prometheus that scrapes a lab."""
    with running_prometheus(folder, scrape_config(lab.address, every), *flags) as server:
        yield server


def openmetrics(recording: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A recording (`lab history`) as samples with their instants, as a Prometheus would have them."""
    for line in recording:
        if "bodies" not in line:
            continue
        for source, body in line["bodies"].items():
            if source == "curvine-master-api":
                continue
            labels = labels_of(line["owner"], line["replica"], source)
            own = ",".join(f'{name}="{value}"' for name, value in labels.items())
            yield f"up{{{own}}} 1 {line['at']}\n"
            for text in body.splitlines():
                series = None if text.startswith("#") else _SERIES.fullmatch(text)
                if series is not None:
                    inside = f"{series[2].rstrip(',')},{own}" if series[2] else own
                    yield f"{series[1]}{{{inside}}} {series[3]} {line['at']}\n"
    yield "# EOF\n"
