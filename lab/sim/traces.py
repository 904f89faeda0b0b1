"""Recorded traces in place of an endpoint's usual traffic, from the command line and the admin API."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from lab.sim.fleet import Fleet
from lab.sim.workload import Workload
from lab.sim.workloads.mooncake import Mooncake, read_trace

_SAMPLED = 500


def add_argument(parser: argparse.ArgumentParser) -> None:
    """The option `--trace`."""
    parser.add_argument(
        "--trace",
        action="append",
        default=[],
        metavar="[ENDPOINT=]FILE",
        help="play a trace in Mooncake's format (.gz or plain) at an endpoint, by default the first; may be repeated",
    )


def play_traces(fleet: Fleet, wanted: Sequence[str]) -> None:
    """Play what `--trace` names.

    Raises:
        UsageError: a file can't be used.
    """
    for text in wanted:
        name, equals, path = text.partition("=")
        if not equals or name not in fleet.endpoints:
            name, path = next(iter(fleet.endpoints)), text
        play_trace(fleet, name, Path(path))


def play_trace(fleet: Fleet, endpoint: str, path: Path, requests_per_second: float | None = None) -> None:
    """Play a trace at an endpoint from now on, and whenever it goes back to its usual traffic.

    Args:
        requests_per_second: None: so many that about as many prompt tokens come in as before.

    Raises:
        UsageError: the file can't be used.
    """
    trace, found = Mooncake(read_trace(path)), fleet.endpoints[endpoint]
    if requests_per_second is None:
        requests_per_second = found.requests_per_second * _mean_tokens(fleet, endpoint) / trace.mean_tokens
    fleet.play(endpoint, trace)
    fleet.usual[endpoint], found.requests_per_second = trace, requests_per_second


def _mean_tokens(fleet: Fleet, endpoint: str) -> float:
    """Prompt tokens of a request of the usual traffic."""
    usual: Workload = fleet.usual[endpoint]
    if isinstance(usual, Mooncake):
        return usual.mean_tokens
    block_tokens = fleet.endpoints[endpoint].spec.geometry.block_tokens
    requests = list(islice(usual.requests(fleet.seed, lambda at: 1.0, 0.0, block_tokens), _SAMPLED))
    return sum(request.prompt.tokens for request in requests) / len(requests)
