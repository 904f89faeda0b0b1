"""`python -m lab sim`: build a fleet, serve it, write the deck's configuration file."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import time
from pathlib import Path

import structlog

from lab.deck_config import write_atomically
from lab.sim import traces
from lab.sim.fleet import Fleet
from lab.sim.history import NAME, WARM_UP_SECONDS, Stretch, recording
from lab.sim.inventory import sim_config, url_path
from lab.sim.scale import SCALES
from lab.sim.server import Server, serve
from tierdeck.errors import UsageError

_LOG = structlog.get_logger()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", choices=sorted(SCALES), default="small", help="which fleet (default: small)")
    parser.add_argument("--speed", type=float, default=1.0, help="how much faster time passes (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same traffic (default: 1)")
    parser.add_argument(
        "--warm",
        action="store_true",
        help=f"begin with tiers that have seen {WARM_UP_SECONDS / 60:.0f} minutes of traffic",
    )
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0 (default): any free one")
    traces.add_argument(parser)
    parser.add_argument(
        "--config-out",
        type=Path,
        metavar="FILE",
        help="write the deck's configuration file here, and keep it up to date",
    )


def add_history_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", choices=sorted(SCALES), default="small", help="which fleet (default: small)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same traffic (default: 1)")
    parser.add_argument("--from", type=float, required=True, dest="start_at", metavar="EPOCH", help="first moment")
    parser.add_argument("--to", type=float, required=True, dest="end_at", metavar="EPOCH", help="last moment")
    parser.add_argument("--step", type=float, default=60.0, help="seconds from moment to moment (default: 60)")
    parser.add_argument(
        "--present", type=float, metavar="EPOCH", help="from when the day's events are counted back (default: --to)"
    )
    parser.add_argument("--name", default=NAME, help=f"what the recording is called (default: {NAME})")


async def run(options: argparse.Namespace) -> None:
    """Serve until told to stop.

    Raises:
        UsageError: a speed that is no speed, or a trace that can't be used.
    """
    if not 0 < options.speed <= 1000:
        raise UsageError("The speed lies above 0 and at most at 1,000")
    began_at = time.time() - (WARM_UP_SECONDS / options.speed if options.warm else 0.0)
    fleet = Fleet(SCALES[options.scale](), options.seed, began_at, options.speed)
    traces.play_traces(fleet, options.trace)
    fleet.catch_up(time.time())
    if options.warm:
        fleet.count_anew()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    config = ConfigFile(options.config_out)
    async with serve(Server(fleet, on_change=config.keep), options.port) as address:
        config.keep(fleet, address)
        sys.stdout.write(f"{address}/\n")
        sys.stdout.flush()
        _LOG.info("sim_started", address=address, scale=options.scale, speed=options.speed, seed=options.seed)
        await stop.wait()
    _LOG.info("sim_stopped")


def print_history(options: argparse.Namespace) -> None:
    """Print a recording of the past, a line of JSON per moment and replica.

    Raises:
        UsageError: no stretch of time, or no step.
    """
    if not options.start_at < options.end_at or options.step < 1:
        raise UsageError("A history goes from an earlier moment to a later one, in steps of at least one second")
    stretch = Stretch(options.start_at, options.end_at, options.step, options.name, options.present)
    for line in recording(SCALES[options.scale], options.seed, stretch):
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
    sys.stdout.flush()


class ConfigFile:
    """The deck's configuration file, written anew whenever replicas or strategies are others."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._written: dict[str, object] | None = None
        self._address = ""

    def keep(self, fleet: Fleet, address: str = "") -> None:
        """Write it if it says something else than before.

        Args:
            address: where the fleet is served; said once.
        """
        self._address = address or self._address
        if self._path is None:
            return
        document = sim_config(fleet, lambda *names: self._address + url_path(*names))
        if document != self._written:
            write_atomically(self._path, document)
            self._written = document
