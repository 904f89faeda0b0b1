"""`python -m controller`: observe the cluster until told to stop; the commands do one thing and end."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import structlog
import typer

from controller import probe_commands, stage_commands
from tierdeck.command_line import run
from tierdeck.errors import TierdeckError
from tierdeck.l2.janitor_runs import Outcome
from tierdeck.log import configure
from tierdeck.settings import Settings, load_settings

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)
log = structlog.get_logger()


@app.callback(invoke_without_command=True)
def observe(context: typer.Context) -> None:
    """Watch the Kubernetes API, write what is there and what happens, and make changes, until SIGTERM or Ctrl-C."""
    if context.invoked_subcommand is None:
        _guard(lambda: _observe(load_settings()))


def _observe(settings: Settings) -> None:
    from controller.api.access import open_api
    from controller.controller import Controller
    from controller.lab_only import is_lab_only, run_lab
    from db import Store
    from health.port import serve
    from health.pulse import Pulse

    configure("controller", settings.log_level)
    stop = _told_to_stop()
    api = None if is_lab_only(settings) else open_api(settings)
    pulse = Pulse()
    serve(settings, pulse)
    with Store.open(settings.store_url, migrate=True) as store:
        log.info("controller_started", cluster=settings.cluster, api=api.address if api is not None else "none: a lab")
        if api is None:
            run_lab(settings, store, stop, pulse)
        else:
            Controller(settings, store, api, stop, pulse).run()
    log.info("controller_stopped")


@app.command()
def inventory(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    as_brief: Annotated[bool, typer.Option("--brief", help="One line.")] = False,
) -> None:
    """Look at the cluster once and print what is found, without a store: what would an install see?"""

    def act() -> None:
        from controller.glance import brief, glance, told

        seen = glance(load_settings(), time.time())
        print(json.dumps(seen, indent=2) if as_json else brief(seen) if as_brief else told(seen))

    _guard(act)


@app.command()
def injector() -> None:
    """Serve the admission webhook that wires opted-in pods to L2 (docs/l2.md), until SIGTERM or Ctrl-C."""
    _guard(lambda: _inject(load_settings()))


def _inject(settings: Settings) -> None:
    from controller.api.access import open_api
    from controller.injector.injector import Injector
    from db import Store
    from health.port import serve
    from health.pulse import Pulse

    configure("injector", settings.log_level)
    stop = _told_to_stop()
    api = open_api(settings)
    pulse = Pulse()
    serve(settings, pulse)
    with Store.open(settings.store_url) as store:
        log.info("injector_started", cluster=settings.cluster, api=api.address)
        Injector(settings, store, api, pulse).run(stop)
    log.info("injector_stopped")


@app.command()
def janitor(
    path: Annotated[
        Path | None, typer.Option("--dry-run", metavar="PATH", help="Say what would go from this directory, and end.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: one JSON document.")] = False,
) -> None:
    """Keep a mounted pool below its high-water mark, until SIGTERM or Ctrl-C; see docs/janitor.md."""
    if path is None:
        _guard(lambda: _clean(load_settings()))
        return
    is_refused = False

    def act() -> None:
        nonlocal is_refused
        from controller.janitor.printed import document, told
        from controller.janitor.process import look

        run, refusal = look(path.absolute(), load_settings())
        is_refused = bool(refusal) or run.outcome is Outcome.REFUSED
        print(json.dumps(document(run, refusal), indent=2) if as_json else told(run, refusal))

    _guard(act)
    raise typer.Exit(1 if is_refused else 0)


def _clean(settings: Settings) -> None:
    from controller.janitor.process import Process, pool_of
    from db import Store
    from health.port import serve
    from health.pulse import Pulse

    pool_of(settings)
    configure("janitor", settings.log_level)
    stop, pulse = _told_to_stop(), Pulse()
    serve(settings, pulse)
    with Store.open(settings.store_url, migrate=True) as store:
        process = Process(settings, store, pulse, stop)
        log.info("janitor_started", path=str(settings.janitor_path), dry=not settings.janitor_delete)
        process.run()
    log.info("janitor_stopped")


def _told_to_stop() -> threading.Event:
    """Set by SIGTERM and Ctrl-C."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


@app.command()
def rights(
    changes: Annotated[bool, typer.Option("--changes", help="Those that changing takes besides.")] = False,
) -> None:
    """Print the rules that observing needs, fit for a ClusterRole."""
    from controller.api.rights import change_cluster_rules, change_read_rules, change_write_rules, rules

    changing = (change_cluster_rules(impersonates=False), change_read_rules(), change_write_rules())
    print("\n".join(changing) if changes else rules())


def _guard(act: Callable[[], None]) -> None:
    """Errors are one line that says what to do, never a traceback."""
    try:
        act()
    except TierdeckError as error:
        sys.stderr.write(f"tierdeck: {error.line()}\n")
        sys.exit(error.exit_code)


stage_commands.add_to(app)
probe_commands.add_to(app)


if __name__ == "__main__":
    _guard(lambda: run(app, "python -m controller"))
