"""`python -m collectors`: collect until told to stop; the commands do one thing and end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer

from collectors.garbage import look_seldom
from tierdeck.command_line import run
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.explanation import explanation
from tierdeck.log import configure
from tierdeck.naming import full_name
from tierdeck.settings import Settings, load_settings
from tierdeck.units import parse_duration

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
log = structlog.get_logger()


@app.callback(invoke_without_command=True)
def collect(context: typer.Context) -> None:
    """Scrape the configured targets, account, and write, until SIGTERM or Ctrl-C."""
    if context.invoked_subcommand is None:
        _guard(lambda: asyncio.run(_collect(load_settings())))


async def _collect(settings: Settings) -> None:
    from collectors.collector import Collector
    from db import Store
    from health.port import serve
    from health.pulse import Pulse

    configure("collectors", settings.log_level)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    pulse = Pulse()
    serve(settings, pulse)
    with Store.open(settings.store_url, migrate=True, max_cache_salts=settings.max_cache_salts) as store:
        log.info("collectors_started", cluster=settings.cluster, interval_seconds=settings.scrape_interval_seconds)
        await Collector(settings, store, version("tierdeck"), pulse).run(stop)
    log.info("collectors_stopped")


@app.command()
def explain(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="A snapshot directory.")] = None,
    prometheus: Annotated[str, typer.Option(metavar="ADDRESS", help="Read this Prometheus instead.")] = "",
    window: Annotated[str, typer.Option(help="With --prometheus: how far back, such as 15m, 1h.")] = "1h",
    endpoint: Annotated[str, typer.Option(help="With --prometheus: only this endpoint.")] = "",
    config: Annotated[Path | None, typer.Option(help="With --prometheus: file with relabelling rules.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Print the ledger of a snapshot directory, offline, or of a Prometheus."""

    def act() -> None:
        settings = _settings(prometheus, config)
        if folder is not None:
            if prometheus:
                raise UsageError("a snapshot directory and --prometheus: explain one of them")
            document = _explain_folder(folder, settings)
        elif settings.prometheus_address:
            document = _explain_prometheus(settings, parse_duration(window), endpoint)
        else:
            raise UsageError("nothing to explain", "Name a snapshot directory, or a Prometheus with --prometheus.")
        text = json.dumps(document, indent=2) if as_json else explanation(document)
        print(text.encode("utf-8", errors="backslashreplace").decode("utf-8"))

    _guard(act)


def _settings(prometheus: str, config: Path | None) -> Settings:
    """What was said on the command line goes before the environment."""
    said: dict[str, Any] = {"prometheus_url": prometheus, "config_file": config}
    return load_settings(**{name: value for name, value in said.items() if value})


def _explain_folder(folder: Path, settings: Settings) -> dict[str, Any]:
    from collectors.explain import explain as explain_snapshot
    from collectors.snapshot import read_snapshot

    return explain_snapshot(read_snapshot(folder), settings.warming)


def _explain_prometheus(settings: Settings, window_seconds: float, endpoint: str) -> dict[str, Any]:
    from collectors.config import read_rules
    from collectors.prometheus.asking import Asking
    from collectors.prometheus.explain import Wanted, explain_prometheus
    from collectors.prometheus.server import Server

    rules = read_rules(settings)
    with Server.of(settings) as server:
        asking = Asking(server, settings.prometheus_match)
        wanted = Wanted(int(server.server_time()), round(window_seconds), endpoint, settings.cluster)
        return explain_prometheus(server, asking, rules, wanted, settings.warming)


@app.command()
def discover(
    prometheus: Annotated[str, typer.Option(metavar="ADDRESS", help="The Prometheus to look at.")] = "",
    config: Annotated[Path | None, typer.Option(help="File with relabelling rules.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Tell what a Prometheus has of ours, and how its labels are understood."""

    from collectors.prometheus.discovery import discovered, told

    def act() -> None:
        found = discovered(_settings(prometheus, config))
        print(json.dumps({**found, "told": told(found)}, indent=2) if as_json else told(found))

    _guard(act)


@app.command()
def snapshot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    every: Annotated[str, typer.Option(help="Time between the two scrapes, such as 15s or 1m.")] = "15s",
    endpoint: Annotated[str, typer.Option(help="Only this endpoint.")] = "",
) -> None:
    """Save every target's exposition twice, with fleet.json: a support bundle."""

    from collectors.bundle import save_bundle
    from db import Store

    def act() -> None:
        settings, seconds = load_settings(), parse_duration(every)
        if seconds < 1:
            raise UsageError("--every can't be below one second", "A moment's folder is named by whole seconds.")
        with Store.open(settings.store_url) as store:
            listed, pools = store.known_endpoints(), store.pools()
        if not listed:
            raise UsageError("no endpoint is known", "docs/config.md says how to add one.")
        wanted = full_name(endpoint, [known.name for known in listed]) if endpoint else ""
        found = [known for known in listed if wanted in ("", known.name)]
        found = [known for known in found if any(replica.is_scraped for replica in known.replicas)]
        if not found:
            raise UsageError(
                "this deck reads its endpoints from a Prometheus, which keeps no pages to save",
                "`tierdeck explain --prometheus ADDRESS --json` has their ledger.",
            )
        job = save_bundle(folder, found, pools, settings, seconds, _tell)
        for home in asyncio.run(job):
            print(f"saved {home}: tierdeck explain {home}")

    _guard(act)


@app.command()
def check() -> None:
    """Say whether the configuration file can be used; nothing is started."""

    from collectors.config import read_config

    def act() -> None:
        settings = load_settings()
        if settings.config_file is None:
            raise UsageError("no configuration file is given", "Set TIERDECK_CONFIG_FILE.")
        read_config(settings.config_file, settings.cluster)

    _guard(act)


@app.command()
def backfill(
    recording: Annotated[
        typer.FileText,
        typer.Argument(metavar="FILE", encoding="utf-8", errors="replace", help="A recording; - for standard input."),
    ],
) -> None:
    """Account a recording of the past (docs/store.md) into the store; progress goes to stderr."""

    from collectors.backfill import backfill as account
    from db import Store

    def act() -> None:
        settings = load_settings()
        with Store.open(settings.store_url, max_cache_salts=settings.max_cache_salts) as store:
            for progress in account(recording, store, settings.cluster, settings.warming):
                _tell(f"{progress.source}: {100 * progress.share:.0f} % accounted")
        if not progress.is_done:
            raise TierdeckError(f"the recording ends at {100 * progress.share:.0f} % of what its first line says")

    _guard(act)


@app.command()
def lint(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Grafana board or a Prometheus rule file.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Name the faults of a board's or rule file's queries, each with the right query."""

    from collectors.lint.report import lint as lint_file

    faulty = False

    def act() -> None:
        nonlocal faulty
        report = lint_file(file)
        faulty = bool(report.findings)
        text = json.dumps(report.document(), indent=2) if as_json else report.text()
        print(text.encode("utf-8", errors="backslashreplace").decode("utf-8"))

    _guard(act)
    raise typer.Exit(1 if faulty else 0)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _guard(act: Callable[[], None]) -> None:
    """Run; an error becomes one line on stderr and its exit code."""
    try:
        act()
    except TierdeckError as error:
        _tell(f"tierdeck: {error.line()}")
        raise typer.Exit(error.exit_code) from error


if __name__ == "__main__":
    look_seldom()
    run(app, "python -m collectors")
