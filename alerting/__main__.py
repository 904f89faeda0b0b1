"""`python -m alerting`: judge the rules until told to stop; the commands do one thing and end."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import structlog
import typer

from alerting.export.commands import app as export
from health.pulse import Pulse
from tierdeck.command_line import run
from tierdeck.errors import TierdeckError
from tierdeck.log import configure
from tierdeck.settings import Settings, load_settings

log = structlog.get_logger()
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
app.add_typer(export, name="export")


@app.callback(invoke_without_command=True)
def watch(context: typer.Context) -> None:
    """Judge the rules over the store each minute, and say what fires, until SIGTERM or Ctrl-C."""
    if context.invoked_subcommand is None:
        _guard(lambda: _watch(load_settings()))


def _watch(settings: Settings) -> None:
    from alerting.alerting import Alerting, Told
    from alerting.config import read_limits
    from alerting.notify.configured import configured
    from db import Store
    from health.port import serve

    configure("alerting", settings.log_level)
    stop, pulse = threading.Event(), Pulse()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    told = Told(read_limits(settings.alerts_file), configured(settings))
    serve(settings, pulse)
    with Store.open(settings.store_url, migrate=True) as store:
        log.info("alerting_started", cluster=settings.cluster)
        Alerting(settings, store, told, version("tierdeck"), pulse).run(stop)
    log.info("alerting_stopped")


@app.command("notify-test")
def notify_test(
    channel: Annotated[str, typer.Argument(metavar="[CHANNEL]", help="Only this one.")] = "",
) -> None:
    """Send a test to each channel now, and say how it ended; exit code 1 if one did not take it."""
    failed = False

    def act() -> None:
        nonlocal failed
        from alerting.notify.configured import configured
        from alerting.notify.trying import try_channels

        settings = load_settings()
        ways = configured(settings)
        for tried in try_channels(ways.channels, ways.heartbeat, channel, time.time(), settings.console_url):
            print(tried.line(), flush=True)
            failed = failed or bool(tried.trouble)

    _guard(act)
    raise typer.Exit(1 if failed else 0)


@app.command()
def backtest(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file, one line a minute.")],
    floor: Annotated[float | None, typer.Option(help="Also the rule of a floor, such as 0.6.")] = None,
    utc_offset: Annotated[float, typer.Option(help="Hours that the working day is ahead of UTC.")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> None:
    """Run the hit-ratio rules over a recorded series: what would have fired, when, and how deep."""
    from alerting.backtest import backtest_file
    from tierdeck.alerts.backtest import document, told
    from tierdeck.alerts.hit_ratio_limits import HitRatioLimits

    def act() -> None:
        result = backtest_file(file, HitRatioLimits(floor=floor, utc_offset_seconds=3600.0 * utc_offset))
        text = json.dumps(document(result), indent=2) if as_json else told(result)
        print(text.encode("utf-8", errors="backslashreplace").decode("utf-8"))

    _guard(act)


def _guard(act: Callable[[], None]) -> None:
    """Errors are one line that says what to do, never a traceback."""
    try:
        act()
    except TierdeckError as error:
        sys.stderr.write(f"tierdeck: {error.line()}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    run(app, "python -m alerting")
