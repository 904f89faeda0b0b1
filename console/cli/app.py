"""The `tierdeck` command: reads the store, starts the processes, hands work on to them.

Commands import what they need themselves, so that the help and what is handed on stay quick.
Exit codes: 0 done; 1 the answer is "no"; 2 wrong usage or configuration; 3 something needed does not answer.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from console.cli import alert_commands, change_commands, tables
from console.cli.handing_on import PASS, hand_on
from console.cli.output import AsJson, show
from tierdeck.command_line import run
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.explanation import explanation
from tierdeck.settings import load_settings
from tierdeck.units import parse_duration

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Operators' deck for tiered KV caches: where every prompt token came from, and what to do about it.",
)

Window = Annotated[str, typer.Option(help="How far back, such as 15m, 1h, 7d.")]


@app.command()
def up(
    demo: Annotated[
        bool, typer.Option("--demo", help="On a simulated fleet; also what happens with nothing configured.")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="YAML file with endpoints and targets (docs/config.md).")] = None,
    prometheus: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Read a Prometheus instead of the targets (docs/connect.md).")
    ] = "",
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Find endpoints through the Kubernetes API (docs/install.md).")
    ] = False,
    context: Annotated[
        str, typer.Option(metavar="NAME", help="With --kubernetes: context of the kubeconfig; else its current one.")
    ] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the web console; 0: any free one.")
    ] = None,
    speed: Annotated[
        float | None, typer.Option(min=0.1, max=100, help="How much faster the simulated fleet's time passes.")
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(help="How much of the simulated fleet's past the first start fills in; 0: none. [default: 24h]"),
    ] = None,
) -> None:
    """Start everything on the embedded store; Ctrl-C stops all of it."""
    from console.cli.deck import Deck, Demo, Source
    from console.cli.past import MOST_SECONDS

    usual = Demo()
    chosen = Demo(
        usual.speed if speed is None else speed,
        usual.history_seconds if history is None else 0.0 if history == "0" else parse_duration(history),
    )
    if chosen.history_seconds > MOST_SECONDS:
        raise UsageError("--history goes back seven days at most")
    is_demo = demo or speed is not None or history is not None
    if context and not kubernetes:
        raise UsageError("--context is about --kubernetes: give both")
    said: dict[str, Any] = {"prometheus_url": prometheus, "kube_context": context}
    settings = load_settings(is_start=True, **{name: value for name, value in said.items() if value})
    deck = Deck(settings, Source(config, chosen if is_demo else None, is_kubernetes=kubernetes), port=port)
    raise typer.Exit(deck.run())


@app.command()
def status(as_json: AsJson = False) -> None:
    """What the deck sees: state and hit ratio of each endpoint over the last 15 minutes."""
    from console.cli import reading

    document = reading.status(load_settings())
    show(document, tables.status(document), as_json=as_json)


@app.command()
def endpoints(as_json: AsJson = False) -> None:
    """The endpoints with model, replicas, strategy and tier sizes."""
    from console.cli import reading

    document = reading.endpoints(load_settings())
    show(document, tables.endpoints(document), as_json=as_json)


@app.command()
def targets(as_json: AsJson = False) -> None:
    """What is scraped, and how the last scrape of each target ended."""
    from console.cli import reading

    document = reading.targets(load_settings())
    show(document, tables.targets(document), as_json=as_json)


@app.command()
def ledger(
    endpoint: Annotated[str, typer.Argument(help="Name of the endpoint.")],
    window: Window = "15m",
    as_json: AsJson = False,
) -> None:
    """Where the endpoint's prompt tokens came from, with every reservation."""
    from console.cli import reading

    document = reading.ledger(load_settings(), endpoint, parse_duration(window))
    show(document, explanation(document), as_json=as_json)


@app.command()
def pool(
    name: Annotated[str, typer.Argument(help="Name of the pool; none: all of them.")] = "",
    window: Window = "1h",
    as_json: AsJson = False,
) -> None:
    """L2 pools: room, time to full, workers, reads and writes, failed requests, mounts that hang."""
    from console.cli import pool_commands

    document = pool_commands.pools(load_settings(), name, parse_duration(window))
    show(document, pool_commands.as_text(document), as_json=as_json)


