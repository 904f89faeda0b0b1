"""`python -m lab sim`: build a fleet, serve it, write the deck's configuration file."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from lab.deck_config import write_atomically
from lab.replay import path_of
from lab.sim import traces
from lab.sim.fleet import Fleet
from lab.sim.scale import SCALES
from lab.sim.server import Server, serve
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET

_LOG = structlog.get_logger()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", choices=sorted(SCALES), default="small", help="which fleet (default: small)")
    parser.add_argument("--speed", type=float, default=1.0, help="how much faster time passes (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same traffic (default: 1)")
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0 (default): any free one")
    traces.add_argument(parser)
    parser.add_argument("--config-out", type=Path, metavar="FILE", help="write the deck's configuration file here")


async def run(options: argparse.Namespace) -> None:
    """Serve until told to stop.

    Raises:
        UsageError: a speed that is no speed, or a trace that can't be used.
    """
    if not 0 < options.speed <= 1000:
        raise UsageError("The speed lies above 0 and at most at 1,000")
    fleet = Fleet(SCALES[options.scale](), options.seed, time.time(), options.speed)
    traces.play_traces(fleet, options.trace)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serve(Server(fleet), options.port) as address:
        if options.config_out is not None:
            write_atomically(options.config_out, sim_config(fleet, lambda *names: address + path_of(*names)))
        sys.stdout.write(f"{address}/\n")
        sys.stdout.flush()
        _LOG.info("sim_started", address=address, scale=options.scale, speed=options.speed, seed=options.seed)
        await stop.wait()
    _LOG.info("sim_stopped")


def sim_config(fleet: Fleet, url_of: Callable[[str, str, str], str]) -> dict[str, object]:
    """The deck's configuration file (docs/config.md) for a fleet."""
    urls: dict[tuple[str, str], dict[str, str]] = {}
    for owner, replica, source in fleet.targets():
        url = url_of(owner, replica, source)
        if source == "curvine-master-api":
            url = url.removesuffix("/metrics") + "/api/workers"
        urls.setdefault((owner, replica), {})[source] = url
    endpoints: list[dict[str, object]] = [
        {
            "name": name,
            "model": endpoint.spec.model,
            "strategy": str(endpoint.strategy),
            "kv_bytes_per_token": endpoint.spec.geometry.kv_bytes_per_token,
            "replicas": [
                {
                    "name": replica.name,
                    "role": str(replica.role),
                    "versions": replica.form.versions,
                    "targets": urls[name, replica.name],
                }
                for replica in endpoint.replicas
            ],
            "shared": urls[name, FLEET],
        }
        for name, endpoint in fleet.endpoints.items()
    ]
    return {
        "endpoints": endpoints,
        "pools": [{"name": fleet.spec.pool_name, "targets": urls[fleet.spec.pool_name, FLEET]}],
    }
