"""`python -m lab replay DIR …` plays recorded snapshots, `python -m lab sim` a simulated fleet, until told to stop;
`python -m lab history` prints such a fleet's past."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

import structlog

from lab.deck_config import deck_config, write_atomically
from lab.real import command as real
from lab.replay import Replay, path_of, serve
from lab.sim import command
from lab.snapshot import read_snapshot
from tierdeck import log
from tierdeck.command_line import Parser
from tierdeck.errors import TierdeckError, UsageError

DEMO = tuple(Path(__file__).parent / "captures" / name for name in ("cross-replica", "pressure"))
"""The captures that ship with Tierdeck."""
_LOG = structlog.get_logger()


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code is the process's."""
    options = _parser().parse_args(arguments)
    log.configure("lab")
    try:
        if options.command == "sim":
            asyncio.run(command.run(options))
            return 0
        if options.command == "history":
            return _history(options)
        if options.command == "real":
            real.run(options)
            return 0
        directories = [*options.directories, *(DEMO if options.demo else ())]
        if not directories:
            raise UsageError("Nothing to replay", "Name a snapshot directory, or say --demo.")
        snapshots = [read_snapshot(directory) for directory in directories]
        asyncio.run(_replay(Replay(snapshots, options.step), options.port, options.config_out))
    except TierdeckError as error:
        sys.stderr.write(f"{error.line()}\n")
        return error.exit_code
    return 0


def _history(options: argparse.Namespace) -> int:
    """Print until done, or until nobody reads any more."""
    try:
        command.print_history(options)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter tries once more as it ends
        return 1
    return 0


def shipped_captures() -> list[Path]:
    """The recorded expositions that come with Tierdeck."""
    return sorted(path for path in (Path(__file__).parent / "captures").iterdir() if path.is_dir())


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m lab", description="Targets to try Tierdeck on.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    command.add_arguments(commands.add_parser("sim", help="serve a simulated fleet with real cache dynamics"))
    command.add_history_arguments(
        commands.add_parser("history", help="print the simulated fleet's past as a recording (docs/lab.md)")
    )
    real.add_arguments(commands.add_parser("real", help="run a small fleet of real engines on the CPU"))
    replay = commands.add_parser("replay", help="serve snapshot directories as live targets, over and over")
    replay.add_argument("directories", nargs="*", type=Path, metavar="DIR", help="snapshot directory")
    replay.add_argument("--demo", action="store_true", help="the captures that ship with Tierdeck")
    replay.add_argument("--port", type=int, default=0, help="loopback port; 0 (default): any free one")
    replay.add_argument("--step", type=float, default=5.0, help="seconds from one moment to the next (default: 5)")
    replay.add_argument("--config-out", type=Path, metavar="FILE", help="write the deck's configuration file here")
    return parser


async def _replay(replay: Replay, port: int, config_out: Path | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serve(replay, port) as address:
        if config_out is not None:
            document = deck_config(replay.snapshots, lambda *names: address + path_of(*names))
            write_atomically(config_out, document)
        for names in replay.addresses:
            sys.stdout.write(f"{address}{path_of(*names)}\n")
        sys.stdout.flush()
        _LOG.info("replay_started", address=address, targets=len(replay.addresses))
        await stop.wait()
    _LOG.info("replay_stopped")


if __name__ == "__main__":
    sys.exit(main())