@app.command()
def events(
    endpoint: Annotated[str, typer.Argument(help="Name of the endpoint; none: the whole fleet.")] = "",
    since: Annotated[str, typer.Option(help="How far back, such as 30m, 12h, 7d.")] = "12h",
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind, such as oom; may be repeated.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many, the newest.")] = 500,
    as_json: AsJson = False,
) -> None:
    """What happened: rollouts, restarts, drift, changes of routing and size, nodes; the newest first."""
    from console.cli import happened

    wanted = happened.Wanted(endpoint, parse_duration(since), happened.kinds_of(kind or ()), limit)
    document = happened.events(load_settings(), wanted)
    show(document, happened.as_text(document, since), as_json=as_json)


@app.command(context_settings=PASS)
def explain(context: typer.Context) -> None:
    """The ledger of a snapshot directory, or of a Prometheus: explain DIR | --prometheus ADDRESS [--window 1h]."""
    hand_on("collectors", "explain", *context.args)


@app.command(context_settings=PASS)
def discover(context: typer.Context) -> None:
    """What a Prometheus has of ours, and how its labels are understood: discover --prometheus ADDRESS [--json]."""
    hand_on("collectors", "discover", *context.args)


@app.command(context_settings=PASS)
def inventory(context: typer.Context) -> None:
    """What the Kubernetes API tells right now, without a store, and which rights are missing: inventory [--json]."""
    hand_on("controller", "inventory", *context.args)


@app.command()
def janitor(
    path: Annotated[
        Path | None, typer.Option("--dry-run", metavar="PATH", help="Say what would go from this directory; no store.")
    ] = None,
    last: Annotated[int, typer.Option(min=1, max=500, help="So many rounds, the newest.")] = 10,
    as_json: AsJson = False,
) -> None:
    """How long each pool's room lasts, and what the janitor did last (docs/janitor.md)."""
    if path is not None:
        hand_on("controller", "janitor", "--dry-run", str(path), *(["--json"] if as_json else []))
        return
    from console.cli import cleaning

    document = cleaning.janitor(load_settings(), last)
    show(document, cleaning.as_text(document), as_json=as_json)


@app.command(context_settings=PASS)
def stages(context: typer.Context) -> None:
    """How far each of the five set-up stages is, as the cluster tells right now: stages [--json]."""
    hand_on("controller", "stages", *context.args)


@app.command(context_settings=PASS)
def stage(context: typer.Context) -> None:
    """One set-up stage, and the files and commands for it: stage N [--plan|--apply|--undo] [--as FORM] [--out DIR]."""
    hand_on("controller", "stage", *context.args)


@app.command(context_settings=PASS)
def snapshot(context: typer.Context) -> None:
    """Save every target's exposition twice, as a support bundle: snapshot DIR [--every 15s] [--endpoint NAME]."""
    hand_on("collectors", "snapshot", *context.args)


@app.command(context_settings=PASS)
def lint(context: typer.Context) -> None:
    """Faults of a Grafana board or Prometheus rule file, each with the right query: lint FILE [--json]."""
    hand_on("collectors", "lint", *context.args)


@app.command(name="notify-test", context_settings=PASS)
def notify_test(context: typer.Context) -> None:
    """Send a test to each channel that alerts go to, and say how it ended: notify-test [CHANNEL]."""
    hand_on("alerting", "notify-test", *context.args)


@app.command(context_settings=PASS)
def export(context: typer.Context) -> None:
    """Rules for Prometheus, routes, boards of Grafana: export prometheus-rules|alertmanager|grafana [--out …]."""
    hand_on("alerting", "export", *context.args)


@app.command(context_settings=PASS)
def backtest(context: typer.Context) -> None:
    """What the hit-ratio rules would have said of a recorded series: backtest FILE.csv [--json]."""
    hand_on("alerting", "backtest", *context.args)


@app.command(name="version")
def show_version() -> None:
    """Print the version."""
    print(version("tierdeck"))


alert_commands.add_to(app)
change_commands.add_to(app)


def main() -> None:
    """Entry point: errors become one line on stderr and their exit code."""
    try:
        run(app)
    except KeyboardInterrupt:
        sys.exit(130)
    except TierdeckError as error:
        print(f"tierdeck: {error.line()}", file=sys.stderr)
        sys.exit(error.exit_code)
